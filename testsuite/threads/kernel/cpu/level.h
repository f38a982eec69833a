// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces runtime/cpu/level.h: the simulated CPU provides the level.
#ifndef DJSTAP_LEVEL_H
#define DJSTAP_LEVEL_H

#include "cpu/cpu.h"

#define DJS_INTERRUPT_MASK (~0u)

static inline unsigned int djs_level(void) {
    return cpu_level();
}
static inline bool djs_in_nmi(void) {
    return cpu_level() == DJS_LEVEL_NMI;
}

#endif
