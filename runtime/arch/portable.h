/* SPDX-License-Identifier: GPL-2.0-or-later
 * The part of runtime.h for what is compiled into djstap and djrun, too. C++ reads it.
 */
#ifndef DJSTAP_ARCH_PORTABLE_H
#define DJSTAP_ARCH_PORTABLE_H

#if defined(__x86_64__)
#include "arch/x86/portable.h"
#else
#error "runtime/arch has no folder for this architecture"
#endif

#endif
