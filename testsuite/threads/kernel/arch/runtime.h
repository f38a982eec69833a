// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces runtime/arch/runtime.h: interrupts may also arrive when the clock is read.
#pragma once
#include "threads/kernel/kernel.h"

#define DJS_IRQS_OFF 0x2ul
#define DJS_IRQS_ON 0x200ul

static inline u64 djs_cycles(void) {
    u64 time = __builtin_ia32_rdtsc();

    cpu_instruction();
    return time;
}
