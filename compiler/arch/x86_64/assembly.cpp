// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/x86_64/assembly.h"

#include "arch/codegen.h"

#include <llvm/IR/InlineAsm.h>

#include <array>
#include <cassert>
#include <vector>

namespace djstap::arch {

llvm::CallInst* x86_64::emit_assembly(llvm::IRBuilderBase& builder, llvm::Type* result,
                                      const Assembly& code) {
    std::vector<llvm::Type*> parameters;
    for (llvm::Value* operand : code.operands)
        parameters.push_back(operand->getType());
    std::string constraints = code.constraints;
    auto add = [&](const char* clobbers) {
        constraints += (constraints.empty() ? "" : ",") + std::string(clobbers);
    };
    if (code.clobbers_memory)
        add("~{memory}");
    if (code.clobbers_flags)
        add("~{dirflag},~{fpsr},~{flags}");
    auto* type = llvm::FunctionType::get(result, parameters, false);
    return builder.CreateCall(
        type, llvm::InlineAsm::get(type, code.text, constraints, code.is_volatile), code.operands);
}

std::string x86_64::in_registers(std::string results, size_t count) {
    for (size_t i = 0; i < count; i++)
        results += results.empty() ? "r" : ",r";
    return results;
}

llvm::Value* x86_64::as_bool(llvm::IRBuilderBase& builder, llvm::Value* flag) {
    return builder.CreateICmpNE(flag, llvm::ConstantInt::get(flag->getType(), 0));
}

using x86_64::as_bool;
using x86_64::emit_assembly;
using x86_64::in_registers;

void emit_nothing(llvm::IRBuilderBase& builder) {
    llvm::CallInst* nothing =
        emit_assembly(builder, builder.getVoidTy(), {"", "", {}, true, false, false});
    nothing->setOnlyAccessesInaccessibleMemory();
    nothing->setDoesNotThrow();
    nothing->addFnAttr(llvm::Attribute::WillReturn);
}

llvm::Value* read_clock(llvm::IRBuilderBase& builder) {
    llvm::Type* half = builder.getInt32Ty();
    return emit_assembly(builder, llvm::StructType::get(half, half), {"rdtsc", "={ax},={dx}", {}});
}

void store_clock(llvm::IRBuilderBase& builder, llvm::Value* time, llvm::Value* address) {
    builder.CreateStore(builder.CreateExtractValue(time, 0), address);
    builder.CreateStore(builder.CreateExtractValue(time, 1),
                        builder.CreateConstGEP1_32(builder.getInt8Ty(), address, 4));
}

llvm::Value* read_clock_in_order(llvm::IRBuilderBase& builder) {
    llvm::Type* whole = builder.getInt64Ty(); // rdtsc clears the upper halves of both registers
    llvm::Value* halves = emit_assembly(builder, llvm::StructType::get(whole, whole),
                                        {"lfence\n\trdtsc", "={ax},={dx}", {}});
    return builder.CreateOr(builder.CreateExtractValue(halves, 0),
                            builder.CreateShl(builder.CreateExtractValue(halves, 1), 32));
}

llvm::Value* has_zero_stack_bits(llvm::IRBuilderBase& builder, uint32_t bits) {
    return as_bool(
        builder,
        emit_assembly(builder, builder.getInt32Ty(),
                      {"testl $$" + std::to_string(bits) + ", %esp", "={@ccz}", {}, true, false}));
}

uint64_t interrupts_enabled() {
    return 0x200; // X86_EFLAGS_IF
}

llvm::Value* enabled_interrupts(llvm::IRBuilderBase& builder) {
    llvm::Value* flags = emit_assembly(builder, builder.getInt64Ty(),
                                       {"pushfq\n\tpopq $0", "=r", {}, true, true, false});
    return builder.CreateAnd(flags, builder.getInt64(interrupts_enabled()));
}

void disable_interrupts(llvm::IRBuilderBase& builder) {
    emit_assembly(builder, builder.getVoidTy(), {"cli", "", {}});
}

void enable_interrupts(llvm::IRBuilderBase& builder) {
    emit_assembly(builder, builder.getVoidTy(), {"sti", "", {}});
}

namespace {

// Returns a call that preserves all registers but r11, and executes `result` before it restores
// them. `operands` receives what the code uses, numbered from `first`.
std::string rare_call(const std::string& function, std::initializer_list<RareArgument> arguments,
                      const char* result, size_t first, std::vector<llvm::Value*>& operands) {
    // Those that a function of the C language may change, except r11.
    static constexpr std::array changed{"rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10"};
    static constexpr std::array passed{"rdi", "rsi", "rdx", "rcx"};
    assert(arguments.size() <= passed.size());
    std::string text;
    auto line = [&text](const std::string& code) { text += (text.empty() ? "" : "\n\t") + code; };
    for (const char* name : changed)
        line(std::string("pushq %") + name);
    for (const RareArgument& argument : arguments) {
        // A constant needs no register.
        if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(argument.value);
            constant && constant->getValue().isSignedIntN(32) &&
            llvm::isInt<32>(constant->getSExtValue() + argument.addend)) {
            line("pushq $$" + std::to_string(constant->getSExtValue() + argument.addend));
            continue;
        }
        line("pushq $" + std::to_string(first + operands.size()));
        operands.push_back(argument.value);
        if (argument.addend)
            line("addq $$" + std::to_string(argument.addend) + ", (%rsp)");
    }
    for (size_t i = arguments.size(); i-- > 0;)
        line(std::string("popq %") + passed[i]);
    line("call " + function);
    if (*result)
        line(result);
    for (size_t i = changed.size(); i-- > 0;)
        line(std::string("popq %") + changed[i]);
    return text;
}

} // namespace

void call_rarely(llvm::IRBuilderBase& builder, const std::string& function,
                 std::initializer_list<RareArgument> arguments) {
    std::vector<llvm::Value*> operands;
    const std::string text = rare_call(function, arguments, "", 0, operands);
    emit_assembly(builder, builder.getVoidTy(),
                  {text,
                   in_registers("", operands.size()) + (operands.empty() ? "" : ",") + "~{r11}",
                   operands});
}

llvm::Value* ask_rarely(llvm::IRBuilderBase& builder, const std::string& function,
                        std::initializer_list<RareArgument> arguments, const SignBranches& next) {
    std::vector<llvm::Value*> operands;
    std::string text =
        rare_call(function, arguments, "movq %rax, %r11\n\ttestq %rdx, %rdx", 1, operands);
    // The jumps are part of the statement: LLVM keeps a register for each flag that one returns.
    const size_t labels = 1 + operands.size();
    text +=
        "\n\tjs ${" + std::to_string(labels) + ":l}\n\tjne ${" + std::to_string(labels + 1) + ":l}";
    const std::string constraints =
        in_registers("={r11}", operands.size()) + ",!i,!i,~{memory},~{dirflag},~{fpsr},~{flags}";
    std::vector<llvm::Type*> parameters(operands.size(), builder.getInt64Ty());
    auto* type = llvm::FunctionType::get(builder.getInt64Ty(), parameters, false);
    return builder.CreateCallBr(type, llvm::InlineAsm::get(type, text, constraints, true),
                                next.if_zero, {next.if_below, next.if_above}, operands);
}

void branch_rarely(llvm::IRBuilderBase& builder, const std::string& function,
                   std::initializer_list<RareArgument> arguments, llvm::BasicBlock* if_zero,
                   llvm::BasicBlock* otherwise) {
    std::vector<llvm::Value*> operands;
    std::string text = rare_call(function, arguments, "testl %eax, %eax", 0, operands);
    text += "\n\tjne ${" + std::to_string(operands.size()) + ":l}";
    const std::string constraints = in_registers("", operands.size()) +
                                    (operands.empty() ? "" : ",") +
                                    "!i,~{r11},~{memory},~{dirflag},~{fpsr},~{flags}";
    std::vector<llvm::Type*> parameters(operands.size(), builder.getInt64Ty());
    auto* type = llvm::FunctionType::get(builder.getVoidTy(), parameters, false);
    builder.CreateCallBr(type, llvm::InlineAsm::get(type, text, constraints, true), if_zero,
                         {otherwise}, operands);
}

} // namespace djstap::arch
