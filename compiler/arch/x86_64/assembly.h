// SPDX-License-Identifier: GPL-2.0-or-later
// An inline assembly statement.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <string>

namespace djstap::arch::x86_64 {

struct Assembly {
    std::string text;
    std::string constraints; // constraints of results and operands; empty: none
    llvm::ArrayRef<llvm::Value*> operands;
    bool is_volatile = true; // it may not be removed, merged or moved across others
    bool clobbers_memory = true;
    bool clobbers_flags = true;
};

llvm::CallInst* emit_assembly(llvm::IRBuilderBase& builder, llvm::Type* result,
                              const Assembly& code);

// Returns the constraints `results`, followed by "r" for each of `count` operands.
std::string in_registers(std::string results, size_t count);

// Converts the flag that a statement returns as an i8 or i32 to a bool.
llvm::Value* as_bool(llvm::IRBuilderBase& builder, llvm::Value* flag);

} // namespace djstap::arch::x86_64
