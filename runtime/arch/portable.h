/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of runtime.h for code that is also compiled into djstap and djrun. C++ includes it.
 */
#ifndef DJSTAP_ARCH_PORTABLE_H
#define DJSTAP_ARCH_PORTABLE_H

#if defined(__x86_64__)
#include "arch/x86/portable.h"
#else
#error "runtime/arch has no folder for this architecture"
#endif

#endif
