/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of sockets for embedded C code (runtime/embedded/sockets.c). */
#ifndef DJSTAP_SOCKETS_FOR_TEST_H
#define DJSTAP_SOCKETS_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
/* What is known of a socket. */
struct test_socket {
    int family, type, protocol, state;
    /* 0 or 1, and numbers that are told as they are */
    bool debug, local_route, broadcast, keep_open, urgent_inline, linger, credentials;
    bool no_delay, cork;
    int reuse, reuse_port, no_check, send_room, receive_room, error, soft_error;
    unsigned long linger_jiffies;
};
extern struct test_socket test_socket;
enum { TEST_SOCKET_HZ = 250 };

/* A byte that cannot be read, or that is none of the kernel's. */
enum {
    TEST_SOCKET_ALL_READABLE,
    TEST_SOCKET_BEGIN,
    TEST_SOCKET_END,
    TEST_SOCK_BEGIN,
    TEST_SOCK_END,
    TEST_TCP_END
};
extern int test_socket_fault, test_socket_of_user;

/* Returns 0 or an error. */
int test_socket_option(int level, int name, char* value, int* bytes);
#ifdef __cplusplus
}
#endif
#endif
