/* SPDX-License-Identifier: GPL-2.0-or-later */
/* getpriority(0, 0) from inner(), which outer() calls, which the first instruction calls: without a library, so that
 * every address is known. */
	.globl _start, outer, inner
	.type _start, @function
	.type outer, @function
	.type inner, @function
	.text
_start:
	.cfi_startproc
	.cfi_undefined rip
	call outer
	xor %edi, %edi
	mov $60, %eax
	syscall
	hlt
	.cfi_endproc
	.size _start, .-_start
	.balign 64
outer:
	.cfi_startproc
	sub $40, %rsp
	.cfi_def_cfa_offset 48
	call inner
	add $40, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size outer, .-outer
	.balign 64
inner:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	xor %edi, %edi
	xor %esi, %esi
	mov $140, %eax
	syscall
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size inner, .-inner
	.section .note.GNU-stack, "", @progbits
