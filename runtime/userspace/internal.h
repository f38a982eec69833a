/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Declarations that the parts of the runtime in user space share, in addition to the headers of the
 * folders that both runtimes have.
 */
#ifndef DJSTAP_USER_INTERNAL_H
#define DJSTAP_USER_INTERNAL_H

#include "cpu/cpu.h"

s64 *djs_user_counters(void);
u64 djs_user_now(void); /* CLOCK_MONOTONIC, ns */

#endif
