// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/handlers.h"

#include "codegen/body.h"
#include "codegen/callbacks.h"
#include "codegen/callers.h"
#include "codegen/depth.h"
#include "include/script.h"
#include "semantics/walk.h"

#include <algorithm>

namespace djstap::codegen {

using program::Type;

namespace {

uint32_t scratch_of(const ScriptModule& script, const Body& body) {
    return static_cast<uint32_t>(
        Depth(script, Depth::Of::Scratch).deepest(body.scratch_used(), body.calls()));
}

void add_calls(std::vector<ScratchCall>& calls, const Body& body) {
    calls.insert(calls.end(), body.calls().begin(), body.calls().end());
}

// ---- the forms of a handler ---------------------------------------------------------------------

llvm::Value* field(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Value* ctx,
                   size_t offset, llvm::Type* type) {
    return builder.CreateLoad(
        type, builder.CreateConstGEP1_32(script.types.i8, ctx, static_cast<unsigned>(offset)));
}

HitContext hit_by_regs(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Value* ctx,
                       const Variant& variant) {
    HitContext hit;
    hit.register_address = [&script, &builder, ctx,
                            regs = static_cast<llvm::Value*>(nullptr)](PtReg reg) mutable {
        if (!regs) { // loaded once, where it is known on every path
            llvm::BasicBlock& entry = builder.GetInsertBlock()->getParent()->getEntryBlock();
            llvm::IRBuilder<> at_entry(&entry, entry.begin());
            regs = field(script, at_entry, ctx, offsetof(djs_ctx, regs), script.types.pointer);
        }
        return builder.CreateConstGEP1_32(script.types.i64, regs, static_cast<unsigned>(reg));
    };
    hit.reg = [&script, &builder, address = hit.register_address](PtReg reg) {
        return builder.CreateLoad(script.types.i64, address(reg));
    };
    hit.return_value = [&script, &builder, ctx] {
        return field(script, builder, ctx, offsetof(djs_ctx, return_value), script.types.i64);
    };
    hit.return_value_address = [&script, &builder, ctx] {
        return builder.CreateConstGEP1_32(script.types.i8, ctx, offsetof(djs_ctx, return_value));
    };
    hit.accesses = &variant.accesses;
    hit.defined = &variant.defined;
    hit.entry_values = &variant.probe->entry_values;
    return hit;
}

llvm::Function* compile_body(ScriptModule& script, uint32_t index, const std::string& name,
                             uint32_t& scratch, std::vector<ScratchCall>& calls,
                             bool entry_values) {
    const Variant& variant = script.plan.variants[index];
    auto* type = llvm::FunctionType::get(script.types.void_type, {script.types.pointer}, false);
    llvm::Function* function = script.create_function(type, name);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(script.context, "entry", function));
    script.set_attributes(function);
    llvm::Value* ctx = function->getArg(0);
    llvm::Value* memory =
        field(script, builder, ctx, offsetof(djs_ctx, scratch), script.types.pointer);
    HitContext hit = hit_by_regs(script, builder, ctx, variant);
    if (const uint32_t site = script.only_site(index); site != no_index)
        hit.site_number = [&script, site] { return script.number(site); };
    hit.function = script.only_function(index);
    auto* others = llvm::BasicBlock::Create(script.context, "others", function);
    if (!entry_values)
        check_callers(script, builder, variant, {hit.reg, variant.kind == HandlerKind::Return, ctx},
                      others);
    Body body(script, function, builder, ctx, memory, variant.probe->locals, hit);
    body.begin_run(variant.probe->effects);
    body.runs_in(script.contexts.variants[index]);
    const bool is_session = variant.kind == HandlerKind::Begin ||
                            variant.kind == HandlerKind::End || variant.kind == HandlerKind::Error;
    if (entry_values) {
        body.emit_entry_values(*variant.probe);
    } else {
        if (!is_session) // sites are armed after begin, and disarmed before end
            body.compare_conditions(*variant.probe);
        body.emit_probe(*variant.probe);
    }
    builder.CreateBr(others);
    builder.SetInsertPoint(others);
    builder.CreateRetVoid();
    scratch = std::max(scratch, scratch_of(script, body));
    add_calls(calls, body);
    return function;
}

} // namespace

void compile_functions(ScriptModule& script) {
    bool count = std::any_of(script.program.probes.begin(), script.program.probes.end(),
                             [](const auto& probe) { return probe->effects.loops; });
    for (const auto& function : script.program.functions) {
        if (!function->body)
            continue;
        std::vector<llvm::Type*> parameters{script.types.pointer, script.types.pointer};
        if (function->return_type == Type::String)
            parameters.push_back(script.types.pointer);
        for (uint32_t i = 0; i < function->parameter_count; i++)
            parameters.push_back(function->locals[i].type == Type::String
                                     ? static_cast<llvm::Type*>(script.types.pointer)
                                     : script.types.i64);
        llvm::Type* result =
            function->return_type == Type::String ? script.types.void_type : script.types.i64;
        auto* type = llvm::FunctionType::get(result, parameters, false);
        script.functions[function.get()].function =
            script.create_function(type, "djs_script_" + function->name);
    }
    for (const auto& function : script.program.functions) {
        if (!function->body)
            continue;
        CompiledFunction& compiled = script.functions[function.get()];
        llvm::IRBuilder<> builder(
            llvm::BasicBlock::Create(script.context, "entry", compiled.function));
        script.set_attributes(compiled.function);
        bool yields_text = function->return_type == Type::String;
        std::vector<Value> arguments;
        for (uint32_t i = 0; i < function->parameter_count; i++)
            arguments.push_back(compiled.function->getArg(i + (yields_text ? 3 : 2)));
        HitContext hit;
        hit.reg = [&script](PtReg) { return script.number(0); };
        hit.return_value = [&script] { return script.number(0); };
        hit.accesses = &script.plan.function_accesses;
        hit.defined = &script.plan.function_defined;
        Body body(script, compiled.function, builder, compiled.function->getArg(0),
                  compiled.function->getArg(1), function->locals, hit);
        body.count_actions(count);
        body.runs_in(script.contexts.of(*function));
        body.emit_function(*function, arguments,
                           yields_text ? compiled.function->getArg(2) : nullptr);
        compiled.own_scratch = body.scratch_used();
        compiled.calls = body.calls();
    }
}

CompiledHandler compile_handler(ScriptModule& script, uint32_t index, uint32_t& scratch) {
    const Variant& variant = script.plan.variants[index];
    CompiledHandler handler;
    std::string number = std::to_string(index);
    handler.body = compile_body(script, index, "djs_body_" + number, scratch, handler.calls, false);
    if (!variant.probe->entry_values.empty())
        handler.entry =
            compile_body(script, index, "djs_entry_" + number, scratch, handler.calls, true);
    compile_callbacks(script, index, handler, scratch);
    const program::Effects& effects = variant.probe->effects;
    handler.checks_state = effects.prints || effects.can_fail || effects.can_exit;
    return handler;
}

namespace {

// Requests that sites be armed or disarmed if the condition has changed; also after an error, which
// does not determine the condition.
llvm::Function* compile_comparison(ScriptModule& script, uint32_t number) {
    auto* type = llvm::FunctionType::get(script.types.void_type, {script.types.pointer}, false);
    auto* function = script.create_function(type, "djs_compare_" + std::to_string(number));
    auto block = [&](const char* name) {
        return llvm::BasicBlock::Create(script.context, name, function);
    };
    llvm::IRBuilder<> builder(block("entry"));
    script.set_attributes(function);
    llvm::Value* ctx = function->getArg(0);
    auto *good = block("good"), *changed = block("changed"), *done = block("done");
    builder.CreateCondBr(builder.CreateIsNull(field(script, builder, ctx, offsetof(djs_ctx, error),
                                                    script.types.pointer)),
                         good, changed);
    builder.SetInsertPoint(good);
    builder.CreateCall(script.conditions[number].handler.body, {ctx});
    llvm::Value* now = builder.CreateTrunc(
        field(script, builder, ctx, offsetof(djs_ctx, condition), script.types.i64),
        script.types.i32);
    llvm::Value* before =
        builder.CreateLoad(script.types.i32, script.condition_state(number), true, "before");
    builder.CreateCondBr(builder.CreateICmpEQ(now, before), done, changed);
    builder.SetInsertPoint(changed);
    builder.CreateCall(script.runtime("djs_conditions_changed"));
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return function;
}

} // namespace

void compile_conditions(ScriptModule& script, uint32_t& scratch) {
    auto* type = llvm::FunctionType::get(script.types.void_type, {script.types.pointer}, false);
    for (uint32_t i = 0; i < script.conditions.size(); i++) {
        Condition& condition = script.conditions[i];
        auto* function = script.create_function(type, "djs_condition_" + std::to_string(i));
        llvm::IRBuilder<> builder(llvm::BasicBlock::Create(script.context, "entry", function));
        script.set_attributes(function);
        llvm::Value* ctx = function->getArg(0);
        llvm::Value* memory =
            field(script, builder, ctx, offsetof(djs_ctx, scratch), script.types.pointer);
        const std::vector<program::Local> no_locals;
        Body body(script, function, builder, ctx, memory, no_locals, {});
        body.emit_condition(*condition.probe->condition);
        builder.CreateRetVoid();
        scratch = std::max(scratch, scratch_of(script, body));
        condition.handler.body = function;
        condition.comparison = compile_comparison(script, i);
    }
}

void choose_condition_locks(ScriptModule& script) {
    for (Condition& condition : script.conditions) {
        std::map<int, bool> locks;
        program::walk_expressions(*condition.probe->condition, [&](program::Expression& node) {
            const program::Global* global = node.kind == program::ExpressionKind::GlobalValue
                                                ? program::as<program::GlobalValue>(node).global
                                            : node.kind == program::ExpressionKind::Membership
                                                ? program::as<program::Membership>(node).array
                                                : nullptr;
            if (global && script.storage(*global).lock >= 0)
                locks[script.storage(*global).lock] |= script.is_sorted(*global);
        });
        condition.handler.locks.assign(locks.begin(), locks.end());
    }
}

void choose_locks(const ScriptModule& script, uint32_t index, CompiledHandler& handler) {
    const Variant& variant = script.plan.variants[index];
    const bool in_task = script.contexts.variants[index].task; // its walks change the arrays
    std::map<int, bool> locks;
    auto add = [&](const program::Global* global, bool write) {
        int lock = script.storage(*global).lock;
        if (lock >= 0)
            locks[lock] = locks[lock] || write || in_task || script.is_sorted(*global);
    };
    for (const program::Global* global : variant.probe->effects.reads)
        add(global, false);
    for (const program::Global* global : variant.probe->effects.writes)
        add(global, true);
    handler.locks.assign(locks.begin(), locks.end());
}

} // namespace djstap::codegen
