/* SPDX-License-Identifier: GPL-2.0-or-later
 * What an architecture must give to the runtime. An architecture is a folder here that defines
 * all of it; nothing outside it names a register, an instruction or an instruction's bytes.
 * What the compiler needs is listed in compiler/arch/arch.h.
 *
 * portable.h, for everything that includes the runtime's headers:
 *   DJS_MULTIPLY(low, high, b)
 *     of the u64 variables `low` and `high`, makes the two halves of low * b
 *
 * kernel.h, for the runtime in the kernel; user.h, for the one in a process, has the first two:
 *   u64 djs_cycles(void)
 *     the clock of the records
 *   u64 djs_kernel_memory(void), DJS_KERNEL_MEMORY_END
 *     from where on to where the kernel's addresses can be read by one guarded instruction
 *   u64 djs_cycles_in_order(void)
 *     the clock of the records, after all that the program has read before
 *   u32 djs_cycles_khz(void)
 *     how many of them a millisecond has
 *   DJS_IRQS_ON, DJS_IRQS_OFF
 *     what the processor's flags are for raw_local_irq_restore, neither of them 0
 *   bool djs_on_exception_stack(void)
 *     whether this code runs on a stack that an NMI brings with it: see cpu/level.h
 *
 *   DJS_CALL_BYTES
 *     of a call's instruction, of a fentry site's and of its no-op
 *   DJS_LANDING_PAD_BYTES
 *     of what stands in front of a fentry site where this kernel has indirect branches checked
 *   unsigned long djs_callee(const u8 *text, unsigned long address)
 *     what the call there calls, whose DJS_CALL_BYTES are at `text`; 0: it is no call
 *   bool djs_is_call(const u8 *text), djs_is_jump(const u8 *text), djs_is_no_op(const u8 *text)
 *     the instruction that begins there; a no-op is a fentry site's, of DJS_CALL_BYTES
 *   u32 djs_landing_pad(const u8 *text), djs_sealed_landing_pad(const u8 *text)
 *     the bytes of the landing pad there, DJS_LANDING_PAD_MOST or 0: there is none. A sealed one
 *     has become a no-op, as nothing refers to the function
 *
 *   DJS_CALL_REGISTERS(a, b, c, d, e, f)
 *     an initializer of the struct pt_regs that a call from here has with these arguments
 *   u64 djs_register_argument(const struct pt_regs *regs, s64 n)
 *     a call's argument `n`, from 1 to DJS_REGISTER_ARGUMENTS
 *   unsigned long djs_stack_argument(const struct pt_regs *regs, s64 n)
 *     where a later one is, at its function's entry
 *   void djs_format_registers(char *to, size_t size, const struct pt_regs *regs)
 *     all of them as text, a few in a line
 *   DJS_FOR_REGISTERS(do)
 *     do(NAME) for each field of struct pt_regs
 *
 *   DJS_EMIT_LINE(section, text, operands…)
 *     a line of text in a section of the object that is not loaded; %c0 in it is a number among
 *     the operands
 *   DJS_STUB_CALL(symbol), DJS_STUB_THUNKS
 *     a reference to a symbol that code calls, and to all that the compiler calls by itself: see
 *     stub.c
 *
 * user.h also has:
 *   cpu_relax()
 *   void djs_set_percpu_base(u64 distance)
 *     has this thread's accesses to per-CPU memory go so far behind CPU 0's
 *
 * entry.S and entry.h, for modules with djprobes of their own (capi):
 *   djprobe_entry
 *     what their fentry sites call: calls djprobe_hit(regs, frame)
 *   void djs_complete_registers(struct pt_regs *regs, const unsigned long *frame)
 *     fills in what it has not saved
 */
#ifndef DJSTAP_ARCH_RUNTIME_H
#define DJSTAP_ARCH_RUNTIME_H

#if !defined(__x86_64__)
#error "runtime/arch has no folder for this architecture"
#elif defined(__KERNEL__)
#include "arch/x86/kernel.h"
#else
#include "arch/x86/user.h"
#endif

#endif
