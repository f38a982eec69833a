// SPDX-License-Identifier: GPL-2.0-or-later
// Which functions a trampoline may call in place of their callers: those whose arguments it can
// pass on, in the six registers of the psABI (3.2.3), and whose result is in a general-purpose
// register.
#include "unit/probes/whole_kernel.h"

#include "debuginfo/debuginfo.h"
#include "debuginfo/pattern.h"
#include "probes/return_safety.h"

namespace djstap::whole {
namespace {

using Verdict = ReturnSafety::Verdict;

class Returns : public testing::Test {
  protected:
    void SetUp() override {
        auto view = images.kernel_view();
        ASSERT_TRUE(view) << view.failure().message;
        auto opened = (*view)->debuginfo();
        ASSERT_TRUE(opened) << opened.failure().message;
        debuginfo = *opened;
    }
    FunctionInfo function(const char* name) const {
        auto found = debuginfo->functions(*parse_function_pattern(name), true);
        EXPECT_EQ(found.size(), 1U) << name;
        return found.empty() ? FunctionInfo() : std::move(found.front());
    }
    std::string judged(const char* name) const {
        return judge_return(function(name), *debuginfo).reason;
    }

    test::Folder cache;
    Images images{files().path()};
    const DebugInfo* debuginfo = nullptr;
};

TEST_F(Returns, ArgumentsFillSixRegisters) {
    const std::string all = "all arguments in registers",
                      not_all = "not all of its arguments are in registers";
    for (const char* name : {"with_site", "without_site", "returns_pointer", "six", "three_pairs",
                             "in_memory", "in_registers"})
        EXPECT_EQ(judged(name), all) << name;
    // Those of 24 bytes are on the stack; the address of a result is an argument.
    for (const char* name :
         {"seven", "pairs_and_one", "in_stack", "one_too_many", "in_union", "of_float"})
        EXPECT_EQ(judged(name), not_all) << name;
    EXPECT_EQ(judged("as_float"), "its result is not in a general-purpose register");
    EXPECT_EQ(judged("varies"), "it has variable arguments");
    EXPECT_EQ(judged("leaves"), "it does not return");
}

TEST_F(Returns, NamesTellWhatATypeDoesNot) {
    EXPECT_EQ(judged("do_exit"), "it may never return");
    const ReturnSafety sleeps = judge_return(function("hrtimer_nanosleep"), *debuginfo);
    EXPECT_EQ(sleeps.verdict, Verdict::Waits);
    EXPECT_EQ(sleeps.reason, "it sleeps by design");
    for (const char* part : {"with_site.part.0", "with_site.isra.0"}) {
        FunctionInfo changed = function("with_site");
        changed.symbol = part;
        EXPECT_EQ(judge_return(changed, *debuginfo).reason, "the compiler changed its parameters");
    }
    FunctionInfo clone = function("with_site");
    clone.symbol = "with_site.constprop.0";
    EXPECT_EQ(judge_return(clone, *debuginfo).verdict, Verdict::Safe);
    FunctionInfo unknown = function("with_site");
    unknown.return_type.reset();
    EXPECT_EQ(judge_return(unknown, *debuginfo).reason, "its arguments are unknown");
    // A system call has one argument, of which nothing need be known.
    unknown.is_syscall = true;
    EXPECT_EQ(judge_return(unknown, *debuginfo).verdict, Verdict::Safe);
}

TEST(ReturnNames, AreThoseOfTheSource) {
    for (const char* symbol :
         {"__x64_sys_read", "__ia32_sys_read", "__ia32_compat_sys_read", "__x64_compat_sys_read",
          "__se_sys_read", "__do_sys_read", "__se_compat_sys_read", "__do_compat_sys_read",
          "__do_sys_read.isra.0", "read"})
        EXPECT_EQ(return_name(symbol), "read") << symbol;
    EXPECT_EQ(return_name("ksys_read"), "ksys_read");
    EXPECT_EQ(return_name("__x64_sys___do_sys_x"), "__do_sys_x");
    EXPECT_EQ(return_name(""), "");
}

} // namespace
} // namespace djstap::whole
