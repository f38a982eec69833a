// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers that hold locks and need no context: interrupts are off from the first lock to the last,
// so that nothing but an NMI comes between, and that finds the lock taken.
#pragma once
#include "codegen/body.h"

namespace djstap::codegen {

class LockedRun {
  public:
    LockedRun(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Function* function,
              uint32_t variant);

    // Goes on with the locks taken, or to `skipped` where they are not to be had (counted).
    void enter(llvm::BasicBlock* skipped);
    // Has a run-time error of the body kept until the locks are free.
    void keep_errors_of(Body& body) { body.keep_errors(message_, place_); }
    void leave();

  private:
    llvm::BasicBlock* block(const char* name) {
        return llvm::BasicBlock::Create(script_.context, name, function_);
    }

    ScriptModule& script_;
    llvm::IRBuilder<>& builder_;
    llvm::Function* function_;
    llvm::Value* handler_;
    llvm::Value* flags_ = nullptr; // of the processor, as they were before
    llvm::AllocaInst *message_ = nullptr, *place_ = nullptr;
};

} // namespace djstap::codegen
