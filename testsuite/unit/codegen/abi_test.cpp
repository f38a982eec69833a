// SPDX-License-Identifier: GPL-2.0-or-later
// The structures and functions that a script's object shares with the runtime.
#include "codegen/abi.h"

#include "include/script.h"

#include <gtest/gtest.h>
#include <llvm/IR/DataLayout.h>

namespace djstap::codegen {

namespace {

constexpr const char* x86_64 =
    "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128";

// Fields of equal width can be exchanged without changing an offset: each has a value of its own.
TEST(Abi, HasEachFieldWhereTheHeadersHaveIt) {
    llvm::LLVMContext context;
    AbiTypes types(context);
    const llvm::DataLayout layout(x86_64);
    EXPECT_EQ("", types.disagreement(layout));
    llvm::Constant* order =
        types.make(contract::djs_map_order{.key = -1, .ascending = 2, .stat_op = 3, .fixed = 4});
    const auto at = [&](size_t offset) {
        const unsigned index =
            layout.getStructLayout(types.djs_map_order)->getElementContainingOffset(offset);
        return llvm::cast<llvm::ConstantInt>(order->getAggregateElement(index))->getSExtValue();
    };
    EXPECT_EQ(-1, at(offsetof(djs_map_order, key)));
    EXPECT_EQ(2, at(offsetof(djs_map_order, ascending)));
    EXPECT_EQ(3, at(offsetof(djs_map_order, stat_op)));
    EXPECT_EQ(4, at(offsetof(djs_map_order, fixed)));
}

TEST(Abi, TellsWhatIsElsewhere) {
    llvm::LLVMContext context;
    AbiTypes types(context);
    // Pointers of 32 bits: the second one of the first structure that has some.
    EXPECT_EQ("next", types.disagreement(llvm::DataLayout("e-p:32:32-i64:64")));
}

TEST(Abi, TakesSignaturesFromTheHeaders) {
    EXPECT_EQ("lplii", runtime_signature("djs_load"));
    EXPECT_EQ("vplili", runtime_signature("djs_store"));
    EXPECT_EQ("v", runtime_signature("djs_reschedule"));
    EXPECT_EQ("", runtime_signature("djs_load_nothing"));
}

} // namespace

} // namespace djstap::codegen
