/* SPDX-License-Identifier: GPL-2.0-or-later
 * The part of runtime.h for modules that have djprobes of their own.
 */
#ifndef DJSTAP_ARCH_ENTRY_H
#define DJSTAP_ARCH_ENTRY_H

#if defined(__x86_64__)
#include "arch/x86/entry.h"
#else
#error "runtime/arch has no folder for this architecture"
#endif

#endif
