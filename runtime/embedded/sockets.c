// SPDX-License-Identifier: GPL-2.0-or-later
// Options of sockets for a script's embedded C code: kernel_getsockopt(), which the kernel gave up.
#include <net/tcp.h>

#include "access/access.h"
#include "include/embedded.h"

/* A socket is the kernel's: what a program has at an address of its own is no socket. */
static DJS_HANDLER_CODE bool is_readable(const void *object, size_t bytes)
{
	u64 value;

	return djs_is_kernel((u64)object) && djs_is_kernel((u64)object + bytes - 1) &&
	       djs_read_number((u64)object, 1, &value) &&
	       djs_read_number((u64)object + bytes - 1, 1, &value);
}

static DJS_HANDLER_CODE bool passes_credentials(const struct socket *sock)
{
#ifdef DJS_HAVE_SK_SCM_CREDENTIALS
	return sock->sk->sk_scm_credentials;
#else
	return test_bit(SOCK_PASSCRED, &sock->flags);
#endif
}

/* An error that is pending is for the program: it stays, unlike with getsockopt(2). */
static DJS_HANDLER_CODE int pending_error(const struct sock *sk)
{
	const int error = READ_ONCE(sk->sk_err);

	return error ? error : READ_ONCE(sk->sk_err_soft);
}

static DJS_HANDLER_CODE int number_of_socket(const struct socket *sock, int name, int *number)
{
	const struct sock *sk = sock->sk;

	switch (name) {
	case SO_DEBUG:
		*number = sock_flag(sk, SOCK_DBG);
		return 0;
	case SO_REUSEADDR:
		*number = sk->sk_reuse;
		return 0;
	case SO_REUSEPORT:
		*number = sk->sk_reuseport;
		return 0;
	case SO_DONTROUTE:
		*number = sock_flag(sk, SOCK_LOCALROUTE);
		return 0;
	case SO_BROADCAST:
		*number = sock_flag(sk, SOCK_BROADCAST);
		return 0;
	case SO_KEEPALIVE:
		*number = sock_flag(sk, SOCK_KEEPOPEN);
		return 0;
	case SO_OOBINLINE:
		*number = sock_flag(sk, SOCK_URGINLINE);
		return 0;
	case SO_PASSCRED:
		*number = passes_credentials(sock);
		return 0;
	case SO_TYPE:
		*number = sk->sk_type;
		return 0;
	case SO_PROTOCOL:
		*number = sk->sk_protocol;
		return 0;
	case SO_DOMAIN:
		*number = sk->sk_family;
		return 0;
	case SO_ERROR:
		*number = pending_error(sk);
		return 0;
	case SO_SNDBUF:
		*number = READ_ONCE(sk->sk_sndbuf);
		return 0;
	case SO_RCVBUF:
		*number = READ_ONCE(sk->sk_rcvbuf);
		return 0;
	case SO_NO_CHECK:
		*number = sk->sk_no_check_tx;
		return 0;
	case SO_ACCEPTCONN:
		*number = sk->sk_state == TCP_LISTEN;
		return 0;
	}
	return -ENOPROTOOPT;
}

static DJS_HANDLER_CODE int number_of_tcp(const struct sock *sk, int name, int *number)
{
	if (sk->sk_protocol != IPPROTO_TCP || sk->sk_type != SOCK_STREAM ||
	    (sk->sk_family != AF_INET && sk->sk_family != AF_INET6))
		return -EOPNOTSUPP;
	if (!is_readable(sk, sizeof(struct tcp_sock)))
		return -EFAULT;
	switch (name) {
	case TCP_NODELAY:
		*number = !!(tcp_sk(sk)->nonagle & TCP_NAGLE_OFF);
		return 0;
	case TCP_CORK:
		*number = !!(tcp_sk(sk)->nonagle & TCP_NAGLE_CORK);
		return 0;
	}
	return -ENOPROTOOPT;
}

/* The options that are told by fields of the socket: no lock and nothing that sleeps is needed for
 * them. */
DJS_HANDLER_CODE int djs_embedded_socket_option(struct socket *sock, int level, int name,
						char *value, int *bytes)
{
	struct linger linger;
	const void *from;
	int number, failed, length;

	if (!is_readable(sock, sizeof(*sock)) || !is_readable(sock->sk, sizeof(*sock->sk)))
		return -EFAULT;
	if (level == SOL_SOCKET && name == SO_LINGER) {
		linger.l_onoff = sock_flag(sock->sk, SOCK_LINGER);
		linger.l_linger = READ_ONCE(sock->sk->sk_lingertime) / HZ;
		from = &linger;
		length = sizeof(linger);
	} else {
		failed = level == SOL_SOCKET ? number_of_socket(sock, name, &number)
			 : level == SOL_TCP  ? number_of_tcp(sock->sk, name, &number)
					     : -ENOPROTOOPT;
		if (failed)
			return failed;
		from = &number;
		length = sizeof(number);
	}
	if (*bytes < 0)
		return -EINVAL;
	*bytes = min(*bytes, length);
	memcpy(value, from, *bytes);
	return 0;
}
