// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/locked.h"

#include <llvm/IR/MDBuilder.h>

namespace djstap::codegen {

LockedRun::LockedRun(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Function* function,
                     uint32_t variant)
    : script_(script), builder_(builder), function_(function),
      handler_(script.handler_address(variant)) {
    llvm::IRBuilder<> at_entry(&function->getEntryBlock(), function->getEntryBlock().begin());
    error_.message = at_entry.CreateAlloca(script.types.pointer, nullptr, "message");
    error_.place = at_entry.CreateAlloca(script.types.i32, nullptr, "place");
}

void LockedRun::enter(llvm::BasicBlock* skipped) {
    builder_.CreateStore(script_.null(), error_.message);
    builder_.CreateStore(script_.u32(0), error_.place);
    flags_ = builder_.CreateCall(script_.runtime("djs_lock_enter"), {handler_}, "flags");
    auto* run = block("locked");
    builder_.CreateCondBr(builder_.CreateICmpEQ(flags_, script_.number(0)), skipped, run,
                          llvm::MDBuilder(script_.context).createUnlikelyBranchWeights());
    builder_.SetInsertPoint(run);
}

void LockedRun::leave() {
    builder_.CreateCall(script_.runtime("djs_lock_leave"), {handler_, flags_});
    llvm::Value* message = builder_.CreateLoad(script_.types.pointer, error_.message);
    auto *failed = block("failed"), *done = block("unlocked");
    builder_.CreateCondBr(builder_.CreateIsNotNull(message), failed, done,
                          llvm::MDBuilder(script_.context).createUnlikelyBranchWeights());
    builder_.SetInsertPoint(failed);
    llvm::Value* place = builder_.CreateLoad(script_.types.i32, error_.place);
    if (error_.address) {
        auto *unread = block("unread"), *other = block("other_error");
        builder_.CreateCondBr(builder_.CreateICmpEQ(message, script_.text(unread_message)), unread,
                              other);
        builder_.SetInsertPoint(unread);
        builder_.CreateCall(script_.runtime("djs_fail_read_alone"),
                            {builder_.CreateLoad(script_.types.i64, error_.address),
                             builder_.CreateLoad(script_.types.i32, error_.size), place});
        builder_.CreateBr(done);
        builder_.SetInsertPoint(other);
    }
    builder_.CreateCall(script_.runtime("djs_fail_alone"), {message, place});
    builder_.CreateBr(done);
    builder_.SetInsertPoint(done);
}

} // namespace djstap::codegen
