/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DJSTAP_ARCH_X86_STUB_H
#define DJSTAP_ARCH_X86_STUB_H

#define DJS_STUB_CALL(symbol) asm volatile("call " symbol ::: "memory");
#define DJS_STUB_THUNK(reg)   DJS_STUB_CALL("__x86_indirect_thunk_" #reg)
/* clang-format off */
#define DJS_STUB_THUNKS                                                                            \
	DJS_STUB_THUNK(rax) DJS_STUB_THUNK(rbx) DJS_STUB_THUNK(rcx) DJS_STUB_THUNK(rdx)            \
	DJS_STUB_THUNK(rsi) DJS_STUB_THUNK(rdi) DJS_STUB_THUNK(rbp) DJS_STUB_THUNK(r8)             \
	DJS_STUB_THUNK(r9) DJS_STUB_THUNK(r10) DJS_STUB_THUNK(r11) DJS_STUB_THUNK(r12)             \
	DJS_STUB_THUNK(r13) DJS_STUB_THUNK(r14) DJS_STUB_THUNK(r15)
/* clang-format on */

#endif
