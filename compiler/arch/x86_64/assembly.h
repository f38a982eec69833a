// SPDX-License-Identifier: GPL-2.0-or-later
// A statement of inline assembly.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <string>

namespace djstap::arch::x86_64 {

struct Assembly {
    std::string text;
    std::string constraints; // of results and operands; empty: it has none
    llvm::ArrayRef<llvm::Value*> operands;
    bool is_volatile = true; // it may not be removed, joined or moved across others
    bool clobbers_memory = true;
    bool clobbers_flags = true;
};

llvm::CallInst* emit_assembly(llvm::IRBuilderBase& builder, llvm::Type* result,
                              const Assembly& code);

// The flag that a statement yields as an i8 or i32, as a bool.
llvm::Value* as_bool(llvm::IRBuilderBase& builder, llvm::Value* flag);

} // namespace djstap::arch::x86_64
