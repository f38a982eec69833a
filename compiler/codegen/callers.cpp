// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/callers.h"

#include "arch/arch.h"

namespace djstap::codegen {

namespace {

class CallerCheck {
  public:
    CallerCheck(ScriptModule& script, llvm::IRBuilder<>& builder, const Variant& variant,
                llvm::BasicBlock* others)
        : script_(script), builder_(builder), callers_(variant.callers),
          what_(variant.probe->points.front()->range), others_(others) {}

    void run(const ReturnAddresses& addresses) {
        llvm::Value* slot =
            builder_.CreateAdd(addresses.reg(callers_.reg), number(callers_.offset));
        llvm::Value* address = nullptr;
        if (addresses.returned) {
            address = addresses.reg(arch::instruction_pointer());
            // The return took it off the stack.
            slot = builder_.CreateSub(slot,
                                      number(static_cast<int64_t>(arch::return_address_bytes())));
        } else {
            address = load(slot);
        }
        for (size_t i = 0; i < callers_.frames.size(); i++) {
            const CallerFrame& frame = callers_.frames[i];
            if (i + 1 == callers_.frames.size()) {
                go_on_if(follows_call(address, frame.code));
                break;
            }
            // Only where the return address says that the frame is there.
            slot = builder_.CreateAdd(slot, distance(address, frame.calls));
            address = load(slot);
        }
    }

  private:
    llvm::ConstantInt* number(int64_t value) const { return script_.number(value); }

    llvm::Value* load(llvm::Value* slot) {
        return builder_.CreateLoad(script_.types.i64,
                                   builder_.CreateIntToPtr(slot, script_.types.pointer));
    }

    llvm::Value* linked(uint64_t address) {
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

    // Continues only if the address is that of one of these calls.
    llvm::Value* distance(llvm::Value* address, const std::vector<CallerFrame::Call>& calls) {
        llvm::Value* found = builder_.getFalse();
        llvm::Value* next = number(0);
        for (const CallerFrame::Call& call : calls) {
            llvm::Value* here = builder_.CreateICmpEQ(address, linked(call.return_address));
            found = builder_.CreateOr(found, here);
            next = builder_.CreateSelect(here, number(call.next), next);
        }
        go_on_if(found);
        return next;
    }

    void go_on_if(llvm::Value* called) {
        auto* next = llvm::BasicBlock::Create(script_.context, "called",
                                              builder_.GetInsertBlock()->getParent());
        builder_.CreateCondBr(called, next, others_);
        builder_.SetInsertPoint(next);
    }

    ScriptModule& script_;
    llvm::IRBuilder<>& builder_;
    const Callers& callers_;
    SourceRange what_;
    llvm::BasicBlock* others_;
};

} // namespace

void check_callers(ScriptModule& script, llvm::IRBuilder<>& builder, const Variant& variant,
                   const ReturnAddresses& addresses, llvm::BasicBlock* others) {
    if (!variant.callers.frames.empty())
        CallerCheck(script, builder, variant, others).run(addresses);
}

} // namespace djstap::codegen
