// SPDX-License-Identifier: GPL-2.0-or-later
// The files that are embedded in the library: directives only, for any architecture.

.macro embed name, file
	.balign	16
	.global	\name\()_begin, \name\()_end
\name\()_begin:
	.incbin	"\file"
\name\()_end:
	.byte	0
.endm

	.section .rodata
	embed	djstap_guest_agent, DJSTAP_GUEST_AGENT
	embed	djstap_guest_noatime, DJSTAP_GUEST_NOATIME
	.section .note.GNU-stack, "", %progbits
