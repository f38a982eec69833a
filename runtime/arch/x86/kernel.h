/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DJSTAP_X86_KERNEL_H
#define DJSTAP_X86_KERNEL_H

#include <linux/clocksource.h>
#include <linux/kernel.h>
#include <linux/mm_types.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <asm/cpufeature.h>
#include <asm/pgtable.h>
#include <asm/processor.h>
#include <asm/stacktrace.h>
#include <asm/tsc.h>

#include "arch/x86/portable.h"

/* ---- time, memory, interrupts --------------------------------------------------------------- */

static __always_inline u64 djs_cycles(void)
{
	return rdtsc();
}

static __always_inline u64 djs_cycles_in_order(void)
{
	return rdtsc_ordered();
}

static inline bool djs_counts_cycles(const struct clocksource *source)
{
	return source->vdso_clock_mode == VDSO_CLOCKMODE_TSC &&
	       source->mask == CLOCKSOURCE_MASK(64);
}

static inline u32 djs_cycles_khz(void)
{
	return tsc_khz;
}

static inline bool djs_guards_process_memory(void)
{
	return boot_cpu_has(X86_FEATURE_SMAP);
}

static inline u64 djs_kernel_memory(void)
{
	/* not that of the processor, which may support larger page tables than the kernel uses */
	return ~0ull << __VIRTUAL_MASK_SHIFT;
}
#define DJS_KERNEL_MEMORY_END 0xffffffffff600000ull /* VSYSCALL_ADDR */

#define DJS_IRQS_ON  X86_EFLAGS_IF
#define DJS_IRQS_OFF X86_EFLAGS_FIXED

static inline bool djs_interrupts_are_virtual(void)
{
	return boot_cpu_has(X86_FEATURE_XENPV); /* cli and popf do nothing there */
}

/* An NMI that interrupts the kernel runs on a stack of its own, as do machine checks and the like,
 * all of them in the processors' entry area. */
static __always_inline bool djs_on_exception_stack(void)
{
	if (boot_cpu_has(X86_FEATURE_XENPV)) /* Xen PV has no such stacks */
		return true;
	return current_stack_pointer >> P4D_SHIFT == CPU_ENTRY_AREA_BASE >> P4D_SHIFT;
}

/* ---- instructions --------------------------------------------------------------------------- */

#define DJS_CALL_BYTES	    5 /* a near call */
#define DJS_LANDING_PAD_MAX 4
#ifdef ENDBR_INSN_SIZE
#define DJS_LANDING_PAD_BYTES ENDBR_INSN_SIZE
#else /* kernels before IBT */
#define DJS_LANDING_PAD_BYTES 0
#endif

static inline bool djs_is_call(const u8 *text)
{
	return text[0] == 0xe8;
}

static inline bool djs_is_jump(const u8 *text)
{
	return text[0] == 0xe9;
}

static inline bool djs_is_breakpoint(const u8 *text)
{
	return text[0] == 0xcc;
}

static inline bool djs_is_no_op(const u8 *text)
{
	static const u8 nop5[DJS_CALL_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

	return !memcmp(text, nop5, sizeof(nop5));
}

static inline unsigned long djs_callee(const u8 *text, unsigned long address)
{
	return djs_is_call(text) ? address + DJS_CALL_BYTES + *(s32 *)(text + 1) : 0;
}

static inline u32 djs_landing_pad(const u8 *text)
{
	static const u8 endbr[DJS_LANDING_PAD_MAX] = {0xf3, 0x0f, 0x1e, 0xfa};

	return memcmp(text, endbr, sizeof(endbr)) ? 0 : sizeof(endbr);
}

static inline u32 djs_sealed_landing_pad(const u8 *text)
{
	static const u8 sealed[DJS_LANDING_PAD_MAX] = {0x66, 0x0f, 0x1f, 0x00};

	return memcmp(text, sealed, sizeof(sealed)) ? 0 : sizeof(sealed);
}

/* ---- registers ------------------------------------------------------------------------------ */

#define DJS_CALL_REGISTERS(a, b, c, d, e, f)                                                       \
	{                                                                                          \
	    .di = (unsigned long)(a),                                                              \
	    .si = (unsigned long)(b),                                                              \
	    .dx = (unsigned long)(c),                                                              \
	    .cx = (unsigned long)(d),                                                              \
	    .r8 = (unsigned long)(e),                                                              \
	    .r9 = (unsigned long)(f),                                                              \
	    .ip = _THIS_IP_,                                                                       \
	    .sp = (unsigned long)__builtin_frame_address(0),                                       \
	    .bp = (unsigned long)__builtin_frame_address(0),                                       \
	    .cs = __KERNEL_CS,                                                                     \
	}

#define DJS_ENTRY_REGISTERS(pointer, frame)                                                        \
	{                                                                                          \
	    .ip = ((const unsigned long *)(pointer))[-1],                                          \
	    .sp = (pointer),                                                                       \
	    .bp = (frame),                                                                         \
	    .cs = __KERNEL_CS,                                                                     \
	}

#define DJS_REGISTER_ARGUMENTS 6

#define DJS_SYSCALL_ARGUMENTS 6

static __always_inline size_t djs_syscall_argument(s64 n)
{
	switch (n) {
	case 1:
		return offsetof(struct pt_regs, di);
	case 2:
		return offsetof(struct pt_regs, si);
	case 3:
		return offsetof(struct pt_regs, dx);
	case 4:
		return offsetof(struct pt_regs, r10);
	case 5:
		return offsetof(struct pt_regs, r8);
	default:
		return offsetof(struct pt_regs, r9);
	}
}

static __always_inline u64 djs_register_argument(const struct pt_regs *regs, s64 n)
{
	switch (n) {
	case 1:
		return regs->di;
	case 2:
		return regs->si;
	case 3:
		return regs->dx;
	case 4:
		return regs->cx;
	case 5:
		return regs->r8;
	default:
		return regs->r9;
	}
}

static __always_inline bool djs_is_unwindable(const struct pt_regs *regs)
{
	return regs->cs == __USER_CS;
}

static __always_inline void djs_dwarf_registers(u64 *values, const struct pt_regs *regs)
{
	values[0] = regs->ax;
	values[1] = regs->dx;
	values[2] = regs->cx;
	values[3] = regs->bx;
	values[4] = regs->si;
	values[5] = regs->di;
	values[DJS_DWARF_FRAME] = regs->bp;
	values[DJS_DWARF_STACK] = regs->sp;
	values[8] = regs->r8;
	values[9] = regs->r9;
	values[10] = regs->r10;
	values[11] = regs->r11;
	values[12] = regs->r12;
	values[13] = regs->r13;
	values[14] = regs->r14;
	values[15] = regs->r15;
	values[DJS_DWARF_RETURN] = regs->ip;
}

static inline unsigned long djs_vdso_address(const struct mm_struct *mm)
{
	return (unsigned long)mm->context.vdso;
}

/* The arguments on the stack are above the return address. */
static __always_inline unsigned long djs_stack_argument(const struct pt_regs *regs, s64 n)
{
	return regs->sp + (n - DJS_REGISTER_ARGUMENTS) * sizeof(long);
}

/* The return instruction has taken the return address from the stack. */
static __always_inline unsigned long djs_returned_from(const struct pt_regs *regs)
{
	return regs->sp - sizeof(long);
}

static __always_inline void djs_format_registers(char *to, size_t size, const struct pt_regs *regs)
{
	scnprintf(to, size,
		  "RIP: %016lx\nRSP: %016lx  EFLAGS: %08lx\n"
		  "RAX: %016lx RBX: %016lx RCX: %016lx\nRDX: %016lx RSI: %016lx RDI: %016lx\n"
		  "RBP: %016lx R08: %016lx R09: %016lx\nR10: %016lx R11: %016lx R12: %016lx\n"
		  "R13: %016lx R14: %016lx R15: %016lx\n",
		  regs->ip, regs->sp, regs->flags, regs->ax, regs->bx, regs->cx, regs->dx, regs->si,
		  regs->di, regs->bp, regs->r8, regs->r9, regs->r10, regs->r11, regs->r12,
		  regs->r13, regs->r14, regs->r15);
}

/* clang-format off */
#define DJS_FOR_REGISTERS(do)                                                                      \
	do(r15) do(r14) do(r13) do(r12) do(bp) do(bx) do(r11) do(r10) do(r9) do(r8) do(ax) do(cx)  \
	do(dx) do(si) do(di) do(orig_ax) do(ip) do(cs) do(flags) do(sp) do(ss)
/* clang-format on */

/* ---- emitted text and references, never run ------------------------------------------------ */

/* A section type for applications (SHT_LOUSER + 1): modpost warns about ordinary sections that are
 * not loaded. */
#define DJS_EMIT_LINE(section, text, ...)                                                          \
	asm volatile(".pushsection " section ",\"\",@0x80000001\n\t.ascii \"" text "\\n\"\n\t"     \
		     ".popsection" ::__VA_ARGS__)

#endif
