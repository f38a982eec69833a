// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/x86_64/assembly.h"

#include "arch/codegen.h"

#include <llvm/IR/InlineAsm.h>

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

llvm::Value* x86_64::as_bool(llvm::IRBuilderBase& builder, llvm::Value* flag) {
    return builder.CreateICmpNE(flag, llvm::ConstantInt::get(flag->getType(), 0));
}

using x86_64::as_bool;
using x86_64::emit_assembly;

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

llvm::Value* has_zero_stack_bits(llvm::IRBuilderBase& builder, uint32_t bits) {
    return as_bool(
        builder,
        emit_assembly(builder, builder.getInt32Ty(),
                      {"testl $$" + std::to_string(bits) + ", %esp", "={@ccz}", {}, true, false}));
}

} // namespace djstap::arch
