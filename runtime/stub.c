// SPDX-License-Identifier: GPL-2.0-or-later
// Stands in for a script object while the runtime is built, so that modpost sees, and gives a
// version to, every kernel symbol that a script object may need. Not part of what scripts are
// linked with.
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "include/script.h"

const struct djs_script djs_script = {.abi_version = 0};

void *volatile djs_stub_sink;
int (*volatile djs_stub_call)(void);

#define THUNK(reg) asm volatile("call __x86_indirect_thunk_" #reg ::: "memory");

void djs_stub(void);
void djs_stub(void)
{
	djs_stub_sink = &memcpy;
	djs_stub_sink = &memset;
	djs_stub_sink = &memmove;
	djs_stub_sink = &memcmp;
	djs_stub_sink = &strlen;
	djs_stub_sink = current;
#ifdef DJS_HAVE_PCPU_HOT
	djs_stub_sink = (void __force *)&pcpu_hot;
#endif
#ifdef DJS_HAVE_CURRENT_TASK
	djs_stub_sink = (void __force *)&current_task;
#endif
#ifdef DJS_HAVE_PREEMPT_COUNT
	djs_stub_sink = (void __force *)&__preempt_count;
#endif
#ifdef DJS_HAVE_CPU_NUMBER
	djs_stub_sink = (void __force *)&cpu_number;
#endif
	/* clang-format off */
	THUNK(rax) THUNK(rbx) THUNK(rcx) THUNK(rdx) THUNK(rsi) THUNK(rdi) THUNK(rbp) THUNK(r8)
	THUNK(r9) THUNK(r10) THUNK(r11) THUNK(r12) THUNK(r13) THUNK(r14) THUNK(r15)
	/* clang-format on */
}
