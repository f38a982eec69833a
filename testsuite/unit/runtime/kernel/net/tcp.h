/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: what they read of sockets. */
#ifndef DJSTAP_TEST_TCP_H
#define DJSTAP_TEST_TCP_H
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "include/platform.h"

enum sock_flags {
    SOCK_DEAD,
    SOCK_DONE,
    SOCK_URGINLINE,
    SOCK_KEEPOPEN,
    SOCK_LINGER,
    SOCK_DESTROY,
    SOCK_BROADCAST,
    SOCK_DBG,
    SOCK_LOCALROUTE
};
#define SOCK_PASSCRED 3
#define TCP_NAGLE_OFF 1
#define TCP_NAGLE_CORK 2

struct sock {
    u16 sk_family;
    u8 sk_state, sk_reuse, sk_reuseport, sk_no_check_tx;
    u16 sk_type, sk_protocol;
    unsigned long sk_flags, sk_lingertime;
    int sk_sndbuf, sk_rcvbuf, sk_err, sk_err_soft;
};
struct socket {
    unsigned long flags;
    struct sock* sk;
};
struct tcp_sock {
    struct sock inet;
    u8 nonagle;
};

#define tcp_sk(sk) ((const struct tcp_sock*)(sk))
#define test_bit(bit, place) ((bool)(*(place) >> (bit) & 1))

static inline bool sock_flag(const struct sock* sk, enum sock_flags flag) {
    return test_bit(flag, &sk->sk_flags);
}
#endif
