/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_NET_NAMESPACE_H
#define DJSTAP_TEST_NET_NAMESPACE_H
struct net {
    int unused;
};
extern struct net init_net;
#endif
