#include "codegen/targets.h"

#include "codegen/body.h"
#include "codegen/depth.h"
#include "codegen/lean.h"
#include "codegen/locked.h"
#include "include/script.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <array>

namespace djstap::codegen {

namespace {

// The registers that the calling convention passes arguments in.
constexpr std::array argument_registers{PtReg::Rdi, PtReg::Rsi, PtReg::Rdx,
                                        PtReg::Rcx, PtReg::R8,  PtReg::R9};

// True where the script asks which of several sites was hit.
bool asks_for_site(const ScriptModule& script) {
    return std::any_of(
        script.program.functions.begin(), script.program.functions.end(),
        [](const auto& function) { return intrinsic_needs_site(function->intrinsic); });
}

// long_arg() looks at the registers by number, and it may be called through functions: where a
// script uses it, the argument registers, the stack pointer and the address are left as a pt_regs.
bool asks_for_registers(const ScriptModule& script) {
    return std::any_of(script.program.functions.begin(), script.program.functions.end(),
                       [](const auto& function) { return function->intrinsic == "long_arg"; });
}

class TargetCompiler {
  public:
    TargetCompiler(ScriptModule& script, uint32_t index, uint32_t& scratch)
        : script_(script), index_(index), variants_(script.plan.targets[index].variants),
          scratch_(scratch), builder_(script.context) {}

    CompiledTarget compile() {
        std::vector<llvm::Type*> parameters(argument_registers.size(), script_.types.i64);
        auto* type = llvm::FunctionType::get(script_.types.void_type, parameters, false);
        function_ = script_.create_function(type, "djs_direct_" + std::to_string(index_));
        // Saves just those registers that it uses, so that the fentry site can call it with no stub
        // between.
        function_->setCallingConv(llvm::CallingConv::PreserveMost);
        builder_.SetInsertPoint(block("entry"));
        script_.set_attributes(function_);
        for (size_t i = 0; i < variants_.size();) {
            const Variant& variant = script_.plan.variants[variants_[i]];
            Needs needs = needs_of(script_, variant);
            if (needs == Needs::Context) {
                run_with_context(variants_[i++]);
            } else if (needs == Needs::Nothing) {
                run_lean(variants_[i++], nullptr);
            } else if (needs == Needs::Locks) {
                auto* done = block("done");
                LockedRun locked(script_, builder_, function_, variants_[i]);
                locked.enter(done);
                run_lean(variants_[i++], &locked);
                locked.leave();
                builder_.CreateBr(done);
                builder_.SetInsertPoint(done);
            } else {
                // One stretch without preemption for as many handlers as want it.
                size_t end = i + 1;
                while (end < variants_.size() &&
                       needs_of(script_, script_.plan.variants[variants_[end]]) == needs)
                    end++;
                LeanRecorder recorder(script_, builder_, function_);
                auto* done = block("done");
                recorder.enter(done);
                for (; i < end; i++)
                    run_lean(variants_[i], nullptr);
                recorder.leave();
                builder_.CreateBr(done);
                builder_.SetInsertPoint(done);
            }
        }
        builder_.CreateRetVoid();
        return {function_, std::move(calls_)};
    }

  private:
    llvm::BasicBlock* block(const char* name) {
        return llvm::BasicBlock::Create(script_.context, name, function_);
    }

    HitContext hit_of(const Variant& variant) {
        HitContext hit;
        hit.reg = [this](PtReg reg) -> llvm::Value* { return value_of(reg); };
        hit.return_value = [this] { return script_.number(0); };
        hit.accesses = &variant.accesses;
        hit.defined = &variant.defined;
        hit.entry_values = &variant.probe->entry_values;
        return hit;
    }

    llvm::Value* value_of(PtReg reg) {
        for (size_t i = 0; i < argument_registers.size(); i++)
            if (argument_registers[i] == reg)
                return function_->getArg(static_cast<unsigned>(i));
        // The stack as the probed function finds it: above the return address of the direct call.
        if (reg == PtReg::Rsp) {
            auto* slot = builder_.CreateIntrinsic(llvm::Intrinsic::addressofreturnaddress,
                                                  {script_.types.pointer}, {});
            return builder_.CreateAdd(builder_.CreatePtrToInt(slot, script_.types.i64),
                                      script_.number(8));
        }
        return script_.number(0);
    }

    llvm::Value* return_address() {
        auto* from =
            builder_.CreateIntrinsic(llvm::Intrinsic::returnaddress, {}, {script_.word(0)});
        return builder_.CreatePtrToInt(from, script_.types.i64);
    }

    llvm::Value* field(llvm::Value* ctx, size_t offset) {
        return builder_.CreateConstGEP1_32(script_.types.i8, ctx, static_cast<unsigned>(offset));
    }

    void run_lean(uint32_t number, LockedRun* locked) {
        const Variant& variant = script_.plan.variants[number];
        auto* start = block("handler");
        builder_.CreateBr(start);
        builder_.SetInsertPoint(start);
        Body body(script_, function_, builder_, nullptr, nullptr, variant.probe->locals,
                  hit_of(variant));
        if (locked)
            locked->keep_errors_of(body);
        body.emit_probe(*variant.probe->body, variant.probe->condition.get());
        bound_lifetimes(start, body.slots());
    }

    void run_with_context(uint32_t number) {
        const Variant& variant = script_.plan.variants[number];
        auto *start = block("handler"), *run = block("run"), *next = block("next_handler");
        builder_.CreateBr(start);
        builder_.SetInsertPoint(start);
        HitContext hit = hit_of(variant);
        llvm::Value* ctx =
            builder_.CreateCall(script_.runtime("djs_enter"),
                                {script_.handler_address(number), site_of(number)}, "ctx");
        builder_.CreateCondBr(builder_.CreateIsNotNull(ctx), run, next);
        builder_.SetInsertPoint(run);
        llvm::Value* memory =
            builder_.CreateLoad(script_.types.pointer, field(ctx, offsetof(djs_ctx, scratch)));
        llvm::AllocaInst* registers =
            asks_for_registers(script_) ? store_registers(ctx, hit) : nullptr;
        Body body(script_, function_, builder_, ctx, memory, variant.probe->locals, hit);
        body.count_actions(variant.probe->effects.loops);
        body.emit_probe(*variant.probe->body, variant.probe->condition.get());
        std::vector<llvm::AllocaInst*> slots = body.slots();
        if (registers) { // the context is shared with handlers that have none
            builder_.CreateStore(script_.null(), field(ctx, offsetof(djs_ctx, regs)));
            slots.push_back(registers);
        }
        builder_.CreateCall(script_.runtime("djs_leave"), {ctx});
        bound_lifetimes(run, slots);
        builder_.CreateBr(next);
        builder_.SetInsertPoint(next);
        scratch_ = std::max(
            scratch_,
            static_cast<uint32_t>(
                Depth(script_, Depth::Of::Scratch).deepest(body.scratch_used(), body.calls())));
        calls_.insert(calls_.end(), body.calls().begin(), body.calls().end());
    }

    // The site that was hit; null where there are several and nobody asks which.
    llvm::Value* site_of(uint32_t variant) {
        std::vector<uint32_t> sites;
        for (uint32_t i = 0; i < script_.plan.sites.size() && sites.size() < 2; i++)
            if (script_.plan.sites[i].variant == variant && script_.plan.sites[i].target == index_)
                sites.push_back(i);
        if (sites.size() == 1)
            return script_.site_address(sites[0]);
        if (!asks_for_site(script_))
            return script_.null();
        return builder_.CreateCall(script_.runtime("djs_find_site"),
                                   {script_.handler_address(variant), return_address()});
    }

    llvm::AllocaInst* store_registers(llvm::Value* ctx, const HitContext& hit) {
        auto* type = llvm::ArrayType::get(script_.types.i64, static_cast<size_t>(PtReg::Ss) + 1);
        llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
        llvm::AllocaInst* regs = at_entry.CreateAlloca(type, nullptr, "regs");
        builder_.CreateStore(llvm::ConstantAggregateZero::get(type), regs);
        auto store = [&](PtReg reg, llvm::Value* value) {
            builder_.CreateStore(
                value, builder_.CreateConstGEP2_32(type, regs, 0, static_cast<unsigned>(reg)));
        };
        for (PtReg reg : argument_registers)
            store(reg, hit.reg(reg));
        store(PtReg::Rsp, hit.reg(PtReg::Rsp));
        store(PtReg::Rip, return_address());
        builder_.CreateStore(regs, field(ctx, offsetof(djs_ctx, regs)));
        return regs;
    }

    // Handlers run one after the other: what one has on the stack, the next may have again.
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
    std::vector<ScratchCall> calls_;
};

} // namespace

CompiledTarget compile_target(ScriptModule& script, uint32_t target, uint32_t& scratch) {
    return TargetCompiler(script, target, scratch).compile();
}

} // namespace djstap::codegen
