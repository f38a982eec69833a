// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers that hold locks and need no context: interrupts are disabled from the first lock to the
// last, so that only an NMI can intervene, which finds the lock taken.
#pragma once
#include "arch/codegen.h"
#include "codegen/body.h"

namespace djstap::codegen {

class LockedRun {
  public:
    // The whole handler, or only what it keeps from function entry, which takes no locks.
    enum class Of : uint8_t { Handler, EntryValues };
    LockedRun(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Function* function,
              uint32_t variant, Of part = Of::Handler);

    // Continues with the locks held, or in `skipped` if they cannot be taken (counted).
    void enter(llvm::BasicBlock* skipped);
    // Keeps a run-time error of the body until the locks are released.
    void prepare(Body& body) {
        body.keep_errors(&error_);
        body.has_calls(calls_often_);
    }
    void leave();

  private:
    // A handler that needs one lock takes it itself if it is free.
    void take_lock(llvm::BasicBlock* taken, llvm::BasicBlock* contended);
    void release_lock();
    bool in_line() const { return lock_ || takes_none_; }
    arch::PercpuPlace nesting() const;
    void count_nesting(int64_t change);
    void report(llvm::BasicBlock* done);

    llvm::BasicBlock* block(const char* name) {
        return llvm::BasicBlock::Create(script_.context, name, function_);
    }

    ScriptModule& script_;
    llvm::IRBuilder<>& builder_;
    llvm::Function* function_;
    llvm::Value* handler_;
    // The only lock; null: the runtime takes and releases all.
    llvm::Constant* lock_ = nullptr;
    bool writes_ = false;
    bool takes_none_ = false;
    // What the handler calls may be probed by a handler that holds locks: djs_cpu.locked_alone
    // counts it.
    bool may_be_nested_;
    bool calls_often_;
    // DJS_IRQS_ON: the handler took the lock itself, and releases it; else what the runtime yielded
    // that took it, and releases it.
    llvm::Value* flags_ = nullptr;
    KeptError error_;
};

} // namespace djstap::codegen
