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
	.section .note.GNU-stack, "", %progbits
