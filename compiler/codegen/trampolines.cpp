// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/trampolines.h"

#include "arch/arch.h"
#include "arch/codegen.h"
#include "codegen/callers.h"
#include "codegen/continuation.h"
#include "codegen/lean.h"
#include "codegen/needs.h"
#include "codegen/trampoline_compiler.h"

#include <llvm/IR/Intrinsics.h>

#include <array>

namespace djstap::codegen {

namespace {

// A task's stack (THREAD_SIZE), and how much of it a trampoline with return handlers leaves free: a
// power of two, so that one instruction can check it.
constexpr uint32_t stack_bytes = 16384, stack_kept = 4096;

} // namespace

CompiledTrampoline TrampolineCompiler::compile() {
    bool returns = script_.plan.trampolines[index_].returns(script_.plan);
    std::vector<llvm::Type*> parameters(argument_registers().size(), script_.types.i64);
    auto* type = returns ? Continuation::trampoline_type(script_)
                         : llvm::FunctionType::get(script_.types.void_type, parameters, false);
    function_ = script_.create_function(type, "djs_direct_" + std::to_string(index_));
    // Saves only the registers that it uses, so that the fentry site can call it without a
    // stub. With return handlers it replaces the function, and may change what that may change.
    if (returns)
        Continuation::keep_result(script_, function_);
    else
        function_->setCallingConv(llvm::CallingConv::PreserveMost);
    builder_.SetInsertPoint(block("entry"));
    script_.set_attributes(function_);
    if (returns)
        ask_for_stack();
    run_handlers(HandlerKind::Entry);
    if (!returns) {
        builder_.CreateRetVoid();
        return {function_, nullptr, nullptr, std::move(calls_), std::move(parts_), by_address_};
    }
    for (uint32_t number : variants_)
        save_entry_values(number);
    Continuation continuation(script_, builder_, function_, index_);
    FunctionResult results = continuation.call();
    return_value_ = results.low;
    if (std::any_of(variants_.begin(), variants_.end(), [this](uint32_t number) {
            return sets_return_value(script_.plan.variants[number]);
        })) {
        changed_result_ = entry_alloca(script_.types.i64);
        builder_.CreateStore(return_value_, changed_result_);
    }
    run_handlers(HandlerKind::Return);
    if (changed_result_)
        results.low = load_result();
    continuation.leave(results);
    return {function_,         continuation.dispatch(), continuation.aim(),
            std::move(calls_), std::move(parts_),       by_address_};
}

void TrampolineCompiler::run_handlers(HandlerKind kind) {
    std::vector<uint32_t> variants;
    for (uint32_t number : variants_)
        if (script_.plan.variants[number].kind == kind)
            variants.push_back(number);
    auto needs = [&](size_t i) { return needs_of(script_, script_.plan.variants[variants[i]]); };
    auto has_callers = [&](size_t of) {
        return !script_.plan.variants[variants[of]].callers.frames.empty();
    };
    for (size_t i = 0; i < variants.size();) {
        if (changed_result_)
            return_value_ = load_result();
        auto* others = has_callers(i) ? block("others") : nullptr;
        check_callers(script_, builder_, script_.plan.variants[variants[i]],
                      {[this](PtReg reg) { return value_of(reg); }}, others);
        if (needs(i) == Needs::Context) {
            run_with_context(variants[i++]);
        } else if (needs(i) == Needs::Nothing) {
            run_lean(variants[i++], nullptr);
        } else if (needs(i) == Needs::Locks) {
            auto* done = block("done");
            check_saved(variants[i], done); // else a hit may be counted as skipped twice
            LockedRun locked(script_, builder_, function_, variants[i]);
            locked.enter(done);
            run_lean(variants[i++], &locked);
            locked.leave();
            builder_.CreateBr(done);
            builder_.SetInsertPoint(done);
        } else {
            // Disables preemption once for as many consecutive handlers as need it.
            LeanRecorder recorder(script_, builder_, function_);
            auto* done = block("done");
            recorder.enter(done);
            // An error closes the gate, so the next handler must check it.
            auto can_fail = [&](size_t of) {
                return script_.plan.variants[variants[of]].probe->effects.can_fail;
            };
            do
                run_lean(variants[i++], nullptr);
            while (i < variants.size() && needs(i) == Needs::Preemption && !can_fail(i - 1) &&
                   !others && !has_callers(i));
            recorder.leave();
            builder_.CreateBr(done);
            builder_.SetInsertPoint(done);
        }
        if (others) {
            builder_.CreateBr(others);
            builder_.SetInsertPoint(others);
        }
    }
}

void TrampolineCompiler::ask_for_stack() {
    auto *ask = block("ask"), *resume = block("resume"), *enough = block("enough");
    if (has_large_frame() || !knows_interrupts(script_)) {
        builder_.CreateBr(ask);
    } else {
        auto* task = block("task");
        llvm::Value* low = arch::has_zero_stack_bits(builder_, stack_bytes - stack_kept);
        builder_.CreateCondBr(low, ask, task, rarely());
        builder_.SetInsertPoint(task);
        builder_.CreateCondBr(is_in_interrupt(script_, builder_), ask, enough, rarely());
    }
    builder_.SetInsertPoint(ask);
    if (script_.makes_code_once) {
        llvm::Value* lacks = call_slow(script_, builder_, "djs_slow_ask_stack", "djs_lacks_stack",
                                       {script_.u32(stack_kept)});
        builder_.CreateCondBr(builder_.CreateIsNull(lacks), enough, resume);
    } else {
        arch::branch_rarely(builder_, "djs_lacks_stack", {{script_.u32(stack_kept)}}, enough,
                            resume);
    }
    builder_.SetInsertPoint(resume);
    llvm::Function* leave = resume_function(script_, function_->getFunctionType());
    std::vector<llvm::Value*> arguments;
    for (llvm::Argument& argument : function_->args())
        arguments.push_back(&argument);
    llvm::CallInst* call = builder_.CreateCall(leave, arguments);
    call->addParamAttr(Continuation::entry_result, llvm::Attribute::Nest);
    call->setTailCallKind(llvm::CallInst::TCK_MustTail);
    builder_.CreateRet(call);
    builder_.SetInsertPoint(enough);
}

bool TrampolineCompiler::has_large_frame() const {
    size_t words = 0;
    for (uint32_t number : variants_) {
        const Variant& variant = script_.plan.variants[number];
        if (needs_of(script_, variant) == Needs::Context)
            return true;
        if (variant.kind == HandlerKind::Return)
            words += variant.probe->entry_values.size();
    }
    return words > 3;
}

void TrampolineCompiler::save_entry_values(uint32_t number) {
    const Variant& variant = script_.plan.variants[number];
    const auto& values = variant.probe->entry_values;
    if (variant.kind != HandlerKind::Return || values.empty())
        return;
    Saved& saved = saved_[number];
    const Needs needs = needs_of_entry_values(script_, variant);
    saved.checked = needs != Needs::Nothing;
    saved.values =
        entry_alloca(llvm::ArrayType::get(script_.types.i64, values.size() + saved.checked));
    if (!saved.checked) {
        Body body(script_, function_, builder_, nullptr, nullptr, variant.probe->locals,
                  hit_of(number));
        body.emit_entry_values(*variant.probe);
        return;
    }
    builder_.CreateStore(script_.number(0), valid_word(number));
    if (needs == Needs::Locks) {
        auto* done = block("saved");
        LockedRun run(script_, builder_, function_, number, LockedRun::Of::EntryValues);
        run.enter(done);
        Body body(script_, function_, builder_, nullptr, nullptr, variant.probe->locals,
                  hit_of(number));
        run.prepare(body);
        body.emit_entry_values(*variant.probe);
        builder_.CreateStore(script_.number(1), valid_word(number));
        run.leave();
        builder_.CreateBr(done);
        builder_.SetInsertPoint(done);
        return;
    }
    with_context(number, [&](Body& body, llvm::Value* ctx) {
        body.emit_entry_values(*variant.probe);
        llvm::Value* error =
            builder_.CreateLoad(script_.types.pointer, field(ctx, offsetof(djs_ctx, error)));
        builder_.CreateStore(builder_.CreateZExt(builder_.CreateIsNull(error), script_.types.i64),
                             valid_word(number));
    });
}

llvm::Value* TrampolineCompiler::valid_word(uint32_t number) {
    const size_t count = script_.plan.variants[number].probe->entry_values.size();
    return builder_.CreateConstGEP1_32(script_.types.i64, saved_[number].values,
                                       static_cast<unsigned>(count));
}

void TrampolineCompiler::check_saved(uint32_t number, llvm::BasicBlock* missing) {
    if (!saved_[number].checked)
        return;
    auto* there = block("saved");
    llvm::Value* valid = builder_.CreateLoad(script_.types.i64, valid_word(number));
    builder_.CreateCondBr(builder_.CreateIsNotNull(valid), there, missing);
    builder_.SetInsertPoint(there);
}

llvm::Value* TrampolineCompiler::load_result() {
    return builder_.CreateLoad(script_.types.i64, changed_result_, "result");
}

llvm::AllocaInst* TrampolineCompiler::entry_alloca(llvm::Type* type) {
    llvm::BasicBlock& entry = function_->getEntryBlock();
    return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type, nullptr, "saved");
}

HitContext TrampolineCompiler::hit_of(uint32_t number) {
    const Variant& variant = script_.plan.variants[number];
    HitContext hit;
    hit.reg = [this](PtReg reg) -> llvm::Value* { return value_of(reg); };
    hit.kernel_registers = return_value_ ? KernelRegisters::Gone : KernelRegisters::Seen;
    hit.return_value = [this] {
        return return_value_ ? return_value_ : static_cast<llvm::Value*>(script_.number(0));
    };
    if (!is_return_trampoline())
        hit.frame = [this] { return callers_frame(); };
    hit.accesses = &variant.accesses;
    hit.defined = &variant.defined;
    hit.entry_values = &variant.probe->entry_values;
    hit.function = script_.only_function(number);
    hit.saved = saved_[number].values;
    if (script_.records(DJS_EVENT_PROBE))
        hit.site_number = site_number_of(number);
    return hit;
}

llvm::Value* TrampolineCompiler::value_of(PtReg reg) {
    for (size_t i = 0; i < argument_registers().size(); i++)
        if (argument_registers()[i] == reg)
            return function_->getArg(static_cast<unsigned>(i));
    // The stack at function entry: above the return address of the direct call.
    if (reg == arch::stack_pointer() && part_stack_)
        return part_stack_;
    if (reg == arch::stack_pointer()) {
        auto* slot = builder_.CreateIntrinsic(llvm::Intrinsic::addressofreturnaddress,
                                              {script_.types.pointer}, {});
        return builder_.CreateAdd(
            builder_.CreatePtrToInt(slot, script_.types.i64),
            script_.number(static_cast<int64_t>(arch::return_address_bytes()) +
                           script_.kernel.stub_bytes));
    }
    return script_.number(0);
}

llvm::Value* TrampolineCompiler::callers_frame() {
    if (part_frame_)
        return part_frame_;
    llvm::Value* frame = builder_.CreateIntrinsic(llvm::Intrinsic::frameaddress,
                                                  {script_.types.pointer}, {script_.u32(0)});
    return builder_.CreateLoad(script_.types.i64, frame);
}

llvm::Value* TrampolineCompiler::return_address() {
    if (part_address_)
        return part_address_;
    auto* from = builder_.CreateIntrinsic(llvm::Intrinsic::returnaddress, {}, {script_.u32(0)});
    return builder_.CreatePtrToInt(from, script_.types.i64);
}

void TrampolineCompiler::run_lean(uint32_t number, LockedRun* locked) {
    const Variant& variant = script_.plan.variants[number];
    auto *start = block("handler"), *next = block("next_handler");
    if (!locked)
        check_saved(number, next);
    if (needs_of(script_, variant) == Needs::Nothing && variant.probe->effects.can_fail)
        check_gate(script_, builder_, next);
    if (may_fault(variant))
        check_stack(script_, builder_, next);
    builder_.CreateBr(start);
    builder_.SetInsertPoint(start);
    Body body(script_, function_, builder_, nullptr, nullptr, variant.probe->locals,
              hit_of(number));
    if (locked)
        locked->prepare(body);
    body.emit_probe(*variant.probe);
    bound_lifetimes(start, body.slots());
    builder_.CreateBr(next);
    builder_.SetInsertPoint(next);
}

CompiledTrampoline compile_trampoline(ScriptModule& script, uint32_t trampoline,
                                      uint32_t& scratch) {
    return TrampolineCompiler(script, trampoline, scratch).compile();
}

} // namespace djstap::codegen
