// SPDX-License-Identifier: GPL-2.0-or-later
// The calls in functions whose callees are known when they are compiled.
#include "made_kernel.h"

#include "arch/arch.h"

#include <algorithm>

namespace djstap {

namespace {

constexpr const char* calls_source = R"(
#define OWN __attribute__((noinline, noclone))
OWN int leaf(int n) { asm volatile(""); return n + 1; }
static inline __attribute__((always_inline)) int within(int n) { return leaf(n + 2) * 3; }
OWN int top(int n) { return leaf(n) + within(n); }
OWN int jump(int n) { return leaf(n + 5); }
OWN int pointer(int (*f)(int)) { return f(1) + 1; }
)";

const MadeKernel& calling() {
    static const MadeKernel made({{"calls.c", calls_source}}, {"-O2"});
    return made;
}

const CallSite* site_of_kind(const CallSites& calls, CallSite::Kind kind) {
    auto found = std::find_if(calls.sites.begin(), calls.sites.end(),
                              [&](const CallSite& site) { return site.kind == kind; });
    return found == calls.sites.end() ? nullptr : &*found;
}

TEST(MadeCalls, ReturnIntoTheirCaller) {
    const uint64_t top = calling().address("top");
    const CallSites calls = calling().info->calls({top, 0});
    ASSERT_EQ(calls.sites.size(), 2u);
    ASSERT_EQ(calls.code.size(), 1u);
    EXPECT_EQ(calls.code[0].begin, top);
    const CallSite* call = site_of_kind(calls, CallSite::Kind::Call);
    ASSERT_TRUE(call);
    EXPECT_EQ(call->callee.name, "leaf");
    EXPECT_EQ(call->callee.entry, calling().address("leaf"));
    EXPECT_GT(call->address, top);
    EXPECT_LE(call->address, calls.code[0].end);
    // The caller has pushed at least its own return address.
    ASSERT_TRUE(call->return_slot);
    EXPECT_EQ(call->return_slot->first, arch::stack_pointer());
    EXPECT_GE(call->return_slot->second, 8);
    // What is inlined has calls of its own.
    const CallSite* inlined = site_of_kind(calls, CallSite::Kind::Inlined);
    ASSERT_TRUE(inlined);
    EXPECT_EQ(inlined->inlined.function, "within");
    const CallSites inside = calling().info->calls({0, inlined->inlined.scope});
    ASSERT_EQ(inside.sites.size(), 1u);
    EXPECT_EQ(inside.sites[0].callee.name, "leaf");
    EXPECT_NE(inside.sites[0].address, call->address);
}

TEST(MadeCalls, JumpsAreProbedWhereTheyAre) {
    const CallSites calls = calling().info->calls({calling().address("jump"), 0});
    ASSERT_EQ(calls.sites.size(), 1u);
    const CallSite& jump = calls.sites[0];
    EXPECT_EQ(jump.kind, CallSite::Kind::Jump);
    EXPECT_EQ(jump.callee.name, "leaf");
    EXPECT_LT(jump.address, calls.code.at(0).end);
    ASSERT_TRUE(jump.return_slot);
    EXPECT_EQ(*jump.return_slot, std::pair(arch::stack_pointer(), int64_t{0}));
}

TEST(MadeCalls, ThroughPointersAreUnknown) {
    EXPECT_TRUE(calling().info->calls({calling().address("pointer"), 0}).sites.empty());
    EXPECT_TRUE(calling().info->calls({1, 0}).sites.empty());
}

} // namespace

} // namespace djstap
