// SPDX-License-Identifier: GPL-2.0-or-later
/* What other sources have of this. */
#define djs_embedded_socket_option test_embedded_socket_option
#define djs_is_kernel test_socket_is_kernel
#define djs_read_number test_socket_read
#include "kernel_for_test.h"

#include "linux/sched.h"
#include "linux/sched/signal.h"
#include "sockets_for_test.h"

#define HZ TEST_SOCKET_HZ

#include "embedded/sockets.c"

struct test_socket test_socket;
int test_socket_fault, test_socket_of_user;

static struct tcp_sock tcp_of_test;
static struct socket socket_of_test = {.sk = &tcp_of_test.inet};

static int byte_of(u64 address) {
    return address == (u64)&socket_of_test               ? TEST_SOCKET_BEGIN
           : address == (u64)(&socket_of_test + 1) - 1   ? TEST_SOCKET_END
           : address == (u64)&tcp_of_test.inet           ? TEST_SOCK_BEGIN
           : address == (u64)(&tcp_of_test.inet + 1) - 1 ? TEST_SOCK_END
           : address == (u64)(&tcp_of_test + 1) - 1      ? TEST_TCP_END
                                                         : TEST_SOCKET_ALL_READABLE;
}

/* Whoever asks about another byte ends the test. */
static int known_byte_of(u64 address) {
    const int byte = byte_of(address);

    if (byte == TEST_SOCKET_ALL_READABLE)
        abort();
    return byte;
}

bool djs_is_kernel(u64 address) {
    return known_byte_of(address) != test_socket_of_user;
}

bool djs_read_number(u64 address, u32 size, u64* value) {
    if (size != 1) /* the page behind it may be another one's */
        abort();
    *value = 0;
    return known_byte_of(address) != test_socket_fault;
}

static unsigned long flag(bool is_set, int number) {
    return (unsigned long)is_set << number;
}

int test_socket_option(int level, int name, char* value, int* bytes) {
    const struct test_socket* told = &test_socket;

    socket_of_test.flags = flag(told->credentials, SOCK_PASSCRED);
    tcp_of_test.nonagle = (told->no_delay ? TCP_NAGLE_OFF : 0) | (told->cork ? TCP_NAGLE_CORK : 0);
    tcp_of_test.inet = (struct sock){
        .sk_family = told->family,
        .sk_state = told->state,
        .sk_reuse = told->reuse,
        .sk_reuseport = told->reuse_port,
        .sk_no_check_tx = told->no_check,
        .sk_type = told->type,
        .sk_protocol = told->protocol,
        .sk_flags = flag(told->debug, SOCK_DBG) | flag(told->local_route, SOCK_LOCALROUTE) |
                    flag(told->broadcast, SOCK_BROADCAST) | flag(told->keep_open, SOCK_KEEPOPEN) |
                    flag(told->urgent_inline, SOCK_URGINLINE) | flag(told->linger, SOCK_LINGER),
        .sk_lingertime = told->linger_jiffies,
        .sk_sndbuf = told->send_room,
        .sk_rcvbuf = told->receive_room,
        .sk_err = told->error,
        .sk_err_soft = told->soft_error,
    };
    return djs_embedded_socket_option(&socket_of_test, level, name, value, bytes);
}
