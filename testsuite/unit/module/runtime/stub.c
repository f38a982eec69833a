// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/string.h>
#include "tiny.h"

static void *volatile sink;

static int run(int value)
{
	sink = (void *)&memset;
	asm volatile("call __x86_indirect_thunk_rax\n\tcall __x86_indirect_thunk_r11" ::: "memory");
	return djs_apply(djs_double, value);
}
const struct tiny_script djs_script = {run, 1};
