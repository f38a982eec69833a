/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The structures of 32-bit programs. */
#ifndef DJSTAP_COMPAT_STRUCTS_H
#define DJSTAP_COMPAT_STRUCTS_H

#include <linux/compat.h>
#if __has_include(<asm/ia32.h>)
#include <asm/ia32.h>
#endif

#endif
