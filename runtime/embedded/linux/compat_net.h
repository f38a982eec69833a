/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of socketcall()'s calls and of shutdown()'s directions. */
#ifndef DJSTAP_COMPAT_NET_H
#define DJSTAP_COMPAT_NET_H

#include <linux/net.h>

/* The kernel has these as enumerators. */
#define SHUT_RD	  SHUT_RD
#define SHUT_WR	  SHUT_WR
#define SHUT_RDWR SHUT_RDWR

#endif
