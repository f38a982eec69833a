// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/codegen.h"

namespace djstap::arch {

std::unique_ptr<llvm::TargetMachine> make_target_machine(int, bool) {
    return nullptr;
}

void prepare_module(llvm::Module&, const Mitigations&, bool) {}

void prepare_function(llvm::Function&, const Mitigations&) {}

uint64_t further_in_assembly(const llvm::Function&) {
    return 0;
}

void emit_nothing(llvm::IRBuilderBase&) {}

llvm::Value* read_clock(llvm::IRBuilderBase&) {
    return nullptr;
}

void store_clock(llvm::IRBuilderBase&, llvm::Value*, llvm::Value*) {}

llvm::Value* read_clock_in_order(llvm::IRBuilderBase&) {
    return nullptr;
}

llvm::Value* has_zero_stack_bits(llvm::IRBuilderBase&, uint32_t) {
    return nullptr;
}

llvm::Value* allows_guarded_load(llvm::IRBuilderBase&, llvm::Value*) {
    return nullptr;
}

llvm::Value* in_process_half(llvm::IRBuilderBase&, llvm::Value* address) {
    return address;
}

llvm::Value* process_load(llvm::IRBuilderBase&, const ProcessMemory&, llvm::Value*, int64_t,
                          unsigned, bool, llvm::BasicBlock*, llvm::BasicBlock*) {
    return nullptr;
}

void end_process_load(llvm::IRBuilderBase&, const ProcessMemory&) {}

GuardedLoad guarded_load(llvm::IRBuilderBase&, llvm::Value*, int64_t, unsigned, bool,
                         llvm::BasicBlock*, llvm::BasicBlock*) {
    return {};
}

void call_rarely(llvm::IRBuilderBase&, const std::string&, std::initializer_list<RareArgument>) {}

llvm::Value* ask_rarely(llvm::IRBuilderBase&, const std::string&,
                        std::initializer_list<RareArgument>, const SignBranches&) {
    return nullptr;
}

void branch_rarely(llvm::IRBuilderBase&, const std::string&, std::initializer_list<RareArgument>,
                   llvm::BasicBlock*, llvm::BasicBlock*) {}

llvm::Value* load_percpu_constant(llvm::IRBuilderBase&, llvm::Type*, const PercpuPlace&) {
    return nullptr;
}

llvm::Value* load_percpu(llvm::IRBuilderBase&, const PercpuPlace&) {
    return nullptr;
}

void add_percpu(llvm::IRBuilderBase&, const PercpuPlace&, llvm::Value*, bool) {}

llvm::Value* compare_percpu(llvm::IRBuilderBase&, llvm::CmpInst::Predicate, llvm::Value*,
                            const PercpuPlace&) {
    return nullptr;
}

llvm::Value* has_percpu_bits(llvm::IRBuilderBase&, uint32_t, const PercpuPlace&) {
    return nullptr;
}

void replace_percpu_extreme(llvm::IRBuilderBase&, llvm::CmpInst::Predicate, llvm::Value*,
                            const PercpuPlace&) {}

Exchange exchange_percpu(llvm::IRBuilderBase&, const PercpuPlace&, llvm::Value*, llvm::Value*) {
    return {};
}

llvm::Value* wrap_percpu(llvm::IRBuilderBase&, llvm::Value*, const PercpuPlace&,
                         const PercpuPlace&) {
    return nullptr;
}

void disable_preemption(llvm::IRBuilderBase&, const PercpuPlace&, unsigned) {}

llvm::Value* enable_preemption(llvm::IRBuilderBase&, const PercpuPlace&, unsigned) {
    return nullptr;
}

llvm::Value* enabled_interrupts(llvm::IRBuilderBase&) {
    return nullptr;
}

uint64_t interrupts_enabled() {
    return 0;
}

void disable_interrupts(llvm::IRBuilderBase&) {}

void enable_interrupts(llvm::IRBuilderBase&) {}

std::string landing_pad_code(const Mitigations&) {
    return {};
}

std::string return_code(const Mitigations&) {
    return {};
}

std::string resume_code(const Mitigations&) {
    return {};
}

std::string go_on_code(const Mitigations&) {
    return {};
}

std::string go_on_at_code(const std::string&, const std::string&) {
    return {};
}

std::string branch_if_not_below_code(const std::string&, const std::string&) {
    return {};
}

std::string static_jump_code(const std::string&) {
    return {};
}

std::string static_jump_mark() {
    return {};
}

std::string no_op_code() {
    return {};
}

void keep_result(llvm::Function&, unsigned, const Mitigations&) {}

FunctionResult call_kernel(llvm::IRBuilderBase&, const std::string&, std::span<llvm::Value* const>,
                           llvm::Value*, llvm::Value*) {
    return {};
}

llvm::Value* is_kernel_address(llvm::IRBuilderBase&, llvm::Value*, const std::string&) {
    return nullptr;
}

} // namespace djstap::arch
