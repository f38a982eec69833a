// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles one trampoline: trampolines.cpp runs its handlers around the function,
// trampoline_contexts.cpp those that need a context.
#pragma once
#include "codegen/body.h"
#include "codegen/locked.h"
#include "codegen/trampolines.h"
#include "include/script.h"

#include <llvm/IR/MDBuilder.h>

#include <functional>
#include <map>

namespace djstap::codegen {

class TrampolineCompiler {
  public:
    TrampolineCompiler(ScriptModule& script, uint32_t index, uint32_t& scratch)
        : script_(script), index_(index), variants_(script.plan.trampolines[index].variants),
          scratch_(scratch), builder_(script.context) {}
    CompiledTrampoline compile();

  private:
    llvm::BasicBlock* block(const char* name) {
        return llvm::BasicBlock::Create(script_.context, name, function_);
    }

    // Runs all handlers of this kind, one after the other.
    void run_handlers(HandlerKind kind);

    // The frame of a trampoline with return handlers stays while the function runs, and those of
    // nested ones add up: if a task has used three quarters of its stack, the trampoline only
    // continues in the function, with its original arguments. An interrupt's stack begins at any
    // address, so the fast check for a task's stack does not apply to it: a trampoline with a
    // larger frame always uses the full check.
    void ask_for_stack();

    bool has_large_frame() const;

    llvm::MDNode* rarely() { return llvm::MDBuilder(script_.context).createBranchWeights(1, 2000); }

    // What a return probe keeps from function entry is in the trampoline's own frame.
    struct Saved {
        llvm::Value* values = nullptr;
        bool checked = false; // the word after them says whether they are valid
    };

    void save_entry_values(uint32_t number);
    llvm::Value* valid_word(uint32_t number);

    // Continues in a new block if the entry's values are valid; otherwise in `missing`.
    void check_saved(uint32_t number, llvm::BasicBlock* missing);

    llvm::AllocaInst* entry_alloca(llvm::Type* type);
    llvm::Value* load_result();
    HitContext hit_of(uint32_t number);
    llvm::Value* value_of(PtReg reg);

    // With return handlers, the frame also has to serve the function that continues.
    bool is_return_trampoline() const {
        return script_.plan.trampolines[index_].returns(script_.plan);
    }

    // Returns the frame pointer at function entry. For this the trampoline has a frame of the usual
    // form, in which it saves it.
    llvm::Value* callers_frame();

    llvm::Value* return_address();

    llvm::Value* field(llvm::Value* ctx, size_t offset) {
        return builder_.CreateConstGEP1_32(script_.types.i8, ctx, static_cast<unsigned>(offset));
    }
    void run_lean(uint32_t number, LockedRun* locked);
    void run_with_context(uint32_t number);

    llvm::Value* return_value_address(llvm::Value* ctx) {
        return field(ctx, offsetof(djs_ctx, return_value));
    }

    // Scripts with many handlers are compiled in half the time if a trampoline calls the form for
    // other mechanisms instead of containing the handler's code once more. That form does not know
    // what a return handler keeps from the entry, nor the caller's frame; and after a return, it
    // has no registers by which it could compare the callers once more.
    bool calls_body(const Variant& variant) const;

    void call_body(uint32_t number, llvm::Value* ctx);

    // Takes the CPU's context for the code that `emit` emits, and releases it; skips the code if
    // there is no context.
    using Emit = std::function<void(Body&, llvm::Value*)>;

    void with_context(uint32_t number, const Emit& emit);
    void with_context(uint32_t number, const std::function<void(llvm::Value*)>& run_it);

    // Returns its allocations on the stack.
    std::vector<llvm::AllocaInst*> emit_with(uint32_t number, llvm::Value* ctx, const Emit& emit);

    // In a function of its own, so that the handler's memory does not enlarge the trampoline's
    // frame.
    void emit_part(uint32_t number, llvm::Value* ctx, const Emit& emit);

    // Returns the only site of a variant at this trampoline; no_index if there are several.
    uint32_t only_site(uint32_t variant) const;

    // See HitContext::site_number. A context has the site.
    std::function<llvm::Value*()> site_number_of(uint32_t variant);

    // Returns the site that was hit; null if there are several and the handler does not need it.
    llvm::Value* site_of(uint32_t variant);

    llvm::AllocaInst* store_registers(llvm::Value* ctx, const HitContext& hit);
    void store_registers(llvm::Value* ctx, const HitContext& hit, llvm::Value* regs);

    // Handlers run one after the other: the next one may reuse the stack memory of the previous
    // one.
    void bound_lifetimes(llvm::BasicBlock* start, const std::vector<llvm::AllocaInst*>& slots);

    ScriptModule& script_;
    uint32_t index_;
    const std::vector<uint32_t>& variants_;
    uint32_t& scratch_;
    llvm::IRBuilder<> builder_;
    llvm::Function* function_ = nullptr;
    llvm::Value* return_value_ = nullptr; // after the function has returned
    // What the return handlers have made of it so far; null: none of them assigns to $return.
    llvm::AllocaInst* changed_result_ = nullptr;
    // In a part: the probed function's stack pointer, the return address of the direct call, and
    // the frame pointer at entry.
    llvm::Value *part_stack_ = nullptr, *part_address_ = nullptr, *part_frame_ = nullptr;
    std::vector<std::string> parts_;
    std::map<uint32_t, Saved> saved_; // by variant
    std::vector<ScratchCall> calls_;
    bool by_address_ = false; // it needs to know which of its functions was hit
};

} // namespace djstap::codegen
