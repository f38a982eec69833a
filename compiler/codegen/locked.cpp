// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/locked.h"

#include <llvm/IR/MDBuilder.h>

namespace djstap::codegen {

LockedRun::LockedRun(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Function* function,
                     uint32_t variant)
    : script_(script), builder_(builder), function_(function),
      handler_(script.handler_address(variant)) {
    llvm::IRBuilder<> at_entry(&function->getEntryBlock(), function->getEntryBlock().begin());
    message_ = at_entry.CreateAlloca(script.types.pointer, nullptr, "message");
    place_ = at_entry.CreateAlloca(script.types.i32, nullptr, "place");
}

void LockedRun::enter(llvm::BasicBlock* skipped) {
    builder_.CreateStore(script_.null(), message_);
    builder_.CreateStore(script_.u32(0), place_);
    flags_ = builder_.CreateCall(script_.runtime("djs_lock_enter"), {handler_}, "flags");
    auto* run = block("locked");
    builder_.CreateCondBr(builder_.CreateICmpEQ(flags_, script_.number(0)), skipped, run,
                          llvm::MDBuilder(script_.context).createUnlikelyBranchWeights());
    builder_.SetInsertPoint(run);
}

void LockedRun::leave() {
    builder_.CreateCall(script_.runtime("djs_lock_leave"), {handler_, flags_});
    llvm::Value* message = builder_.CreateLoad(script_.types.pointer, message_);
    auto *failed = block("failed"), *done = block("unlocked");
    builder_.CreateCondBr(builder_.CreateIsNotNull(message), failed, done,
                          llvm::MDBuilder(script_.context).createUnlikelyBranchWeights());
    builder_.SetInsertPoint(failed);
    builder_.CreateCall(script_.runtime("djs_fail_alone"),
                        {message, builder_.CreateLoad(script_.types.i32, place_)});
    builder_.CreateBr(done);
    builder_.SetInsertPoint(done);
}

} // namespace djstap::codegen
