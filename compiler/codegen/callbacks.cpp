#include "codegen/callbacks.h"

#include "codegen/body.h"
#include "codegen/depth.h"
#include "include/script.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <array>

namespace djstap::codegen {

namespace {

// Where the calling convention passes numbers and addresses.
constexpr std::array argument_registers{PtReg::Rdi, PtReg::Rsi, PtReg::Rdx,
                                        PtReg::Rcx, PtReg::R8,  PtReg::R9};

HitContext hit_of(const Variant& variant) {
    HitContext hit;
    hit.accesses = &variant.accesses;
    hit.defined = &variant.defined;
    hit.entry_values = &variant.probe->entry_values;
    return hit;
}

// The arguments of the callback itself.
HitContext hit_by_arguments(ScriptModule& script, llvm::IRBuilder<>& builder,
                            llvm::Function* function, const Variant& variant) {
    HitContext hit = hit_of(variant);
    hit.reg = [&script, &builder, function](PtReg reg) -> llvm::Value* {
        for (unsigned i = 0; i < argument_registers.size(); i++)
            if (argument_registers[i] == reg)
                return function->getArg(i);
        if (reg == PtReg::Rsp) {
            auto* slot = builder.CreateIntrinsic(llvm::Intrinsic::addressofreturnaddress,
                                                 {script.types.pointer}, {});
            return builder.CreatePtrToInt(slot, script.types.i64);
        }
        return script.number(0);
    };
    hit.return_value = [&script] { return script.number(0); };
    return hit;
}

// The body of a handler without a context; the builder then stands where all its ways meet.
void emit_lean(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Function* function,
               const Variant& variant, const HitContext& hit, Needs needs) {
    LeanRecorder recorder(script, builder, function);
    auto* closed = needs == Needs::Preemption
                       ? llvm::BasicBlock::Create(script.context, "closed", function)
                       : nullptr;
    if (closed)
        recorder.enter(closed);
    Body body(script, function, builder, nullptr, nullptr, variant.probe->locals, hit);
    body.emit_probe(*variant.probe->body, variant.probe->condition.get());
    if (closed) {
        recorder.leave();
        builder.CreateBr(closed);
        builder.SetInsertPoint(closed);
    }
}

// A probe of a tracepoint: called with the site, then the tracepoint's arguments.
llvm::Function* compile_tracepoint(ScriptModule& script, uint32_t index, CompiledHandler& handler,
                                   uint32_t& scratch) {
    const Variant& variant = script.plan.variants[index];
    std::vector<llvm::Type*> parameters(argument_registers.size(), script.types.i64);
    auto* type = llvm::FunctionType::get(script.types.void_type, parameters, false);
    llvm::Function* function =
        script.create_function(type, "djs_tracepoint_" + std::to_string(index));
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(script.context, "entry", function));
    script.set_attributes(function);
    HitContext hit = hit_by_arguments(script, builder, function, variant);
    if (Needs needs = needs_of(script, variant); needs != Needs::Context) {
        emit_lean(script, builder, function, variant, hit, needs);
        builder.CreateRetVoid();
        return function;
    }

    llvm::Value* site = builder.CreateIntToPtr(function->getArg(0), script.types.pointer, "site");
    llvm::Value* ctx = builder.CreateCall(script.runtime("djs_enter"),
                                          {script.handler_address(index), site}, "ctx");
    auto* run = llvm::BasicBlock::Create(script.context, "run", function);
    auto* done = llvm::BasicBlock::Create(script.context, "done", function);
    builder.CreateCondBr(builder.CreateIsNotNull(ctx), run, done);
    builder.SetInsertPoint(run);
    llvm::Value* memory = builder.CreateLoad(
        script.types.pointer,
        builder.CreateConstGEP1_32(script.types.i8, ctx, offsetof(djs_ctx, scratch)));
    Body body(script, function, builder, ctx, memory, variant.probe->locals, hit);
    body.count_actions(variant.probe->effects.loops);
    body.emit_probe(*variant.probe->body, variant.probe->condition.get());
    builder.CreateCall(script.runtime("djs_leave"), {ctx});
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    handler.calls.insert(handler.calls.end(), body.calls().begin(), body.calls().end());
    scratch = std::max(
        scratch, static_cast<uint32_t>(
                     Depth(script, Depth::Of::Scratch).deepest(body.scratch_used(), body.calls())));
    return function;
}

} // namespace

void compile_callbacks(ScriptModule& script, uint32_t index, CompiledHandler& handler,
                       uint32_t& scratch) {
    const Variant& variant = script.plan.variants[index];
    if (variant.has(Mechanism::Tracepoint))
        handler.tracepoint = compile_tracepoint(script, index, handler, scratch);
}

} // namespace djstap::codegen
