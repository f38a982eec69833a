// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/sched.h>

void djs_offsets(void);
void djs_offsets(void)
{
	asm volatile(".pushsection .djstap.offsets,\"\",@0x80000001\n"
		     ".ascii \"task_comm %c0\\n\"\n"
		     ".ascii \"minus_five %c1\\n\"\n"
		     ".ascii \"somewhere:some_symbol 16\\n\"\n"
		     ".popsection" ::"i"(offsetof(struct task_struct, comm)),
		     "i"(-5));
}
