// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/trampolines.h"

#include "arch/arch.h"
#include "arch/codegen.h"
#include "codegen/body.h"
#include "codegen/callers.h"
#include "codegen/continuation.h"
#include "codegen/depth.h"
#include "codegen/lean.h"
#include "codegen/locked.h"
#include "codegen/needs.h"
#include "codegen/stacks.h"
#include "include/script.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

namespace djstap::codegen {

namespace {

// Returns whether a handler needs to know which of several sites was hit.
bool asks_for_site(const ScriptModule& script, uint32_t variant) {
    return (script.records(DJS_EVENT_PROBE) &&
            script.plan.variants[variant].probe->effects.prints) ||
           std::any_of(script.program.functions.begin(), script.program.functions.end(),
                       [](const auto& function) { return function->site; });
}

// long_arg() reads registers by number, and may be called through functions: in a script that uses
// it, the argument registers, the stack pointer and the address are stored as a pt_regs.
bool asks_for_registers(const ScriptModule& script) {
    return std::any_of(script.program.functions.begin(), script.program.functions.end(),
                       [](const auto& function) { return function->arguments; });
}

bool takes_stacks(const ScriptModule& script) {
    return std::any_of(script.program.functions.begin(), script.program.functions.end(),
                       [](const auto& function) { return walks_stack(function->intrinsic); });
}

// A task's stack (THREAD_SIZE), and how much of it a trampoline with return handlers leaves free: a
// power of two, so that one instruction can check it.
constexpr uint32_t stack_bytes = 16384, stack_kept = 4096;

class TrampolineCompiler {
  public:
    TrampolineCompiler(ScriptModule& script, uint32_t index, uint32_t& scratch)
        : script_(script), index_(index), variants_(script.plan.trampolines[index].variants),
          scratch_(scratch), builder_(script.context) {}

    CompiledTrampoline compile() {
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
        run_handlers(HandlerKind::Return);
        results.low = return_value_; // a handler may have changed it
        continuation.leave(results);
        return {function_,         continuation.dispatch(), continuation.aim(),
                std::move(calls_), std::move(parts_),       by_address_};
    }

  private:
    llvm::BasicBlock* block(const char* name) {
        return llvm::BasicBlock::Create(script_.context, name, function_);
    }

    // Runs all handlers of this kind, one after the other.
    void run_handlers(HandlerKind kind) {
        std::vector<uint32_t> variants;
        for (uint32_t number : variants_)
            if (script_.plan.variants[number].kind == kind)
                variants.push_back(number);
        auto needs = [&](size_t i) {
            return needs_of(script_, script_.plan.variants[variants[i]]);
        };
        auto has_callers = [&](size_t of) {
            return !script_.plan.variants[variants[of]].callers.frames.empty();
        };
        for (size_t i = 0; i < variants.size();) {
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

    // The frame of a trampoline with return handlers stays while the function runs, and those of
    // nested ones add up: if a task has used three quarters of its stack, the trampoline only
    // continues in the function, with its original arguments. An interrupt's stack begins at any
    // address, so the fast check for a task's stack does not apply to it: a trampoline with a
    // larger frame always uses the full check.
    void ask_for_stack() {
        auto *ask = block("ask"), *resume = block("resume"), *enough = block("enough");
        if (has_large_frame()) {
            builder_.CreateBr(ask);
        } else {
            llvm::Value* low = arch::has_zero_stack_bits(builder_, stack_bytes - stack_kept);
            builder_.CreateCondBr(low, ask, enough, rarely());
        }
        builder_.SetInsertPoint(ask);
        arch::branch_rarely(builder_, "djs_lacks_stack", {{script_.u32(stack_kept)}}, enough,
                            resume);
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

    bool has_large_frame() const {
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

    llvm::MDNode* rarely() { return llvm::MDBuilder(script_.context).createBranchWeights(1, 2000); }

    // What a return probe keeps from function entry is in the trampoline's own frame.
    struct Saved {
        llvm::Value* values = nullptr;
        bool checked = false; // the word after them says whether they are valid
    };

    void save_entry_values(uint32_t number) {
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
            body.emit_entry_values(values);
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
            body.emit_entry_values(values);
            builder_.CreateStore(script_.number(1), valid_word(number));
            run.leave();
            builder_.CreateBr(done);
            builder_.SetInsertPoint(done);
            return;
        }
        with_context(number, [&](Body& body, llvm::Value* ctx) {
            body.emit_entry_values(values);
            llvm::Value* error =
                builder_.CreateLoad(script_.types.pointer, field(ctx, offsetof(djs_ctx, error)));
            builder_.CreateStore(
                builder_.CreateZExt(builder_.CreateIsNull(error), script_.types.i64),
                valid_word(number));
        });
    }

    llvm::Value* valid_word(uint32_t number) {
        const size_t count = script_.plan.variants[number].probe->entry_values.size();
        return builder_.CreateConstGEP1_32(script_.types.i64, saved_[number].values,
                                           static_cast<unsigned>(count));
    }

    // Continues in a new block if the entry's values are valid; otherwise in `missing`.
    void check_saved(uint32_t number, llvm::BasicBlock* missing) {
        if (!saved_[number].checked)
            return;
        auto* there = block("saved");
        llvm::Value* valid = builder_.CreateLoad(script_.types.i64, valid_word(number));
        builder_.CreateCondBr(builder_.CreateIsNotNull(valid), there, missing);
        builder_.SetInsertPoint(there);
    }

    llvm::AllocaInst* entry_alloca(llvm::Type* type) {
        llvm::BasicBlock& entry = function_->getEntryBlock();
        return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type, nullptr, "saved");
    }

    HitContext hit_of(uint32_t number) {
        const Variant& variant = script_.plan.variants[number];
        HitContext hit;
        hit.reg = [this](PtReg reg) -> llvm::Value* { return value_of(reg); };
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

    llvm::Value* value_of(PtReg reg) {
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
                script_.number(static_cast<int64_t>(arch::return_address_bytes())));
        }
        return script_.number(0);
    }

    // With return handlers, the frame also has to serve the function that continues.
    bool is_return_trampoline() const {
        return script_.plan.trampolines[index_].returns(script_.plan);
    }

    // Returns the frame pointer at function entry. For this the trampoline has a frame of the usual
    // form, in which it saves it.
    llvm::Value* callers_frame() {
        if (part_frame_)
            return part_frame_;
        llvm::Value* frame = builder_.CreateIntrinsic(llvm::Intrinsic::frameaddress,
                                                      {script_.types.pointer}, {script_.u32(0)});
        return builder_.CreateLoad(script_.types.i64, frame);
    }

    llvm::Value* return_address() {
        if (part_address_)
            return part_address_;
        auto* from = builder_.CreateIntrinsic(llvm::Intrinsic::returnaddress, {}, {script_.u32(0)});
        return builder_.CreatePtrToInt(from, script_.types.i64);
    }

    llvm::Value* field(llvm::Value* ctx, size_t offset) {
        return builder_.CreateConstGEP1_32(script_.types.i8, ctx, static_cast<unsigned>(offset));
    }

    void run_lean(uint32_t number, LockedRun* locked) {
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

    void run_with_context(uint32_t number) {
        const Variant& variant = script_.plan.variants[number];
        auto* next = block("next_handler");
        check_saved(number, next);
        auto emit = [&](Body& body, llvm::Value* ctx) {
            if (return_value_)
                builder_.CreateStore(return_value_, return_value_address(ctx));
            body.compare_conditions(*variant.probe);
            body.emit_probe(*variant.probe);
        };
        if (calls_body(variant))
            with_context(number, [&](llvm::Value* ctx) { call_body(number, ctx); });
        else
            with_context(number, emit);
        builder_.CreateBr(next);
        builder_.SetInsertPoint(next);
    }

    llvm::Value* return_value_address(llvm::Value* ctx) {
        return field(ctx, offsetof(djs_ctx, return_value));
    }

    // Scripts with many handlers are compiled in half the time if a trampoline calls the form for
    // other mechanisms instead of containing the handler's code once more. That form does not know
    // what a return handler keeps from the entry, nor the caller's frame.
    bool calls_body(const Variant& variant) const {
        return script_.makes_code_once && !takes_stacks(script_) &&
               (variant.kind != HandlerKind::Return || variant.probe->entry_values.empty());
    }

    void call_body(uint32_t number, llvm::Value* ctx) {
        llvm::AllocaInst* registers = nullptr;
        if (return_value_)
            builder_.CreateStore(return_value_, return_value_address(ctx));
        else
            registers = store_registers(ctx, hit_of(number));
        const CompiledBody& body = script_.bodies[number];
        builder_.CreateCall(body.function, {ctx});
        if (registers)
            builder_.CreateStore(script_.null(), field(ctx, offsetof(djs_ctx, regs)));
        parts_.push_back(body.function->getName().str());
        calls_.insert(calls_.end(), body.calls.begin(), body.calls.end());
    }

    // Takes the CPU's context for the code that `emit` emits, and releases it; skips the code if
    // there is no context.
    using Emit = std::function<void(Body&, llvm::Value*)>;
    void with_context(uint32_t number, const Emit& emit) {
        with_context(number, [&](llvm::Value* ctx) {
            if (script_.heavy.count(number))
                emit_part(number, ctx, emit);
            else
                bound_lifetimes(builder_.GetInsertBlock(), emit_with(number, ctx, emit));
        });
    }
    void with_context(uint32_t number, const std::function<void(llvm::Value*)>& run_it) {
        auto *run = block("run"), *after = block("after");
        llvm::Value* ctx =
            builder_.CreateCall(script_.runtime("djs_enter"),
                                {script_.handler_address(number), site_of(number)}, "ctx");
        llvm::BasicBlock* before = builder_.GetInsertBlock();
        builder_.CreateCondBr(builder_.CreateIsNotNull(ctx), run, after);
        builder_.SetInsertPoint(run);
        run_it(ctx);
        llvm::Value* changed =
            return_value_ && sets_return_value(script_.plan.variants[number])
                ? builder_.CreateLoad(script_.types.i64, return_value_address(ctx), "changed")
                : nullptr;
        builder_.CreateCall(script_.runtime("djs_leave"), {ctx});
        llvm::BasicBlock* done = builder_.GetInsertBlock();
        builder_.CreateBr(after);
        builder_.SetInsertPoint(after);
        if (changed) {
            llvm::PHINode* result = builder_.CreatePHI(script_.types.i64, 2, "result");
            result->addIncoming(return_value_, before);
            result->addIncoming(changed, done);
            return_value_ = result;
        }
    }

    // Returns its allocations on the stack.
    std::vector<llvm::AllocaInst*> emit_with(uint32_t number, llvm::Value* ctx, const Emit& emit) {
        const Variant& variant = script_.plan.variants[number];
        HitContext hit = hit_of(number);
        if (return_value_ && sets_return_value(variant)) {
            hit.return_value_address = [this, ctx] { return return_value_address(ctx); };
            hit.return_value = [this, ctx]() -> llvm::Value* {
                return builder_.CreateLoad(script_.types.i64, return_value_address(ctx));
            };
        }
        llvm::Value* memory =
            builder_.CreateLoad(script_.types.pointer, field(ctx, offsetof(djs_ctx, scratch)));
        // The registers at function entry; they are gone when the function has returned.
        llvm::AllocaInst* registers =
            !return_value_ && asks_for_registers(script_) ? store_registers(ctx, hit) : nullptr;
        Body body(script_, function_, builder_, ctx, memory, variant.probe->locals, hit);
        body.begin_run(variant.probe->effects);
        emit(body, ctx);
        std::vector<llvm::AllocaInst*> slots = body.slots();
        if (registers) { // the context is shared with handlers that have none
            builder_.CreateStore(script_.null(), field(ctx, offsetof(djs_ctx, regs)));
            slots.push_back(registers);
        }
        scratch_ = std::max(
            scratch_,
            static_cast<uint32_t>(
                Depth(script_, Depth::Of::Scratch).deepest(body.scratch_used(), body.calls())));
        calls_.insert(calls_.end(), body.calls().begin(), body.calls().end());
        return slots;
    }

    // In a function of its own, so that the handler's memory does not enlarge the trampoline's
    // frame.
    void emit_part(uint32_t number, llvm::Value* ctx, const Emit& emit) {
        auto* word = script_.types.i64;
        auto* pointer = script_.types.pointer;
        std::vector<llvm::Type*> parameters(argument_registers().size(), word);
        parameters.insert(parameters.end(), {word, word, word, pointer, pointer, word});
        auto* type = llvm::FunctionType::get(script_.types.void_type, parameters, false);
        llvm::Function* part = script_.create_function(type, "djs_part_" + std::to_string(index_) +
                                                                 "_" + std::to_string(number) +
                                                                 (return_value_ ? "_r" : "_e"));
        script_.set_attributes(part);
        part->addFnAttr(llvm::Attribute::NoInline);
        parts_.push_back(part->getName().str());
        std::vector<llvm::Value*> arguments;
        for (unsigned i = 0; i < argument_registers().size(); i++)
            arguments.push_back(function_->getArg(i));
        llvm::Value* saved = saved_[number].values;
        arguments.insert(arguments.end(),
                         {value_of(arch::stack_pointer()), return_address(),
                          return_value_ ? return_value_ : script_.number(0), ctx,
                          saved ? saved : static_cast<llvm::Value*>(script_.null()),
                          is_return_trampoline() || !takes_stacks(script_)
                              ? static_cast<llvm::Value*>(script_.number(0))
                              : callers_frame()});
        builder_.CreateCall(part, arguments);

        const auto outer = builder_.saveIP();
        llvm::Function* trampoline = function_;
        llvm::Value* result = return_value_;
        const auto first = static_cast<unsigned>(argument_registers().size());
        function_ = part;
        part_stack_ = part->getArg(first);
        part_address_ = part->getArg(first + 1);
        part_frame_ = part->getArg(first + 5);
        if (return_value_)
            return_value_ = part->getArg(first + 2);
        if (saved)
            saved_[number].values = part->getArg(first + 4);
        builder_.SetInsertPoint(block("entry"));
        emit_with(number, part->getArg(first + 3), emit);
        builder_.CreateRetVoid();
        function_ = trampoline;
        part_stack_ = part_address_ = part_frame_ = nullptr;
        return_value_ = result;
        saved_[number].values = saved;
        builder_.restoreIP(outer);
    }

    // Returns the only site of a variant at this trampoline; no_index if there are several.
    uint32_t only_site(uint32_t variant) const {
        std::vector<uint32_t> sites;
        for (uint32_t i = 0; i < script_.plan.sites.size() && sites.size() < 2; i++)
            if (script_.plan.sites[i].variant == variant &&
                script_.plan.sites[i].trampoline == index_)
                sites.push_back(i);
        return sites.size() == 1 ? sites[0] : no_index;
    }

    // See HitContext::site_number. A context has the site.
    std::function<llvm::Value*()> site_number_of(uint32_t variant) {
        if (const uint32_t site = only_site(variant); site != no_index)
            return [this, site]() -> llvm::Value* { return script_.number(site); };
        if (needs_of(script_, script_.plan.variants[variant]) == Needs::Context)
            return nullptr;
        return [this, variant]() -> llvm::Value* {
            by_address_ = true;
            llvm::Value* site = call_slow(script_, builder_, "djs_slow_site", "djs_find_site",
                                          {script_.handler_address(variant), return_address()});
            return script_.site_number(builder_, site);
        };
    }

    // Returns the site that was hit; null if there are several and the handler does not need it.
    llvm::Value* site_of(uint32_t variant) {
        if (const uint32_t site = only_site(variant); site != no_index)
            return script_.site_address(site);
        if (!asks_for_site(script_, variant))
            return script_.null();
        by_address_ = true;
        return builder_.CreateCall(script_.runtime("djs_find_site"),
                                   {script_.handler_address(variant), return_address()});
    }

    llvm::AllocaInst* store_registers(llvm::Value* ctx, const HitContext& hit) {
        auto* type = llvm::ArrayType::get(script_.types.i64, arch::saved_register_count());
        llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
        llvm::AllocaInst* regs = at_entry.CreateAlloca(type, nullptr, "regs");
        builder_.CreateStore(llvm::ConstantAggregateZero::get(type), regs);
        auto store = [&](PtReg reg, llvm::Value* value) {
            builder_.CreateStore(
                value, builder_.CreateConstGEP2_32(type, regs, 0, static_cast<unsigned>(reg)));
        };
        for (PtReg reg : argument_registers())
            store(reg, hit.reg(reg));
        store(arch::stack_pointer(), hit.reg(arch::stack_pointer()));
        store(arch::instruction_pointer(), return_address());
        builder_.CreateStore(regs, field(ctx, offsetof(djs_ctx, regs)));
        return regs;
    }

    // Handlers run one after the other: the next one may reuse the stack memory of the previous
    // one.
    void bound_lifetimes(llvm::BasicBlock* start, const std::vector<llvm::AllocaInst*>& slots) {
        llvm::IRBuilder<> at_start(start, start->begin());
        for (llvm::AllocaInst* slot : slots) {
            at_start.CreateLifetimeStart(slot);
            builder_.CreateLifetimeEnd(slot);
        }
    }

    ScriptModule& script_;
    uint32_t index_;
    const std::vector<uint32_t>& variants_;
    uint32_t& scratch_;
    llvm::IRBuilder<> builder_;
    llvm::Function* function_ = nullptr;
    llvm::Value* return_value_ = nullptr; // after the function has returned
    // In a part: the probed function's stack pointer, the return address of the direct call, and
    // the frame pointer at entry.
    llvm::Value *part_stack_ = nullptr, *part_address_ = nullptr, *part_frame_ = nullptr;
    std::vector<std::string> parts_;
    std::map<uint32_t, Saved> saved_; // by variant
    std::vector<ScratchCall> calls_;
    bool by_address_ = false; // it needs to know which of its functions was hit
};

} // namespace

CompiledTrampoline compile_trampoline(ScriptModule& script, uint32_t trampoline,
                                      uint32_t& scratch) {
    return TrampolineCompiler(script, trampoline, scratch).compile();
}

} // namespace djstap::codegen
