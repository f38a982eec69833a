// SPDX-License-Identifier: GPL-2.0-or-later
// Random numbers.
#include <linux/smp.h>

#include "arch/runtime.h"
#include "include/functions.h"
#include "state/state.h"

/*
 * Returns a number from 0 to limit - 1. SplitMix64 over the time stamp counter: no lock, any
 * context.
 */
DJS_HANDLER_CODE s64 djs_fn_randint(struct djs_ctx *ctx, s64 limit)
{
	u64 x = djs_cycles() + ((u64)raw_smp_processor_id() << 56);

	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	if ((u64)limit > DJS_RANDOM_MAX) {
		djs_fail(ctx, DJS_RANDOM_ERROR, DJS_NO_PLACE);
		return 0;
	}
	return limit ? (s64)(x % (u64)limit) : 0;
}
