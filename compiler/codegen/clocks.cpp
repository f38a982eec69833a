// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/clocks.h"

#include "arch/codegen.h"
#include "include/kernel_clock.h"

#include <llvm/IR/MDBuilder.h>

namespace djstap::codegen {

bool is_clock(const ScriptModule& script, const std::string& intrinsic) {
    return !script.kernel.user_space && script.kernel.offset &&
           script.kernel.offset("djs_cpu.locked_alone") &&
           (intrinsic == "gettimeofday_ns" || intrinsic == "ktime_get_ns" ||
            intrinsic == "local_clock_ns");
}

// The thread sanitizer would report each read that the latch finds to be useless.
bool is_read_inline(const ScriptModule& script, const std::string& intrinsic) {
    return is_clock(script, intrinsic) && intrinsic != "local_clock_ns" &&
           script.kernel.fast_clock && script.kernel.offset("tk_read_base.clock") &&
           script.kernel.sanitizer != Sanitizer::Thread;
}

namespace {

class ClockReader {
  public:
    ClockReader(ScriptModule& script, llvm::IRBuilder<>& builder)
        : script_(script), builder_(builder) {
        auto* type = llvm::ArrayType::get(script.types.pointer,
                                          sizeof(struct djs_kernel_clock) / sizeof(void*));
        variable_ = script.module.getOrInsertGlobal("djs_kernel_clock", type);
        llvm::cast<llvm::GlobalVariable>(variable_)->setDSOLocal(true);
    }

    llvm::Value* read(const std::string& intrinsic, const std::function<llvm::Value*()>& call) {
        auto *used = block("cycles"), *near = block("near"), *kept = block("kept"),
             *kernel = block("kernel_clock"), *done = block("time");
        llvm::Value* fast = builder_.CreateLoad(script_.types.pointer, variable_);
        llvm::Value* seq = sequence(fast);
        // The reads of the structure stay between the two of the latch: this statement orders
        // memory.
        llvm::Value* cycles = arch::read_clock_in_order(builder_);
        llvm::Value* odd = builder_.CreateZExt(builder_.CreateAnd(seq, 1), script_.types.i64);
        llvm::Value* base = builder_.CreateLoad(
            script_.types.pointer,
            builder_.CreateGEP(script_.types.pointer,
                               at(variable_, offsetof(struct djs_kernel_clock, base)), odd));
        llvm::Value* source = builder_.CreateLoad(
            script_.types.pointer, at(variable_, offsetof(struct djs_kernel_clock, cycles)));
        leave_if(builder_.CreateICmpNE(field(base, "clock", script_.types.pointer), source), kernel,
                 used);
        llvm::Value* passed =
            builder_.CreateSub(cycles, field(base, "cycle_last", script_.types.i64));
        // Further away, the product might overflow; also if another CPU's cycles are ahead.
        llvm::Value* limit = builder_.CreateLoad(
            script_.types.i64, at(variable_, offsetof(struct djs_kernel_clock, limit)));
        leave_if(builder_.CreateICmpUGT(passed, limit), kernel, near);
        llvm::Value* scaled = builder_.CreateAdd(
            builder_.CreateMul(passed, builder_.CreateZExt(field(base, "mult", script_.types.i32),
                                                           script_.types.i64)),
            field(base, "xtime_nsec", script_.types.i64));
        llvm::Value* shift =
            builder_.CreateZExt(field(base, "shift", script_.types.i32), script_.types.i64);
        // LLVM's shift is undefined beyond this; the processor's is modulo 64.
        shift = builder_.CreateAnd(shift, 63);
        llvm::Value* ns = builder_.CreateAdd(
            builder_.CreateLShr(scaled, shift),
            field(base, intrinsic == "gettimeofday_ns" ? "base_real" : "base", script_.types.i64));
        builder_.CreateFence(llvm::AtomicOrdering::Acquire);
        leave_if(builder_.CreateICmpNE(sequence(fast), seq), kernel, kept);
        builder_.CreateBr(done);
        builder_.SetInsertPoint(kernel);
        llvm::Value* called = call();
        auto* after_call = builder_.GetInsertBlock();
        builder_.CreateBr(done);
        builder_.SetInsertPoint(done);
        auto* time = builder_.CreatePHI(script_.types.i64, 2, "ns");
        time->addIncoming(ns, kept);
        time->addIncoming(called, after_call);
        return time;
    }

  private:
    int64_t number_of(const std::string& name) const { return script_.kernel.offset(name)->second; }
    llvm::Value* at(llvm::Value* address, int64_t offset) {
        return builder_.CreateGEP(script_.types.i8, address, script_.number(offset));
    }
    llvm::Value* field(llvm::Value* base, const std::string& name, llvm::Type* type) {
        return builder_.CreateLoad(type, at(base, number_of("tk_read_base." + name)));
    }
    llvm::Value* sequence(llvm::Value* fast) {
        return builder_.CreateLoad(script_.types.i32, fast);
    }
    void leave_if(llvm::Value* condition, llvm::BasicBlock* then, llvm::BasicBlock* otherwise) {
        builder_.CreateCondBr(condition, then, otherwise,
                              llvm::MDBuilder(script_.context).createUnlikelyBranchWeights());
        builder_.SetInsertPoint(otherwise);
    }
    llvm::BasicBlock* block(const char* name) {
        return llvm::BasicBlock::Create(script_.context, name,
                                        builder_.GetInsertBlock()->getParent());
    }

    ScriptModule& script_;
    llvm::IRBuilder<>& builder_;
    llvm::Constant* variable_;
};

} // namespace

llvm::Value* read_kernel_clock(ScriptModule& script, llvm::IRBuilder<>& builder,
                               const std::string& intrinsic,
                               const std::function<llvm::Value*()>& call) {
    return ClockReader(script, builder).read(intrinsic, call);
}

} // namespace djstap::codegen
