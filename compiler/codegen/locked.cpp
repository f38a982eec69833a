// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/locked.h"

#include "codegen/handlers.h"
#include "codegen/lean.h"
#include "codegen/needs.h"
#include "include/script.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/MDBuilder.h>

namespace djstap::codegen {

LockedRun::LockedRun(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Function* function,
                     uint32_t variant, Of part)
    : script_(script), builder_(builder), function_(function),
      handler_(script.handler_address(variant)) {
    const Variant& its = script.plan.variants[variant];
    llvm::IRBuilder<> at_entry(&function->getEntryBlock(), function->getEntryBlock().begin());
    error_.message = at_entry.CreateAlloca(script.types.pointer, nullptr, "message");
    error_.place = at_entry.CreateAlloca(script.types.i32, nullptr, "place");
    const bool can_count = script.kernel.offset && script.kernel.offset("djs_cpu.locked_alone");
    if (part == Of::EntryValues) {
        takes_none_ = true;
        may_be_nested_ = can_count;
        calls_often_ = entry_calls_often(script, its);
        return;
    }
    may_be_nested_ = can_count && may_be_nested(script, its);
    calls_often_ = calls_often(script, its);
    CompiledHandler handler;
    choose_locks(script, variant, handler);
    if (handler.locks.size() == 1 && !script.kernel.user_space) {
        lock_ = script.lock_address(static_cast<uint32_t>(handler.locks[0].first));
        writes_ = handler.locks[0].second;
    }
    takes_none_ = handler.locks.empty() && !script.kernel.user_space;
}

arch::PercpuPlace LockedRun::nesting() const {
    return {.symbol = "djs_cpu", .offset = script_.kernel.offset("djs_cpu.locked_alone")->second};
}

void LockedRun::count_nesting(int64_t change) {
    if (may_be_nested_)
        arch::add_percpu(builder_, nesting(), script_.number(change), true);
}

// As djs_lock_try (runtime/globals/locks.h).
void LockedRun::take_lock(llvm::BasicBlock* taken, llvm::BasicBlock* contended) {
    if (takes_none_) {
        builder_.CreateBr(taken);
        return;
    }
    llvm::MDNode* rarely = llvm::MDBuilder(script_.context).createUnlikelyBranchWeights();
    llvm::Value *free = script_.u32(0), *next = script_.u32(UINT32_MAX);
    if (!writes_) {
        auto* shared = block("shared");
        auto* holders = builder_.CreateAlignedLoad(script_.types.i32, lock_, llvm::Align(4));
        holders->setAtomic(llvm::AtomicOrdering::Monotonic);
        builder_.CreateCondBr(builder_.CreateICmpSLT(holders, script_.u32(0)), contended, shared,
                              rarely);
        builder_.SetInsertPoint(shared);
        free = holders;
        next = builder_.CreateAdd(holders, script_.u32(1));
    }
    llvm::Value* exchange = builder_.CreateAtomicCmpXchg(lock_, free, next, llvm::Align(4),
                                                         llvm::AtomicOrdering::Acquire,
                                                         llvm::AtomicOrdering::Monotonic);
    builder_.CreateCondBr(builder_.CreateExtractValue(exchange, 1), taken, contended,
                          llvm::MDBuilder(script_.context).createLikelyBranchWeights());
}

void LockedRun::release_lock() {
    if (takes_none_)
        return;
    if (writes_)
        builder_.CreateAlignedStore(script_.u32(0), lock_, llvm::Align(4))
            ->setAtomic(llvm::AtomicOrdering::Release);
    else
        builder_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, lock_, script_.u32(UINT32_MAX),
                                 llvm::Align(4), llvm::AtomicOrdering::Release);
}

void LockedRun::enter(llvm::BasicBlock* skipped) {
    llvm::MDNode* rarely = llvm::MDBuilder(script_.context).createUnlikelyBranchWeights();
    error_.reported = block("failed");
    auto* run = block("locked");
    if (!in_line()) {
        flags_ = builder_.CreateCall(script_.runtime("djs_lock_enter"), {handler_}, "flags");
        builder_.CreateCondBr(builder_.CreateICmpEQ(flags_, script_.number(0)), skipped, run,
                              rarely);
        builder_.SetInsertPoint(run);
        count_nesting(1);
        return;
    }
    // As djs_lock_enter, which is called for all that is rare.
    auto *call = block("lock_enter"), *called = block("lock_entered"), *wait = block("lock_wait"),
         *disable = block("disable");
    check_gate(script_, builder_, call,
               DJS_HANDLER_CHECKS_STATE | DJS_HANDLER_MAY_LINGER | DJS_GATE_NO_INLINE_LOCKS);
    if (may_be_nested_) {
        auto* alone = block("alone");
        builder_.CreateCondBr(arch::has_percpu_bits(builder_, UINT32_MAX, nesting()), call, alone,
                              rarely);
        builder_.SetInsertPoint(alone);
    }
    llvm::Value* enabled = arch::enabled_interrupts(builder_);
    builder_.CreateCondBr(builder_.CreateIsNull(enabled), call, disable, rarely);
    builder_.SetInsertPoint(disable);
    arch::disable_interrupts(builder_);
    llvm::BasicBlock* taken = block("taken");
    take_lock(taken, wait);
    builder_.SetInsertPoint(taken);
    builder_.CreateBr(run);
    builder_.SetInsertPoint(call);
    llvm::Value* entered =
        call_slow(script_, builder_, "djs_slow_lock_enter", "djs_lock_enter", {handler_});
    builder_.CreateBr(called);
    builder_.SetInsertPoint(wait);
    llvm::Value* waited =
        call_slow(script_, builder_, "djs_slow_lock_wait", "djs_lock_wait", {handler_});
    builder_.CreateBr(called);
    builder_.SetInsertPoint(called);
    auto* either = builder_.CreatePHI(script_.types.i64, 2);
    either->addIncoming(entered, call);
    either->addIncoming(waited, wait);
    builder_.CreateCondBr(builder_.CreateICmpEQ(either, script_.number(0)), skipped, run);
    builder_.SetInsertPoint(run);
    auto* flags = builder_.CreatePHI(script_.types.i64, 2, "flags");
    flags->addIncoming(script_.number(static_cast<int64_t>(arch::interrupts_enabled())), taken);
    flags->addIncoming(either, called);
    flags_ = flags;
    count_nesting(1);
}

void LockedRun::leave() {
    count_nesting(-1);
    if (!in_line()) {
        builder_.CreateCall(script_.runtime("djs_lock_leave"), {handler_, flags_});
    } else {
        auto *release = block("release"), *call = block("lock_leave"), *left = block("left");
        llvm::Value* enabled = script_.number(static_cast<int64_t>(arch::interrupts_enabled()));
        builder_.CreateCondBr(builder_.CreateICmpEQ(flags_, enabled), release, call,
                              llvm::MDBuilder(script_.context).createLikelyBranchWeights());
        builder_.SetInsertPoint(call);
        call_slow(script_, builder_, "djs_slow_lock_leave", "djs_lock_leave", {handler_, flags_});
        builder_.CreateBr(left);
        builder_.SetInsertPoint(release);
        release_lock();
        arch::enable_interrupts(builder_);
        builder_.CreateBr(left);
        builder_.SetInsertPoint(left);
    }
    auto* done = block("unlocked");
    builder_.CreateBr(done);
    if (llvm::pred_empty(error_.reported))
        error_.reported->eraseFromParent();
    else
        report(done);
    builder_.SetInsertPoint(done);
}

// Apart from the path without an error, which thus has nothing to compare.
void LockedRun::report(llvm::BasicBlock* done) {
    builder_.SetInsertPoint(error_.reported);
    count_nesting(-1);
    call_slow(script_, builder_, "djs_slow_lock_leave", "djs_lock_leave", {handler_, flags_});
    llvm::Value* message = builder_.CreateLoad(script_.types.pointer, error_.message);
    llvm::Value* place = builder_.CreateLoad(script_.types.i32, error_.place);
    if (error_.address) {
        auto *unread = block("unread"), *other = block("other_error");
        builder_.CreateCondBr(builder_.CreateICmpEQ(message, script_.text(unread_message)), unread,
                              other);
        builder_.SetInsertPoint(unread);
        call_slow(script_, builder_, "djs_slow_fail_read", "djs_fail_read_alone",
                  {builder_.CreateLoad(script_.types.i64, error_.address),
                   builder_.CreateLoad(script_.types.i32, error_.size), place});
        builder_.CreateBr(done);
        builder_.SetInsertPoint(other);
    }
    call_slow(script_, builder_, "djs_slow_fail", "djs_fail_alone", {message, place});
    builder_.CreateBr(done);
}

} // namespace djstap::codegen
