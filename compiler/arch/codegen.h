// SPDX-License-Identifier: GPL-2.0-or-later
// What an architecture must provide to code generation: LLVM's machine, and the instructions that
// handlers contain verbatim. See arch/arch.h for everything else.
#pragma once
#include "arch/mitigations.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

namespace djstap::arch {

// ---- LLVM's machine

// Creates a machine with the kernel's code model, or with that of user space. Initializes LLVM's
// back end once per process; returns null if this LLVM lacks it.
std::unique_ptr<llvm::TargetMachine> make_target_machine(int optimization, bool user_space);

// Sets the triple, the code model, and the module flags that LLVM reads.
void prepare_module(llvm::Module& module, const Mitigations& mitigations, bool user_space);
// Sets the processor and its features: no floating point and no vectors, whose registers belong to
// user space.
void prepare_function(llvm::Function& function, const Mitigations& mitigations);

// LLVM counts an inline assembly statement as one instruction. Returns the number of further ones.
uint64_t further_in_assembly(const llvm::Function& function);

// ---- single instructions

// Emits a statement without instructions that the optimizer may not hoist out of its block.
void emit_nothing(llvm::IRBuilderBase& builder);

// Reads the clock of the records, as an opaque value; store_clock stores its 8 bytes at `address`.
llvm::Value* read_clock(llvm::IRBuilderBase& builder);
void store_clock(llvm::IRBuilderBase& builder, llvm::Value* time, llvm::Value* address);
// Reads the same clock as a number, ordered after all earlier reads of the program.
llvm::Value* read_clock_in_order(llvm::IRBuilderBase& builder);

// Tests whether these bits of the stack pointer are all 0, as a bool.
llvm::Value* has_zero_stack_bits(llvm::IRBuilderBase& builder, uint32_t bits);

// ---- reads of memory that may be unmapped

// guarded_load may add an offset below this, of either sign, to an address that was tested.
constexpr int64_t guarded_span = 65536;
// Tests whether guarded_load may read near `base`, as a bool: false for addresses of user space,
// whose access the kernel may forbid in a way that no exception table repairs, and for addresses
// next to the end of the address space.
llvm::Value* allows_guarded_load(llvm::IRBuilderBase& builder, llvm::Value* base);
// Ends the block with one instruction that reads `bytes` (1, 2, 4 or 8) at base + offset and has an
// entry in the module's exception table. Continues in `read` with the result, extended to 64 bits,
// or in `fault`.
struct GuardedLoad {
    llvm::Value* result; // in `read`
    llvm::Value* base;   // in `fault`: the register may be that of the result
};
GuardedLoad guarded_load(llvm::IRBuilderBase& builder, llvm::Value* base, int64_t offset,
                         unsigned bytes, bool is_signed, llvm::BasicBlock* read,
                         llvm::BasicBlock* fault);

// ---- reads of the current process's memory

// What such a read needs besides an address: the current task, whose mm is the one that this CPU
// uses, and the offset in it of the count that keeps a fault from sleeping.
struct ProcessMemory {
    llvm::Value* task;
    int64_t no_faults_at;
};
// Returns an address for process_load: `address`, or one that faults if it is in the kernel's half.
// No branch, so the processor does not read the kernel's memory in advance, either.
llvm::Value* in_process_half(llvm::IRBuilderBase& builder, llvm::Value* address);
// As guarded_load, for memory that the kernel accesses only between two instructions
// (djs_guards_process_memory, runtime/arch/). `offset` is less than a page. The block `fault`
// begins with end_process_load.
llvm::Value* process_load(llvm::IRBuilderBase& builder, const ProcessMemory& memory,
                          llvm::Value* base, int64_t offset, unsigned bytes, bool is_signed,
                          llvm::BasicBlock* read, llvm::BasicBlock* fault);
void end_process_load(llvm::IRBuilderBase& builder, const ProcessMemory& memory);

// ---- rare calls

// A number that is passed: value + addend.
struct RareArgument {
    llvm::Value* value;
    int64_t addend = 0; // of 32 bits
};
// Call a function of the runtime's and preserve all registers, so that the fast path of the caller
// has none to save for the call.
void call_rarely(llvm::IRBuilderBase& builder, const std::string& function,
                 std::initializer_list<RareArgument> arguments);
// For a function that returns two numbers: ends the block and continues as the second one says.
// Returns the first one, for `if_zero`.
struct SignBranches {
    llvm::BasicBlock *if_zero, *if_below, *if_above;
};
llvm::Value* ask_rarely(llvm::IRBuilderBase& builder, const std::string& function,
                        std::initializer_list<RareArgument> arguments, const SignBranches& next);

// For a function that returns a u32: ends the block and continues as the number says.
void branch_rarely(llvm::IRBuilderBase& builder, const std::string& function,
                   std::initializer_list<RareArgument> arguments, llvm::BasicBlock* if_zero,
                   llvm::BasicBlock* otherwise);

// ---- per-CPU memory

// symbol + offset + base + 8 * index, in per-CPU memory.
struct PercpuPlace {
    std::string symbol{}; // empty: none
    int64_t offset = 0;
    llvm::Value* base = nullptr;  // a pointer or an integer; null: none
    llvm::Value* index = nullptr; // an integer, only with a base; null: none
};

// Each of these is atomic with respect to interrupts, and accesses the memory of the CPU that
// executes it. None needs a lock. The `ordered` ones also keep other memory accesses before or
// after them.

// Loads a value that is constant while a handler runs: loads of it may be merged and moved.
llvm::Value* load_percpu_constant(llvm::IRBuilderBase& builder, llvm::Type* type,
                                  const PercpuPlace& place);
// 64 bits, ordered.
llvm::Value* load_percpu(llvm::IRBuilderBase& builder, const PercpuPlace& place);
// Adds to 64 bits.
void add_percpu(llvm::IRBuilderBase& builder, const PercpuPlace& place, llvm::Value* delta,
                bool ordered);
// Tests whether one of these bits of the 32 at the place is 1, as a bool. Ordered.
llvm::Value* has_percpu_bits(llvm::IRBuilderBase& builder, uint32_t bits, const PercpuPlace& place);
// Tests whether `value` is ICMP_SLT, ICMP_SGT or ICMP_UGT than the 64 bits at the place, as a bool.
// Ordered.
llvm::Value* compare_percpu(llvm::IRBuilderBase& builder, llvm::CmpInst::Predicate predicate,
                            llvm::Value* value, const PercpuPlace& place);
// Stores `value` if it is still ICMP_SLT or ICMP_SGT than the 64 bits at the place when it is
// stored. Ordered.
void replace_percpu_extreme(llvm::IRBuilderBase& builder, llvm::CmpInst::Predicate predicate,
                            llvm::Value* value, const PercpuPlace& place);
// Stores `next` if the place holds `expected`. Returns whether it did, as a bool, and the old
// value. Ordered.
struct Exchange {
    llvm::Value* done;
    llvm::Value* old;
};
Exchange exchange_percpu(llvm::IRBuilderBase& builder, const PercpuPlace& place,
                         llvm::Value* expected, llvm::Value* next);
// Computes (position & mask) + data, both loaded from 64 bits of per-CPU memory. Ordered.
llvm::Value* wrap_percpu(llvm::IRBuilderBase& builder, llvm::Value* position,
                         const PercpuPlace& mask, const PercpuPlace& data);

// Update the kernel's preemption count, of 4 or 8 bytes, which is at that place. The second returns
// whether a reschedule is due, as a bool.
void disable_preemption(llvm::IRBuilderBase& builder, const PercpuPlace& count, unsigned bytes);
llvm::Value* enable_preemption(llvm::IRBuilderBase& builder, const PercpuPlace& count,
                               unsigned bytes);

// ---- interrupts

// Returns the flag of the processor's flags that says that interrupts are enabled, as a number: 0
// if they are disabled. It equals interrupts_enabled() otherwise, which is DJS_IRQS_ON.
llvm::Value* enabled_interrupts(llvm::IRBuilderBase& builder);
uint64_t interrupts_enabled();
// Not for kernels whose interrupts a hypervisor keeps (DJS_GATE_NO_INLINE_LOCKS). Ordered.
void disable_interrupts(llvm::IRBuilderBase& builder);
void enable_interrupts(llvm::IRBuilderBase& builder);

// ---- functions that continue in the probed function (codegen/continuation.h)

// Code in assembler syntax; each is a number of whole lines. `from` is the return address of a
// direct call, which the trampoline's dispatch receives in a register of its own.
std::string landing_pad_code(const Mitigations& mitigations); // empty without landing pads
std::string return_code(const Mitigations& mitigations);
// Restores the result register from what keep_result() saved, and returns.
std::string resume_code(const Mitigations& mitigations);
// Jumps to `from`.
std::string go_on_code(const Mitigations& mitigations);
// Jumps to `address` if it equals `from`, otherwise to `elsewhere`.
std::string go_on_at_code(const std::string& address, const std::string& elsewhere);
// Jumps to `label` if `from` is not below `address`.
std::string branch_if_not_below_code(const std::string& address, const std::string& label);
// The jump of a static call's trampoline, which the kernel patches; and the mark behind it by which
// the kernel recognizes a trampoline, as a function of its own.
std::string static_jump_code(const std::string& callee);
std::string static_jump_mark();
// Precedes an address to which calls seem to return: a stack trace looks up the function at the
// address minus one.
std::string no_op_code();

// Makes the function begin by copying the result register to its parameter number `parameter`:
// whoever redirected the return of a direct call may have stored a result there.
void keep_result(llvm::Function& function, unsigned parameter, const Mitigations& mitigations);

// The registers that may hold a function's result.
struct FunctionResult {
    llvm::Value* low = nullptr;
    llvm::Value* high = nullptr;
};
// Calls kernel code, with the given argument registers, `result` in the result register, and `from`
// where a dispatch expects it.
FunctionResult call_kernel(llvm::IRBuilderBase& builder, const std::string& callee,
                           std::span<llvm::Value* const> arguments, llvm::Value* result,
                           llvm::Value* from);

// Tests whether `value` is the kernel address that the assembler expression `address` denotes, as a
// bool.
llvm::Value* is_kernel_address(llvm::IRBuilderBase& builder, llvm::Value* value,
                               const std::string& address);

} // namespace djstap::arch
