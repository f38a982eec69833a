// SPDX-License-Identifier: GPL-2.0-or-later
// Where handlers find out whether they can read the current process's memory themselves
// (codegen/reads.cpp), under the conditions of copy_from_user_nofault. The place is not part of the
// kernel's interface: it must hold what it should when the module is loaded.
#include <linux/percpu.h>
#include <linux/sched.h>

#include "access/access.h"
#include "arch/runtime.h"

/* No task has this mm, so handlers leave all reads to the runtime. */
static DEFINE_PER_CPU(unsigned long, no_mm) = ~0ul;
unsigned long __percpu *djs_loaded_mm = &no_mm;

void djs_process_memory_init(void)
{
	unsigned long __percpu *loaded = (unsigned long __percpu *)djs_script.loaded_mm;

	if (djs_script.loaded_mm && djs_guards_process_memory() && current->mm &&
	    raw_cpu_read(*loaded) == (unsigned long)current->mm)
		djs_loaded_mm = loaded;
}
