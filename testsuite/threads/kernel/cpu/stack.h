// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces runtime/cpu/stack.h: threads have enough stack.
#ifndef DJSTAP_STACK_H
#define DJSTAP_STACK_H

#include "cpu/cpu.h"

static inline u32 djs_stack_left(void) {
    return DJS_STACK_MAX;
}
static inline bool djs_stack_is_ample(void) {
    return true;
}

#endif
