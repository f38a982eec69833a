// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers of a trampoline that take the CPU's context.
#include "arch/arch.h"
#include "arch/codegen.h"
#include "codegen/callers.h"
#include "codegen/depth.h"
#include "codegen/lean.h"
#include "codegen/needs.h"
#include "codegen/stacks.h"
#include "codegen/trampoline_compiler.h"

#include <algorithm>

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

} // namespace

void TrampolineCompiler::run_with_context(uint32_t number) {
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

bool TrampolineCompiler::calls_body(const Variant& variant) const {
    return script_.makes_code_once && !takes_stacks(script_) &&
           arch::saved_register_count() <= DJS_REGISTERS_ROOM &&
           (variant.kind != HandlerKind::Return ||
            (variant.probe->entry_values.empty() && variant.callers.frames.empty()));
}

void TrampolineCompiler::call_body(uint32_t number, llvm::Value* ctx) {
    if (return_value_)
        builder_.CreateStore(return_value_, return_value_address(ctx));
    else // the context is this handler's until it is left: no memory of the trampoline is needed
        store_registers(ctx, hit_of(number), field(ctx, offsetof(djs_ctx, entry_regs)));
    const CompiledBody& body = script_.bodies[number];
    builder_.CreateCall(body.function, {ctx});
    if (!return_value_)
        builder_.CreateStore(script_.null(), field(ctx, offsetof(djs_ctx, regs)));
    parts_.push_back(body.function->getName().str());
    calls_.insert(calls_.end(), body.calls.begin(), body.calls.end());
}

void TrampolineCompiler::with_context(uint32_t number, const Emit& emit) {
    with_context(number, [&](llvm::Value* ctx) {
        if (script_.heavy.count(number))
            emit_part(number, ctx, emit);
        else
            bound_lifetimes(builder_.GetInsertBlock(), emit_with(number, ctx, emit));
    });
}

void TrampolineCompiler::with_context(uint32_t number,
                                      const std::function<void(llvm::Value*)>& run_it) {
    auto *run = block("run"), *after = block("after");
    llvm::Value* ctx = builder_.CreateCall(
        script_.runtime("djs_enter"), {script_.handler_address(number), site_of(number)}, "ctx");
    builder_.CreateCondBr(builder_.CreateIsNotNull(ctx), run, after);
    builder_.SetInsertPoint(run);
    run_it(ctx);
    if (return_value_ && sets_return_value(script_.plan.variants[number]))
        builder_.CreateStore(
            builder_.CreateLoad(script_.types.i64, return_value_address(ctx), "changed"),
            changed_result_);
    builder_.CreateCall(script_.runtime("djs_leave"), {ctx});
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
}

std::vector<llvm::AllocaInst*> TrampolineCompiler::emit_with(uint32_t number, llvm::Value* ctx,
                                                             const Emit& emit) {
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

void TrampolineCompiler::emit_part(uint32_t number, llvm::Value* ctx, const Emit& emit) {
    auto* word = script_.types.i64;
    auto* pointer = script_.types.pointer;
    std::vector<llvm::Type*> parameters(argument_registers().size(), word);
    parameters.insert(parameters.end(), {word, word, word, pointer, pointer, word});
    auto* type = llvm::FunctionType::get(script_.types.void_type, parameters, false);
    llvm::Function* part =
        script_.create_function(type, "djs_part_" + std::to_string(index_) + "_" +
                                          std::to_string(number) + (return_value_ ? "_r" : "_e"));
    part->addFnAttr(llvm::Attribute::NoInline);
    parts_.push_back(part->getName().str());
    std::vector<llvm::Value*> arguments;
    for (unsigned i = 0; i < argument_registers().size(); i++)
        arguments.push_back(function_->getArg(i));
    llvm::Value* saved = saved_[number].values;
    arguments.insert(arguments.end(), {value_of(arch::stack_pointer()), return_address(),
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
    script_.set_attributes(part);
    emit_with(number, part->getArg(first + 3), emit);
    builder_.CreateRetVoid();
    function_ = trampoline;
    part_stack_ = part_address_ = part_frame_ = nullptr;
    return_value_ = result;
    saved_[number].values = saved;
    builder_.restoreIP(outer);
}

uint32_t TrampolineCompiler::only_site(uint32_t variant) const {
    std::vector<uint32_t> sites;
    for (uint32_t i = 0; i < script_.plan.sites.size() && sites.size() < 2; i++)
        if (script_.plan.sites[i].variant == variant && script_.plan.sites[i].trampoline == index_)
            sites.push_back(i);
    return sites.size() == 1 ? sites[0] : no_index;
}

std::function<llvm::Value*()> TrampolineCompiler::site_number_of(uint32_t variant) {
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

llvm::Value* TrampolineCompiler::site_of(uint32_t variant) {
    if (const uint32_t site = only_site(variant); site != no_index)
        return script_.site_address(site);
    if (!asks_for_site(script_, variant))
        return script_.null();
    by_address_ = true;
    return builder_.CreateCall(script_.runtime("djs_find_site"),
                               {script_.handler_address(variant), return_address()});
}

llvm::AllocaInst* TrampolineCompiler::store_registers(llvm::Value* ctx, const HitContext& hit) {
    auto* type = llvm::ArrayType::get(script_.types.i64, arch::saved_register_count());
    llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    llvm::AllocaInst* regs = at_entry.CreateAlloca(type, nullptr, "regs");
    builder_.CreateStore(llvm::ConstantAggregateZero::get(type), regs);
    store_registers(ctx, hit, regs);
    return regs;
}

void TrampolineCompiler::store_registers(llvm::Value* ctx, const HitContext& hit,
                                         llvm::Value* regs) {
    auto store = [&](PtReg reg, llvm::Value* value) {
        builder_.CreateStore(value, builder_.CreateConstGEP1_32(script_.types.i64, regs,
                                                                static_cast<unsigned>(reg)));
    };
    for (PtReg reg : argument_registers())
        store(reg, hit.reg(reg));
    store(arch::stack_pointer(), hit.reg(arch::stack_pointer()));
    store(arch::instruction_pointer(), return_address());
    builder_.CreateStore(regs, field(ctx, offsetof(djs_ctx, regs)));
}

void TrampolineCompiler::bound_lifetimes(llvm::BasicBlock* start,
                                         const std::vector<llvm::AllocaInst*>& slots) {
    llvm::IRBuilder<> at_start(start, start->begin());
    for (llvm::AllocaInst* slot : slots) {
        at_start.CreateLifetimeStart(slot);
        builder_.CreateLifetimeEnd(slot);
    }
}

} // namespace djstap::codegen
