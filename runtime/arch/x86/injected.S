/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Called by a site's stub where the thread's base is not that of its slot. It preserves all registers but the flags,
 * of which the zero flag is clear if the thread has a slot from now on.
 */
	.text
	.globl	djs_slot_entry
	.type	djs_slot_entry, @function
djs_slot_entry:
	push	%rax
	push	%rcx
	push	%rdx
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	call	djs_slot_claim
	test	%eax, %eax
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%rcx
	pop	%rax
	ret
	.size	djs_slot_entry, . - djs_slot_entry

/*
 * Called by a stub with an argument, at an entry or a return of a function: passes the registers, as the function has
 * them, to djs_injected_hit(registers, argument). They are in the order of the kernel's pt_regs. Above the return address
 * are the argument, the function's r11, and what the function has on the stack. The handlers may change the registers.
 */
	.globl	djs_hit_entry
	.type	djs_hit_entry, @function
djs_hit_entry:
	sub	$48, %rsp	/* from orig_rax to ss */
	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%rax
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	176(%rsp), %esi
	mov	184(%rsp), %rax
	mov	%rax, 48(%rsp)	/* r11 */
	lea	192(%rsp), %rax
	mov	%rax, 152(%rsp) /* the stack pointer */
	xor	%eax, %eax
	mov	%rax, 120(%rsp)
	mov	%rax, 136(%rsp)
	mov	%rax, 144(%rsp)
	mov	%rax, 160(%rsp)
	mov	%rsp, %rdi
	mov	%rsp, %rbx
	and	$-16, %rsp
	call	djs_injected_hit
	mov	%rbx, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rax
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rdi
	lea	48(%rsp), %rsp
	ret
	.size	djs_hit_entry, . - djs_hit_entry
	.section .note.GNU-stack, "", %progbits
