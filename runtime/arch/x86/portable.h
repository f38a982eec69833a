/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DJSTAP_X86_PORTABLE_H
#define DJSTAP_X86_PORTABLE_H

#define DJS_MULTIPLY(low, high, b) __asm__("mulq %2" : "+a"(low), "=d"(high) : "rm"(b) : "cc")

#endif
