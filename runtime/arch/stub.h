/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of runtime.h for stub.c, without the kernel's headers.
 */
#ifndef DJSTAP_ARCH_STUB_H
#define DJSTAP_ARCH_STUB_H

#if defined(__x86_64__)
#include "arch/x86/stub.h"
#else
#error "runtime/arch has no folder for this architecture"
#endif

#endif
