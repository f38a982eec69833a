// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/callers.h"

#include "arch/arch.h"
#include "arch/codegen.h"
#include "codegen/lean.h"
#include "include/script.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <cstddef>

namespace djstap::codegen {

namespace {

class CallerCheck {
  public:
    CallerCheck(ScriptModule& script, llvm::IRBuilder<>& builder, const Variant& variant,
                llvm::BasicBlock* others)
        : script_(script), builder_(builder), callers_(variant.callers),
          what_(variant.probe->points.front()->range), others_(others) {}

    void run(const ReturnAddresses& addresses) {
        if (is_program())
            bias_ = program_bias(addresses.ctx);
        llvm::Value* slot =
            builder_.CreateAdd(addresses.reg(callers_.reg), number(callers_.offset));
        llvm::Value* address = nullptr;
        if (addresses.returned) {
            address = addresses.reg(arch::instruction_pointer());
            // The return took it off the stack.
            slot = builder_.CreateSub(slot,
                                      number(static_cast<int64_t>(arch::return_address_bytes())));
        } else {
            address = load_return_address(slot);
        }
        if (uses_frame_pointer())
            frame_pointer_ =
                callers_.frame_pointer
                    ? load(builder_.CreateAdd(slot, number(*callers_.frame_pointer)))
                    : addresses.reg(*arch::register_of_dwarf(arch::frame_pointer_in_dwarf()));
        for (size_t i = 0; i < callers_.frames.size(); i++) {
            const CallerFrame& frame = callers_.frames[i];
            if (i + 1 == callers_.frames.size()) {
                go_on_if(follows_call(address, frame.code));
                break;
            }
            // Only where the return address says that the frame is there.
            slot = next_slot(address, slot, frame.calls);
            address = load_return_address(slot);
        }
    }

  private:
    llvm::ConstantInt* number(int64_t value) const { return script_.number(value); }

    bool is_program() const {
        return script_.plan.images[callers_.image].kind == ImageKind::Program;
    }

    bool uses_frame_pointer() const {
        return std::any_of(callers_.frames.begin(), callers_.frames.end(), [](const auto& frame) {
            return std::any_of(frame.calls.begin(), frame.calls.end(),
                               [](const auto& call) { return call.by_frame_pointer; });
        });
    }

    // Of a process, 0 is read where no memory is.
    llvm::Value* load(llvm::Value* slot) {
        if (is_program())
            return builder_.CreateCall(script_.runtime("djs_user_stack_word"), {slot});
        return builder_.CreateLoad(script_.types.i64,
                                   builder_.CreateIntToPtr(slot, script_.types.pointer));
    }

    // The kernel may have replaced it, where the return is probed by whomever.
    llvm::Value* load_return_address(llvm::Value* slot) {
        if (is_program())
            return builder_.CreateCall(script_.runtime("djs_user_return_address"), {slot});
        llvm::Value* address = load(slot);
        if (script_.kernel.rethook == 0)
            return address;
        llvm::BasicBlock* loaded = builder_.GetInsertBlock();
        auto* replaced = block("replaced");
        auto* known = block("return_address");
        builder_.CreateCondBr(
            arch::is_kernel_address(builder_, address,
                                    script_.kernel_address(script_.kernel.rethook)),
            replaced, known, llvm::MDBuilder(script_.context).createUnlikelyBranchWeights());
        builder_.SetInsertPoint(replaced);
        llvm::Value* original =
            call_slow(script_, builder_, "djs_slow_replaced_return", "djs_replaced_return", {slot});
        builder_.CreateBr(known);
        builder_.SetInsertPoint(known);
        auto* either = builder_.CreatePHI(script_.types.i64, 2);
        either->addIncoming(address, loaded);
        either->addIncoming(original, replaced);
        return either;
    }

    // The hit tells where the process has the program.
    llvm::Value* program_bias(llvm::Value* ctx) {
        auto field = [&](llvm::Type* type, llvm::Value* of, size_t offset) {
            return builder_.CreateLoad(
                type,
                builder_.CreateConstGEP1_32(script_.types.i8, of, static_cast<unsigned>(offset)));
        };
        llvm::Value* here = field(script_.types.i64, ctx, offsetof(djs_ctx, address));
        llvm::Value* site = field(script_.types.pointer, ctx, offsetof(djs_ctx, site));
        return builder_.CreateSub(here,
                                  field(script_.types.i64, site, offsetof(djs_site, address)));
    }

    llvm::Value* linked(uint64_t address) {
        if (bias_)
            return builder_.CreateAdd(bias_, number(static_cast<int64_t>(address)));
        return script_.image_address(builder_, callers_.image, address,
                                     script_.diagnostics.sources().text(what_));
    }

    // A call that never returns may be the last instruction of a range.
    llvm::Value* follows_call(llvm::Value* address, const std::vector<CodeRange>& code) {
        llvm::Value* inside = builder_.getFalse();
        for (const CodeRange& range : code) {
            llvm::Value* from_first =
                builder_.CreateSub(builder_.CreateSub(address, linked(range.begin)), number(1));
            inside = builder_.CreateOr(
                inside, builder_.CreateICmpULT(
                            from_first, number(static_cast<int64_t>(range.end - range.begin))));
        }
        return inside;
    }

    // Continues only if the address is that of one of these calls. Returns where the next return
    // address is.
    llvm::Value* next_slot(llvm::Value* address, llvm::Value* slot,
                           const std::vector<CallerFrame::Call>& calls) {
        llvm::Value* found = builder_.getFalse();
        llvm::Value *next = number(0), *from = slot, *saved = number(0);
        bool any_saved = false;
        for (const CallerFrame::Call& call : calls) {
            llvm::Value* here = builder_.CreateICmpEQ(address, linked(call.return_address));
            found = builder_.CreateOr(found, here);
            next = builder_.CreateSelect(here, number(call.next), next);
            if (frame_pointer_)
                from = builder_.CreateSelect(here, call.by_frame_pointer ? frame_pointer_ : slot,
                                             from);
            // Nothing is stored where the return address itself is.
            saved = builder_.CreateSelect(here, number(call.frame_pointer.value_or(0)), saved);
            any_saved |= call.frame_pointer.has_value();
        }
        go_on_if(found);
        llvm::Value* there = builder_.CreateAdd(from, next);
        if (frame_pointer_ && any_saved)
            frame_pointer_ =
                builder_.CreateSelect(builder_.CreateICmpEQ(saved, number(0)), frame_pointer_,
                                      load(builder_.CreateAdd(there, saved)));
        return there;
    }

    llvm::BasicBlock* block(const char* name) {
        return llvm::BasicBlock::Create(script_.context, name,
                                        builder_.GetInsertBlock()->getParent());
    }

    void go_on_if(llvm::Value* called) {
        auto* next = block("called");
        builder_.CreateCondBr(called, next, others_);
        builder_.SetInsertPoint(next);
    }

    ScriptModule& script_;
    llvm::IRBuilder<>& builder_;
    const Callers& callers_;
    SourceRange what_;
    llvm::BasicBlock* others_;
    llvm::Value* bias_ = nullptr;          // of a program: what is added to its addresses
    llvm::Value* frame_pointer_ = nullptr; // of the function to which the last address leads
};

} // namespace

void check_callers(ScriptModule& script, llvm::IRBuilder<>& builder, const Variant& variant,
                   const ReturnAddresses& addresses, llvm::BasicBlock* others) {
    if (!variant.callers.frames.empty())
        CallerCheck(script, builder, variant, others).run(addresses);
}

} // namespace djstap::codegen
