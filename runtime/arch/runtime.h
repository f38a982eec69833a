/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an architecture must provide to the runtime. An architecture is a folder here that defines
 * all of it; nothing outside the folder names a register, an instruction or an instruction's bytes.
 * compiler/arch/arch.h lists what the compiler needs.
 *
 * portable.h, for everything that includes the runtime's headers:
 *   DJS_MULTIPLY(low, high, b)
 *     replaces the u64 variables `low` and `high` with the two halves of low * b
 *   DJS_DWARF_REGISTERS
 *     how many registers DWARF's unwind information of a program may mention, from 0 on
 *   DJS_DWARF_FRAME, DJS_DWARF_STACK, DJS_DWARF_RETURN
 *     the numbers of the frame pointer, of the stack pointer and of the return address
 *   DJS_DWARF_SAVED, DJS_DWARF_SAVED_COUNT
 *     the numbers of those that a function preserves, and how many they are
 *
 * kernel.h, for the runtime in the kernel; user.h, for the one in a process, has the first two:
 *   u64 djs_cycles(void)
 *     the clock of the records
 *   u64 djs_kernel_memory(void), DJS_KERNEL_MEMORY_END
 *     the range in which one guarded instruction can read the kernel's addresses
 *   bool djs_guards_process_memory(void)
 *     whether this processor has the instructions between which handlers read the memory of a
 *     process, and lets the kernel read it only there
 *   u64 djs_cycles_in_order(void)
 *     the clock of the records, ordered after all earlier reads of the program
 *   bool djs_counts_cycles(const struct clocksource *source)
 *     whether the kernel reads this clocksource by djs_cycles_in_order
 *   u32 djs_cycles_khz(void)
 *     its cycles per millisecond
 *   DJS_IRQS_ON, DJS_IRQS_OFF
 *     the processor flags for raw_local_irq_restore, neither of them 0
 *   bool djs_interrupts_are_virtual(void)
 *     whether the instructions that disable and enable interrupts have no effect:
 *     raw_local_irq_disable calls a hypervisor
 *   bool djs_on_exception_stack(void)
 *     whether this code runs on a stack of its own that an NMI switched to: see cpu/level.h
 *
 *   DJS_CALL_BYTES
 *     the size of a call instruction, of an fentry site and of its no-op
 *   DJS_LANDING_PAD_BYTES
 *     the size of the landing pad in front of an fentry site where this kernel checks indirect
 *     branches
 *   unsigned long djs_callee(const u8 *text, unsigned long address)
 *     the callee of the call at `address`, whose DJS_CALL_BYTES are at `text`; 0: not a call
 *   bool djs_is_call(const u8 *text), djs_is_jump(const u8 *text), djs_is_no_op(const u8 *text)
 *   bool djs_is_breakpoint(const u8 *text)
 *     test the instruction that starts there; a no-op is an fentry site's, of DJS_CALL_BYTES. All
 *     but the no-op are recognized by the first byte
 *   u32 djs_landing_pad(const u8 *text), djs_sealed_landing_pad(const u8 *text)
 *     the size of the landing pad there: DJS_LANDING_PAD_MAX, or 0 if none. The kernel
 *     turns a landing pad into a no-op (seals it) when nothing refers to the function
 *
 *   DJS_CALL_REGISTERS(a, b, c, d, e, f)
 *     an initializer for the struct pt_regs of a call from here with these arguments
 *   DJS_ENTRY_REGISTERS(pointer, frame)
 *     the same for a function's entry, in the direct call of its fentry site: the stack pointer
 *     above the call's return address, and the frame pointer. For the unwinder, no other registers
 *   u64 djs_register_argument(const struct pt_regs *regs, s64 n)
 *     argument `n` of a call, from 1 to DJS_REGISTER_ARGUMENTS
 *   size_t djs_syscall_argument(s64 n)
 *     offset in struct pt_regs of a system call's argument `n`, from 1 to DJS_SYSCALL_ARGUMENTS
 *   unsigned long djs_stack_argument(const struct pt_regs *regs, s64 n)
 *     the address of a later argument, at function entry
 *   unsigned long djs_returned_from(const struct pt_regs *regs)
 *     after a return: what the stack pointer was at the function's entry
 *   bool djs_is_unwindable(const struct pt_regs *regs)
 *     whether they are those of a program of the kernel's own word size in user mode
 *   void djs_dwarf_registers(u64 *values, const struct pt_regs *regs)
 *     stores the registers by DWARF's numbers
 *   unsigned long djs_vdso_address(const struct mm_struct *mm)
 *     where the kernel's own library is mapped; 0: nowhere
 *   void djs_format_registers(char *to, size_t size, const struct pt_regs *regs)
 *     formats all registers as text, several per line
 *   DJS_FOR_REGISTERS(do)
 *     do(NAME) for each field of struct pt_regs
 *
 *   DJS_EMIT_LINE(section, text, operands…)
 *     emits a line of text into a section of the object that is not loaded; %c0 in it is a number
 *     among the operands
 * user.h also has:
 *   cpu_relax()
 *   void djs_set_percpu_base(u64 distance)
 *     redirects this thread's accesses to per-CPU memory to `distance` behind that of CPU 0
 * and, for the runtime inside a probed program (DJS_INJECTED):
 *   long djs_syscall6(long number, long a, long b, long c, long d, long e, long f)
 *   u64 djs_thread_base(void)
 *     the base of the thread's own memory, which no other thread of the process has
 *   u32 djs_percpu_word(const u32 *place)
 *     reads this thread's copy of a word
 *   bool djs_exchange_here(u64 *place, u64 expected, u64 next)
 *     stores `next` if the place holds `expected`: atomic with respect to signals of this thread
 *   u64 djs_argument_in_register(const u64 *registers, s64 n), DJS_REGISTER_ARGUMENTS
 *   u64 djs_argument_on_stack(const u64 *registers, s64 n)
 *     argument `n` of a function at its entry, or its address, from the registers that a trampoline
 * stored djs_slot_entry (injected.S) what stubs call for a thread without a slot
 *
 * stub.h:
 *   DJS_STUB_CALL(symbol), DJS_STUB_THUNKS
 *     a reference to a symbol that code calls, and to all that the compiler inserts calls of: see
 *     stub.c
 *
 * entry.S and entry.h, for modules with djprobes of their own (capi):
 *   djprobe_entry
 *     the callee of their fentry sites: calls djprobe_hit(regs, frame)
 *   void djs_complete_registers(struct pt_regs *regs, const unsigned long *frame)
 *     fills in what djprobe_entry has not saved
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
