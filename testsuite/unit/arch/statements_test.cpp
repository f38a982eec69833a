// SPDX-License-Identifier: GPL-2.0-or-later
// What statements of inline assembly tell LLVM that they change. Anything else may be kept in place
// while they run (LangRef, Inline Assembler Expressions), so that a mistake is seen only if LLVM
// happens to do that.
#include "emitted.h"

#include <llvm/IR/InlineAsm.h>

namespace djstap::arch {
namespace {

class StatementsOfAssembly : public Emitted {
  protected:
    // The constraints of the one statement that is emitted.
    std::string constraints(const std::function<void()>& body) {
        llvm::Function* const function = declare("f", of_numbers(0));
        builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "", function));
        body();
        finish(number(0));
        std::string found;
        for (const llvm::Instruction& each : function->getEntryBlock()) {
            const auto* const call = llvm::dyn_cast<llvm::CallBase>(&each);
            if (!call)
                continue;
            if (const auto* text = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()))
                found += "<" + llvm::StringRef(text->getConstraintString()).str() + ">";
        }
        function->eraseFromParent();
        return found;
    }
};

// As clang writes them for x86: flags are in three registers.
TEST_F(StatementsOfAssembly, TellWhatTheyChange) {
    const std::string flags = "~{dirflag},~{fpsr},~{flags}", all = "~{memory}," + flags;
    // Nor may what reads or writes memory be moved across these.
    EXPECT_EQ(constraints([&] { read_clock(builder_); }), "<={ax},={dx}," + all + ">");
    EXPECT_EQ(constraints([&] { read_clock_in_order(builder_); }), "<={ax},={dx}," + all + ">");
    EXPECT_EQ(constraints([&] { disable_interrupts(builder_); }), "<" + all + ">");
    EXPECT_EQ(constraints([&] { enable_interrupts(builder_); }), "<" + all + ">");
    // `test` changes the flags alone; `pushf` and `pop` use the stack, and change no flag.
    EXPECT_EQ(constraints([&] { has_zero_stack_bits(builder_, 7); }), "<={@ccz}," + flags + ">");
    EXPECT_EQ(constraints([&] { enabled_interrupts(builder_); }), "<=r,~{memory}>");
    EXPECT_EQ(constraints([&] { emit_nothing(builder_); }), "<>");
}

} // namespace
} // namespace djstap::arch
