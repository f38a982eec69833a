// SPDX-License-Identifier: GPL-2.0-or-later
// Checks that a callee was called by the functions that its probe point names.
#pragma once
#include "codegen/script_module.h"

#include <functional>

namespace djstap::codegen {

// How a handler finds the first return address: on the stack, at a register's value, or in the
// register that holds the address of the hit, if a return is hit and its address no longer on the
// stack.
struct ReturnAddresses {
    std::function<llvm::Value*(PtReg)> reg;
    bool returned = false;
    llvm::Value* ctx = nullptr; // the hit's context; a hit in a program needs it
};

// Jumps to `others` if the variant's hits must have certain callers and this one does not;
// otherwise continues, in a new block if there is a check.
void check_callers(ScriptModule& script, llvm::IRBuilder<>& builder, const Variant& variant,
                   const ReturnAddresses& addresses, llvm::BasicBlock* others);

} // namespace djstap::codegen
