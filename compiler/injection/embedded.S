// SPDX-License-Identifier: GPL-2.0-or-later
// The runtime for probed programs, embedded in the library: directives only, for any architecture.

	.section .rodata
	.balign	16
	.global	djstap_injected_begin, djstap_injected_end
djstap_injected_begin:
	.incbin	DJSTAP_INJECTED_OBJECT
djstap_injected_end:
	.byte	0
	.section .note.GNU-stack, "", %progbits
