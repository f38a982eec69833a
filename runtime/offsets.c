// SPDX-License-Identifier: GPL-2.0-or-later
// Constants of this kernel that code generation inlines: section .djstap.offsets, lines of "NAME
// VALUE", VALUE a decimal number. "NAME:SYMBOL ADDEND" is the offset of one of the kernel's per-CPU
// variables in the per-CPU section.
#include <linux/cred.h>
#include <linux/ftrace.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "arch/runtime.h"
#include "context/kernel_clock.h"
#include "cpu/cpu.h"

#define LINE(text, ...)		     DJS_EMIT_LINE(".djstap.offsets", text, __VA_ARGS__)
#define NUMBER(name, value)	     LINE(name " %c0", "i"((int)(value)))
#define PERCPU(name, symbol, addend) LINE(name ":" symbol " %c0", "i"((long)(addend)))
#define TASK(field)		     NUMBER("task_struct." #field, offsetof(struct task_struct, field))
#define CRED(field)		     NUMBER("cred." #field, offsetof(struct cred, field))
#define READ_BASE(field)	     NUMBER("tk_read_base." #field, offsetof(struct tk_read_base, field))
#define REG(field)		     NUMBER("pt_regs." #field, offsetof(struct pt_regs, field));
#define CTX(field)		     NUMBER("djs_ctx." #field, offsetof(struct djs_ctx, field))

/* Never called, and emits no instruction: it contains the statements. */
void djs_offsets(void);
void djs_offsets(void)
{
#ifdef DJS_HAVE_PCPU_HOT
#define PREEMPT_COUNT ((struct pcpu_hot *)NULL)->preempt_count
	PERCPU("current_task", "pcpu_hot", offsetof(struct pcpu_hot, current_task));
	PERCPU("preempt_count", "pcpu_hot", offsetof(struct pcpu_hot, preempt_count));
	PERCPU("cpu_number", "pcpu_hot", offsetof(struct pcpu_hot, cpu_number));
#else
#ifdef DJS_HAVE_CURRENT_TASK
	PERCPU("current_task", "current_task", 0);
#endif
#define PREEMPT_COUNT __preempt_count
#ifdef DJS_HAVE_PREEMPT_COUNT
	PERCPU("preempt_count", "__preempt_count", 0);
#endif
#ifdef DJS_HAVE_CPU_NUMBER
	PERCPU("cpu_number", "cpu_number", 0);
#endif
#endif
	NUMBER("preempt_count_bytes", sizeof(PREEMPT_COUNT));
	NUMBER("preempt_mask_interrupt", NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET);
	NUMBER("djs_cpu.head", offsetof(struct djs_cpu, head));
	NUMBER("djs_cpu.limit", offsetof(struct djs_cpu, limit));
	NUMBER("djs_cpu.data", offsetof(struct djs_cpu, data));
	NUMBER("djs_cpu.mask", offsetof(struct djs_cpu, mask));
	NUMBER("djs_cpu.locked_alone", offsetof(struct djs_cpu, locked_alone));
	NUMBER("djs_cpu.variables", offsetof(struct djs_cpu, variables));
	NUMBER("djs_cpu.inside", offsetof(struct djs_cpu, inside));
	TASK(pid);
	TASK(tgid);
	TASK(comm);
	TASK(real_parent);
	TASK(mm);
	TASK(pagefault_disabled);
	TASK(cred);
	CRED(uid);
	CRED(euid);
	CRED(gid);
	CRED(egid);
	NUMBER("task_comm_len", TASK_COMM_LEN);
	DJS_FOR_REGISTERS(REG)
	NUMBER("pt_regs", sizeof(struct pt_regs));
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_ARGS
#ifdef arch_ftrace_regs
	NUMBER("ftrace_regs.regs", offsetof(struct __arch_ftrace_regs, regs));
#else
	NUMBER("ftrace_regs.regs", offsetof(struct ftrace_regs, regs));
#endif
#endif
#ifdef DJS_HAVE_TK_READ_BASE
	READ_BASE(clock);
	READ_BASE(cycle_last);
	READ_BASE(mult);
	READ_BASE(shift);
	READ_BASE(xtime_nsec);
	READ_BASE(base);
	READ_BASE(base_real);
#endif
	NUMBER("page_size", PAGE_SIZE);
	NUMBER("hz", HZ);
	NUMBER("djs_ctx", sizeof(struct djs_ctx));
	CTX(error);
	CTX(actions);
	CTX(nesting);
	CTX(regs);
	CTX(saved);
	CTX(scratch);
	CTX(return_value);
}
