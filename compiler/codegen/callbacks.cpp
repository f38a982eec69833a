// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/callbacks.h"

#include "arch/arch.h"
#include "codegen/body.h"
#include "codegen/callers.h"
#include "codegen/depth.h"
#include "codegen/lean.h"
#include "codegen/locked.h"
#include "include/mechanisms.h"
#include "include/script.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <array>

namespace djstap::codegen {

namespace {

HitContext hit_of(ScriptModule& script, const Variant& variant) {
    HitContext hit;
    const auto index = static_cast<uint32_t>(&variant - script.plan.variants.data());
    if (const uint32_t site = script.only_site(index); site != no_index)
        hit.site_number = [&script, site] { return script.number(site); };
    hit.accesses = &variant.accesses;
    hit.defined = &variant.defined;
    hit.entry_values = &variant.probe->entry_values;
    hit.function = script.only_function(index);
    return hit;
}

// Uses the arguments of the callback itself.
HitContext hit_by_arguments(ScriptModule& script, llvm::IRBuilder<>& builder,
                            llvm::Function* function, const Variant& variant) {
    HitContext hit = hit_of(script, variant);
    hit.copied_arguments = true;
    hit.reg = [&script, &builder, function](PtReg reg) -> llvm::Value* {
        for (unsigned i = 0; i < argument_registers().size(); i++)
            if (argument_registers()[i] == reg)
                return function->getArg(i);
        if (reg == arch::stack_pointer()) {
            auto* slot = builder.CreateIntrinsic(llvm::Intrinsic::addressofreturnaddress,
                                                 {script.types.pointer}, {});
            return builder.CreatePtrToInt(slot, script.types.i64);
        }
        return script.number(0);
    };
    hit.return_value = [&script] { return script.number(0); };
    return hit;
}

// Emits the body of a handler without a context; all its paths then meet at the builder's position.
void emit_lean(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Function* function,
               uint32_t index, const HitContext& hit, Needs needs) {
    const Variant& variant = script.plan.variants[index];
    Body body(script, function, builder, nullptr, nullptr, variant.probe->locals, hit);
    auto emit = [&] {
        auto* skipped = may_fault(variant)
                            ? llvm::BasicBlock::Create(script.context, "skipped", function)
                            : nullptr;
        if (skipped)
            check_stack(script, builder, skipped);
        body.emit_probe(*variant.probe);
        if (skipped) {
            builder.CreateBr(skipped);
            builder.SetInsertPoint(skipped);
        }
    };
    if (needs == Needs::Nothing && !variant.probe->effects.can_fail) {
        emit();
        return;
    }
    auto* done = llvm::BasicBlock::Create(script.context, "done", function);
    if (needs == Needs::Nothing) {
        check_gate(script, builder, done);
        emit();
    } else if (needs == Needs::Locks) {
        LockedRun run(script, builder, function, index);
        run.enter(done);
        run.prepare(body);
        emit();
        run.leave();
    } else {
        LeanRecorder recorder(script, builder, function);
        recorder.enter(done);
        emit();
        recorder.leave();
    }
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
}

// Uses the registers that a mechanism saved, at `regs`.
HitContext hit_by_saved_registers(ScriptModule& script, llvm::IRBuilder<>& builder,
                                  llvm::Value* regs, const Variant& variant) {
    HitContext hit = hit_of(script, variant);
    hit.reg = [&script, &builder, regs](PtReg reg) -> llvm::Value* {
        return builder.CreateLoad(
            script.types.i64,
            builder.CreateConstGEP1_32(script.types.i64, regs, static_cast<unsigned>(reg)));
    };
    hit.return_value = [reg = hit.reg] { return reg(arch::result_register()); };
    return hit;
}

// For kprobes, kretprobes and timers: int (void *, struct pt_regs *).
llvm::Function* compile_by_regs(ScriptModule& script, uint32_t index, Needs needs) {
    const Variant& variant = script.plan.variants[index];
    auto* type = llvm::FunctionType::get(script.types.i32,
                                         {script.types.pointer, script.types.pointer}, false);
    llvm::Function* function = script.create_function(type, "djs_by_regs_" + std::to_string(index));
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(script.context, "entry", function));
    script.set_attributes(function);
    const HitContext hit = hit_by_saved_registers(script, builder, function->getArg(1), variant);
    auto* others = llvm::BasicBlock::Create(script.context, "others", function);
    check_callers(script, builder, variant, {hit.reg, variant.kind == HandlerKind::Return}, others);
    emit_lean(script, builder, function, index, hit, needs);
    builder.CreateBr(others);
    builder.SetInsertPoint(others);
    builder.CreateRet(script.u32(0));
    return function;
}

bool only_reads_arguments(const Variant& variant) {
    return std::all_of(variant.accesses.begin(), variant.accesses.end(), [](const auto& each) {
        const Access& access = each.second.value;
        if (access.base == Access::Base::Computed)
            return std::all_of(access.operations.begin(), access.operations.end(),
                               [](const LocationOperation& operation) {
                                   return operation.kind != LocationOperation::Kind::Register ||
                                          arch::is_argument(operation.reg);
                               });
        return access.base == Access::Base::Constant ||
               (access.base == Access::Base::Register && arch::is_argument(access.reg));
    });
}

// For an ftrace_ops: void (unsigned long ip, unsigned long parent, struct ftrace_ops *, struct
// ftrace_regs *), where only the argument registers are saved.
llvm::Function* compile_by_ftrace(ScriptModule& script, uint32_t index, Needs needs) {
    const Variant& variant = script.plan.variants[index];
    auto offset = script.kernel.offset ? script.kernel.offset("ftrace_regs.regs") : std::nullopt;
    if (!offset || !only_reads_arguments(variant) || !variant.callers.frames.empty())
        return nullptr;
    auto* type = llvm::FunctionType::get(
        script.types.void_type,
        {script.types.i64, script.types.i64, script.types.pointer, script.types.pointer}, false);
    llvm::Function* function =
        script.create_function(type, "djs_by_ftrace_" + std::to_string(index));
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(script.context, "entry", function));
    script.set_attributes(function);
    llvm::Value* regs = builder.CreateConstGEP1_32(script.types.i8, function->getArg(3),
                                                   static_cast<unsigned>(offset->second));
    emit_lean(script, builder, function, index,
              hit_by_saved_registers(script, builder, regs, variant), needs);
    builder.CreateRetVoid();
    return function;
}

// Calls a tracepoint's handler if enough stack is left for its frame, which is allocated before the
// handler could check.
llvm::Function* ask_for_stack(ScriptModule& script, uint32_t index, llvm::Function* handler) {
    handler->addFnAttr(llvm::Attribute::NoInline);
    llvm::Function* function = script.create_function(handler->getFunctionType(),
                                                      "djs_tracepoint_" + std::to_string(index));
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(script.context, "entry", function));
    script.set_attributes(function);
    auto* call = llvm::BasicBlock::Create(script.context, "call", function);
    auto* done = llvm::BasicBlock::Create(script.context, "done", function);
    llvm::Value* lacks =
        builder.CreateCall(script.runtime("djs_lacks_stack"), {script.u32(DJS_STACK_MAX)});
    builder.CreateCondBr(builder.CreateIsNotNull(lacks), done, call);
    builder.SetInsertPoint(call);
    std::vector<llvm::Value*> arguments;
    for (llvm::Argument& argument : function->args())
        arguments.push_back(&argument);
    builder.CreateCall(handler, arguments);
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return function;
}

// Returns how many arguments a tracepoint or marker passes, at least as many as the registers hold.
size_t callback_arguments(const ScriptModule& script, uint32_t index) {
    size_t count = argument_registers().size();
    for (const Site& site : script.plan.sites)
        if (site.variant == index && site.info)
            count = std::max(count, site.info->parameters.size() + 1);
    return count;
}

// A probe of a tracepoint or marker: called with the site, then the tracepoint's arguments.
llvm::Function* compile_tracepoint(ScriptModule& script, uint32_t index, CompiledHandler& handler,
                                   uint32_t& scratch) {
    const Variant& variant = script.plan.variants[index];
    std::vector<llvm::Type*> parameters(callback_arguments(script, index), script.types.i64);
    auto* type = llvm::FunctionType::get(script.types.void_type, parameters, false);
    const bool heavy = script.heavy.count(index) > 0;
    llvm::Function* function = script.create_function(
        type, (heavy ? "djs_tracepoint_body_" : "djs_tracepoint_") + std::to_string(index));
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(script.context, "entry", function));
    script.set_attributes(function);
    HitContext hit = hit_by_arguments(script, builder, function, variant);
    auto site_hit = [&script, &builder, function] {
        return builder.CreateIntToPtr(function->getArg(0), script.types.pointer, "site");
    };
    if (!hit.site_number)
        hit.site_number = [&script, &builder, site_hit] {
            return script.site_number(builder, site_hit());
        };
    if (Needs needs = needs_of(script, variant); needs != Needs::Context) {
        emit_lean(script, builder, function, index, hit, needs);
        builder.CreateRetVoid();
        return function;
    }

    llvm::Value* ctx = builder.CreateCall(script.runtime("djs_enter"),
                                          {script.handler_address(index), site_hit()}, "ctx");
    auto* run = llvm::BasicBlock::Create(script.context, "run", function);
    auto* done = llvm::BasicBlock::Create(script.context, "done", function);
    builder.CreateCondBr(builder.CreateIsNotNull(ctx), run, done);
    builder.SetInsertPoint(run);
    llvm::Value* memory = builder.CreateLoad(
        script.types.pointer,
        builder.CreateConstGEP1_32(script.types.i8, ctx, offsetof(djs_ctx, scratch)));
    Body body(script, function, builder, ctx, memory, variant.probe->locals, hit);
    body.begin_run(variant.probe->effects);
    body.compare_conditions(*variant.probe);
    body.emit_probe(*variant.probe);
    builder.CreateCall(script.runtime("djs_leave"), {ctx});
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    handler.calls.insert(handler.calls.end(), body.calls().begin(), body.calls().end());
    scratch = std::max(
        scratch, static_cast<uint32_t>(
                     Depth(script, Depth::Of::Scratch).deepest(body.scratch_used(), body.calls())));
    return heavy ? ask_for_stack(script, index, function) : function;
}

} // namespace

void compile_callbacks(ScriptModule& script, uint32_t index, CompiledHandler& handler,
                       uint32_t& scratch) {
    const Variant& variant = script.plan.variants[index];
    if (variant.has_any(DJS_HAS_CALLBACK))
        handler.tracepoint = compile_tracepoint(script, index, handler, scratch);
    Needs needs = needs_of(script, variant);
    bool is_session = variant.kind == HandlerKind::Begin || variant.kind == HandlerKind::End ||
                      variant.kind == HandlerKind::Error;
    // Only the context knows where a kretprobe keeps values from function entry.
    if (needs == Needs::Context || is_session || !variant.probe->entry_values.empty())
        return;
    // A callback without a context does not know which of several sites was hit.
    if (script.records(DJS_EVENT_PROBE) && variant.probe->effects.prints &&
        script.only_site(index) == no_index)
        return;
    // A djprobe may become a kprobe or an ftrace_ops when it is attached.
    bool by_regs = variant.has_any(DJS_TAKES_REGS);
    if (variant.has(Mechanism::Djprobe) || by_regs)
        handler.by_regs = compile_by_regs(script, index, needs);
    if (variant.has(Mechanism::Djprobe) || variant.has(Mechanism::Ftrace))
        handler.by_ftrace = compile_by_ftrace(script, index, needs);
}

} // namespace djstap::codegen
