/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trampoline of every direct call: saves the function's registers as a struct pt_regs and calls
 * djprobe_hit(regs, frame). The frame holds the return address into the function, then the stack as
 * it is at function entry.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include <asm/ptrace-abi.h>

#define REGS_BYTES (SS + 8 + 8) /* a multiple of 16: the stack is aligned for the call */

	.text
SYM_FUNC_START(djprobe_entry)
	ENDBR
	subq	$REGS_BYTES, %rsp
	movq	%r15, R15(%rsp)
	movq	%r14, R14(%rsp)
	movq	%r13, R13(%rsp)
	movq	%r12, R12(%rsp)
	movq	%rbp, RBP(%rsp)
	movq	%rbx, RBX(%rsp)
	movq	%r11, R11(%rsp)
	movq	%r10, R10(%rsp)
	movq	%r9, R9(%rsp)
	movq	%r8, R8(%rsp)
	movq	%rax, RAX(%rsp)
	movq	%rcx, RCX(%rsp)
	movq	%rdx, RDX(%rsp)
	movq	%rsi, RSI(%rsp)
	movq	%rdi, RDI(%rsp)
	movq	%rsp, %rdi
	leaq	REGS_BYTES(%rsp), %rsi
	call	djprobe_hit
	movq	R15(%rsp), %r15
	movq	R14(%rsp), %r14
	movq	R13(%rsp), %r13
	movq	R12(%rsp), %r12
	movq	RBP(%rsp), %rbp
	movq	RBX(%rsp), %rbx
	movq	R11(%rsp), %r11
	movq	R10(%rsp), %r10
	movq	R9(%rsp), %r9
	movq	R8(%rsp), %r8
	movq	RAX(%rsp), %rax
	movq	RCX(%rsp), %rcx
	movq	RDX(%rsp), %rdx
	movq	RSI(%rsp), %rsi
	movq	RDI(%rsp), %rdi
	addq	$REGS_BYTES, %rsp
	RET
SYM_FUNC_END(djprobe_entry)
