// SPDX-License-Identifier: GPL-2.0-or-later
// What an architecture must give to code generation: LLVM's machine, and the instructions that
// handlers have as they are written here. See arch/arch.h for all else.
#pragma once
#include "arch/mitigations.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace djstap::arch {

// ---- LLVM's machine

// With the kernel's code model, or with that of user space. Initializes LLVM's back end once a
// process; null where this LLVM has none.
std::unique_ptr<llvm::TargetMachine> make_target_machine(int optimization, bool user_space);

// The triple, the code model, and what LLVM takes from a module's flags.
void prepare_module(llvm::Module& module, const Mitigations& mitigations, bool user_space);
// The processor and its features: no floating point and no vectors, whose registers belong to user
// space.
void prepare_function(llvm::Function& function, const Mitigations& mitigations);

// LLVM counts a statement of inline assembly as one instruction. Yields how many more there are.
uint64_t further_in_assembly(const llvm::Function& function);

// ---- single instructions

// Nothing, which the optimizer may not move to where it is not known that its block is entered.
void emit_nothing(llvm::IRBuilderBase& builder);

// The clock of the records, as an opaque value; and the 8 bytes of it at `address`.
llvm::Value* read_clock(llvm::IRBuilderBase& builder);
void store_clock(llvm::IRBuilderBase& builder, llvm::Value* time, llvm::Value* address);

// Whether those bits of the stack pointer are all 0, as a bool.
llvm::Value* has_zero_stack_bits(llvm::IRBuilderBase& builder, uint32_t bits);

// ---- this CPU's own memory

// symbol + offset + base + 8 * index, in per-CPU memory.
struct PercpuPlace {
    std::string symbol{}; // empty: none
    int64_t offset = 0;
    llvm::Value* base = nullptr;  // a pointer or a number; null: none
    llvm::Value* index = nullptr; // a number, with a base only; null: none
};

// Each of these is whole whatever interrupts it, and happens on the CPU where it is executed. None
// needs a lock. Those that are `ordered` also keep other accesses to memory before or after them.

// A value that does not change while a handler runs: reads of it may be joined and moved.
llvm::Value* load_percpu_constant(llvm::IRBuilderBase& builder, llvm::Type* type,
                                  const PercpuPlace& place);
// 64 bits, ordered.
llvm::Value* load_percpu(llvm::IRBuilderBase& builder, const PercpuPlace& place);
// Adds to 64 bits.
void add_percpu(llvm::IRBuilderBase& builder, const PercpuPlace& place, llvm::Value* delta,
                bool ordered);
// Whether `value` is ICMP_SLT, ICMP_SGT or ICMP_UGT than the 64 bits at the place, as a bool.
// Ordered.
llvm::Value* compare_percpu(llvm::IRBuilderBase& builder, llvm::CmpInst::Predicate predicate,
                            llvm::Value* value, const PercpuPlace& place);
// Stores `value` unless, by then, it is not ICMP_SLT or ICMP_SGT than the 64 bits at the place.
// Ordered.
void replace_percpu_extreme(llvm::IRBuilderBase& builder, llvm::CmpInst::Predicate predicate,
                            llvm::Value* value, const PercpuPlace& place);
// Stores `next` where the place has `expected`. Yields whether it did, as a bool, and what was
// there. Ordered.
struct Exchange {
    llvm::Value* done;
    llvm::Value* old;
};
Exchange exchange_percpu(llvm::IRBuilderBase& builder, const PercpuPlace& place,
                         llvm::Value* expected, llvm::Value* next);
// (position & mask) + data, the two from 64 bits of per-CPU memory each. Ordered.
llvm::Value* wrap_percpu(llvm::IRBuilderBase& builder, llvm::Value* position,
                         const PercpuPlace& mask, const PercpuPlace& data);

// The kernel's count of reasons not to preempt, which is at that place. The second yields whether
// the task is to be exchanged for another one now, as a bool.
void disable_preemption(llvm::IRBuilderBase& builder, const PercpuPlace& count);
llvm::Value* enable_preemption(llvm::IRBuilderBase& builder, const PercpuPlace& count);

// ---- functions that go on in the probed one (codegen/continuation.h)

// The text of code, as the assembler reads it; each is whole lines. `from` is where a direct call
// returns to, which the target's dispatch gets in a register of its own.
std::string landing_pad_code(const Mitigations& mitigations); // nothing without them
std::string return_code(const Mitigations& mitigations);
// Gives the result register back what keep_result() has kept, and returns.
std::string resume_code(const Mitigations& mitigations);
// Goes to `from`.
std::string go_on_code(const Mitigations& mitigations);
// Goes to `address` if it is `from`, otherwise to `elsewhere`.
std::string go_on_at_code(const std::string& address, const std::string& elsewhere);
// Goes to `label` if `from` is not below `address`.
std::string branch_if_not_below_code(const std::string& address, const std::string& label);
// The jump of a static call's trampoline, which the kernel patches; and what the kernel knows a
// trampoline by behind it, as a function of its own.
std::string static_jump_code(const std::string& callee);
std::string static_jump_mark();
// Stands in front of an address that calls seem to return to: a stack trace finds the function by
// the address minus one.
std::string no_op_code();

// Has the function begin with what gives its parameter number `parameter` the value of the result
// register: who has a direct call return elsewhere may have put a result there.
void keep_result(llvm::Function& function, unsigned parameter, const Mitigations& mitigations);

// The registers that a function's result may be in.
struct FunctionResult {
    llvm::Value* low = nullptr;
    llvm::Value* high = nullptr;
};
// Calls code of the kernel's, with the argument registers as given, `result` in the result
// register, and `from` where a dispatch expects it.
FunctionResult call_kernel(llvm::IRBuilderBase& builder, const std::string& callee,
                           std::span<llvm::Value* const> arguments, llvm::Value* result,
                           llvm::Value* from);

// Whether `value` is the address of the kernel's that the assembler reads as `address`, as a bool.
llvm::Value* is_kernel_address(llvm::IRBuilderBase& builder, llvm::Value* value,
                               const std::string& address);

} // namespace djstap::arch
