#include "codegen/handlers.h"

#include "codegen/body.h"
#include "codegen/depth.h"
#include "codegen/lean.h"
#include "include/script.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <array>

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

// ---- the forms of a handler
// ------------------------------------------------------------------------

llvm::Value* field(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Value* ctx,
                   size_t offset, llvm::Type* type) {
    return builder.CreateLoad(
        type, builder.CreateConstGEP1_32(script.types.i8, ctx, static_cast<unsigned>(offset)));
}

HitContext hit_by_regs(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Value* ctx,
                       const Variant& variant) {
    HitContext hit;
    hit.reg = [&script, &builder, ctx](PtReg reg) {
        llvm::Value* regs =
            field(script, builder, ctx, offsetof(djs_ctx, regs), script.types.pointer);
        return builder.CreateLoad(
            script.types.i64,
            builder.CreateConstGEP1_32(script.types.i64, regs, static_cast<unsigned>(reg)));
    };
    hit.return_value = [&script, &builder, ctx] {
        return field(script, builder, ctx, offsetof(djs_ctx, return_value), script.types.i64);
    };
    hit.accesses = &variant.accesses;
    hit.defined = &variant.defined;
    hit.entry_values = &variant.probe->entry_values;
    return hit;
}

// Arguments of a direct handler: the registers that the calling convention passes arguments in.
constexpr std::array argument_registers{PtReg::Rdi, PtReg::Rsi, PtReg::Rdx,
                                        PtReg::Rcx, PtReg::R8,  PtReg::R9};

HitContext hit_directly(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Function* function,
                        const Variant& variant) {
    HitContext hit;
    hit.reg = [&script, &builder, function](PtReg reg) -> llvm::Value* {
        for (size_t i = 0; i < argument_registers.size(); i++)
            if (argument_registers[i] == reg)
                return function->getArg(static_cast<unsigned>(i));
        // The stack as the probed function finds it: above the return address of the direct call.
        if (reg == PtReg::Rsp) {
            auto* slot = builder.CreateIntrinsic(llvm::Intrinsic::addressofreturnaddress,
                                                 {script.types.pointer}, {});
            return builder.CreateAdd(builder.CreatePtrToInt(slot, script.types.i64),
                                     script.number(8));
        }
        return script.number(0);
    };
    hit.return_value = [&script] { return script.number(0); };
    hit.accesses = &variant.accesses;
    hit.defined = &variant.defined;
    hit.entry_values = &variant.probe->entry_values;
    return hit;
}

// True where the body asks which of several sites was hit.
bool asks_for_site(const ScriptModule& script) {
    return std::any_of(
        script.program.functions.begin(), script.program.functions.end(),
        [](const auto& function) { return intrinsic_needs_site(function->intrinsic); });
}

// long_arg() looks at the registers by number, and it may be called through functions: where a
// script uses it, direct handlers leave the argument registers, the stack pointer and the address
// as a pt_regs.
bool asks_for_registers(const ScriptModule& script) {
    return std::any_of(script.program.functions.begin(), script.program.functions.end(),
                       [](const auto& function) { return function->intrinsic == "long_arg"; });
}

void store_registers(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Value* ctx,
                     const HitContext& hit) {
    auto* type = llvm::ArrayType::get(script.types.i64, static_cast<size_t>(PtReg::Ss) + 1);
    llvm::Function* function = builder.GetInsertBlock()->getParent();
    llvm::IRBuilder<> at_entry(&function->getEntryBlock(), function->getEntryBlock().begin());
    llvm::Value* regs = at_entry.CreateAlloca(type, nullptr, "regs");
    builder.CreateStore(llvm::ConstantAggregateZero::get(type), regs);
    auto store = [&](PtReg reg, llvm::Value* value) {
        builder.CreateStore(value,
                            builder.CreateConstGEP2_32(type, regs, 0, static_cast<unsigned>(reg)));
    };
    for (PtReg reg : argument_registers)
        store(reg, hit.reg(reg));
    store(PtReg::Rsp, hit.reg(PtReg::Rsp));
    auto* from = builder.CreateIntrinsic(llvm::Intrinsic::returnaddress, {}, {script.word(0)});
    store(PtReg::Rip, builder.CreatePtrToInt(from, script.types.i64));
    builder.CreateStore(regs,
                        builder.CreateConstGEP1_32(script.types.i8, ctx, offsetof(djs_ctx, regs)));
}

llvm::Function* compile_body(ScriptModule& script, const Variant& variant, const std::string& name,
                             uint32_t& scratch, std::vector<ScratchCall>& calls,
                             bool entry_values) {
    auto* type = llvm::FunctionType::get(script.types.void_type, {script.types.pointer}, false);
    llvm::Function* function = script.create_function(type, name);
    script.set_attributes(function);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(script.context, "entry", function));
    script.set_attributes(function);
    llvm::Value* ctx = function->getArg(0);
    llvm::Value* memory =
        field(script, builder, ctx, offsetof(djs_ctx, scratch), script.types.pointer);
    Body body(script, function, builder, ctx, memory, variant.probe->locals,
              hit_by_regs(script, builder, ctx, variant));
    body.count_actions(variant.probe->effects.loops);
    if (entry_values)
        body.emit_entry_values(variant.probe->entry_values);
    else
        body.emit_probe(*variant.probe->body, variant.probe->condition.get());
    builder.CreateRetVoid();
    scratch = std::max(scratch, scratch_of(script, body));
    add_calls(calls, body);
    return function;
}

llvm::Function* compile_direct(ScriptModule& script, uint32_t index, uint32_t& scratch,
                               std::vector<ScratchCall>& calls) {
    const Variant& variant = script.plan.variants[index];
    std::vector<llvm::Type*> parameters(argument_registers.size(), script.types.i64);
    auto* type = llvm::FunctionType::get(script.types.void_type, parameters, false);
    llvm::Function* function = script.create_function(type, "djs_direct_" + std::to_string(index));
    // Saves just those registers that it uses, so that the fentry site can call it with no stub
    // between.
    function->setCallingConv(llvm::CallingConv::PreserveMost);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(script.context, "entry", function));
    script.set_attributes(function);
    HitContext hit = hit_directly(script, builder, function, variant);

    Needs needs = needs_of(script, variant);
    if (needs != Needs::Context) {
        LeanRecorder recorder(script, builder, function);
        auto* closed = needs == Needs::Preemption
                           ? llvm::BasicBlock::Create(script.context, "closed", function)
                           : nullptr;
        if (closed)
            recorder.enter(closed);
        Body body(script, function, builder, nullptr, nullptr, variant.probe->locals, hit);
        body.emit_probe(*variant.probe->body, variant.probe->condition.get());
        if (closed)
            recorder.leave();
        builder.CreateRetVoid();
        if (closed) {
            builder.SetInsertPoint(closed);
            builder.CreateRetVoid();
        }
        return function;
    }

    std::vector<uint32_t> sites;
    for (uint32_t i = 0; i < script.plan.sites.size() && sites.size() < 2; i++)
        if (script.plan.sites[i].variant == index)
            sites.push_back(i);
    llvm::Value* handler = script.handler_address(index);
    llvm::Value* site = script.null();
    if (sites.size() == 1) {
        site = script.site_address(sites[0]);
    } else if (asks_for_site(script)) {
        auto* from = builder.CreateIntrinsic(llvm::Intrinsic::returnaddress, {}, {script.word(0)});
        site = builder.CreateCall(script.runtime("djs_find_site"),
                                  {handler, builder.CreatePtrToInt(from, script.types.i64)});
    }
    llvm::Value* ctx = builder.CreateCall(script.runtime("djs_enter"), {handler, site}, "ctx");
    auto* run = llvm::BasicBlock::Create(script.context, "run", function);
    auto* skip = llvm::BasicBlock::Create(script.context, "skip", function);
    builder.CreateCondBr(builder.CreateIsNotNull(ctx), run, skip);
    builder.SetInsertPoint(skip);
    builder.CreateRetVoid();
    builder.SetInsertPoint(run);
    llvm::Value* memory =
        field(script, builder, ctx, offsetof(djs_ctx, scratch), script.types.pointer);
    bool registers = asks_for_registers(script);
    if (registers)
        store_registers(script, builder, ctx, hit);
    Body body(script, function, builder, ctx, memory, variant.probe->locals, hit);
    body.count_actions(variant.probe->effects.loops);
    body.emit_probe(*variant.probe->body, variant.probe->condition.get());
    if (registers) // the context is shared with handlers that have none
        builder.CreateStore(script.null(), builder.CreateConstGEP1_32(script.types.i8, ctx,
                                                                      offsetof(djs_ctx, regs)));
    builder.CreateCall(script.runtime("djs_leave"), {ctx});
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
    handler.body =
        compile_body(script, variant, "djs_body_" + number, scratch, handler.calls, false);
    if (!variant.probe->entry_values.empty())
        handler.entry =
            compile_body(script, variant, "djs_entry_" + number, scratch, handler.calls, true);
    if (variant.has_djprobe)
        handler.direct = compile_direct(script, index, scratch, handler.calls);
    const program::Effects& effects = variant.probe->effects;
    handler.checks_state = effects.prints || effects.can_fail || effects.can_exit;
    return handler;
}

void choose_locks(const ScriptModule& script, const Variant& variant, CompiledHandler& handler) {
    std::map<int, bool> locks;
    auto add = [&](const program::Global* global, bool write) {
        int lock = script.storage(*global).lock;
        if (lock >= 0)
            locks[lock] = locks[lock] || write || script.is_walked(*global);
    };
    for (const program::Global* global : variant.probe->effects.reads)
        add(global, false);
    for (const program::Global* global : variant.probe->effects.writes)
        add(global, true);
    handler.locks.assign(locks.begin(), locks.end());
}

} // namespace djstap::codegen
