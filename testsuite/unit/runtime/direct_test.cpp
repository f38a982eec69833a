// SPDX-License-Identifier: GPL-2.0-or-later
// Direct calls: how they are attached and detached, and what becomes of sites that cannot have one;
// and the same sites by ftrace's own trampolines.
#include "direct_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace {

class DirectCalls : public testing::Test {
  protected:
    void SetUp() override {
        test_direct_begin();
        for (u32 i = 0; i < TEST_DIRECT_SITES; i++) {
            test_direct_sites[i].mechanism = DJS_MECHANISM_DJPROBE;
            sites_[i].handler = i;
            sites_[i].fallback = DJS_NO_FALLBACK;
            handlers_[i].body = [](djs_ctx*) {};
        }
        // Addresses that nobody calls here.
        trampolines_[0].direct = reinterpret_cast<djs_code*>(0x100);
        trampolines_[1].direct = reinterpret_cast<djs_code*>(0x200);
        trampolines_[1].dispatch = reinterpret_cast<djs_code*>(0x300);
        djs_script.handlers = handlers_;
        djs_script.handler_count = TEST_DIRECT_SITES;
        djs_script.sites = sites_;
        djs_script.site_count = TEST_DIRECT_SITES;
        djs_script.trampolines = trampolines_;
        djs_script.trampoline_count = 2;
        test_direct_group(0, 0, 3, 2);
        test_direct_group(1, 1, 2, 4);
    }
    void TearDown() override { djs_script = {}; }
    // The kernel's flags of an ftrace_ops, and commands to it, as stubs/linux/ftrace.h has them.
    enum : u64 { DYNAMIC = 2, SAVE_REGS = 4, OTHER = 8 };
    enum : u32 { SELF, PEER, NO_PEER };
    static void code() {}
    static std::string log() { return taken_log(test_direct_log); }
    static void calls(u32 number, u32 callee, const char* symbol, bool is_own = false) {
        strcpy(test_direct_sites[number].text, "c0");
        test_direct_sites[number].text[1] = static_cast<char>('0' + callee);
        test_callees[callee] = {symbol, is_own};
    }

    djs_handler handlers_[TEST_DIRECT_SITES]{};
    djs_site sites_[TEST_DIRECT_SITES]{};
    djs_trampoline trampolines_[2]{};
};

TEST_F(DirectCalls, AreAttachedAndDetached) {
    EXPECT_EQ(test_direct_attach(false, 0), 0);
    EXPECT_EQ(log(), "direct 0 with 100\n");
    test_direct_error = -EBUSY;
    EXPECT_EQ(test_direct_attach(false, 1), -EBUSY);
    test_direct_error = 0;
    EXPECT_EQ(test_direct_attach(false, 1), 0);
    EXPECT_EQ(log(), "direct 1 with 200\ndirect 1 with 200\n");
    // The first one has three functions, the second one two; what was refused does not count.
    EXPECT_EQ(test_directs_attach(false), 0);
    EXPECT_EQ(log(), "room at 0, 5 are own\nattach directs\n");

    test_direct_set_flags(0, DYNAMIC | OTHER);
    EXPECT_EQ(test_direct_disconnect(false, 0), 0);
    EXPECT_EQ(log(), "no ftrace 0\n"); // without a wait
    test_direct_release(false, 0);
    EXPECT_EQ(log(), "not direct 0 with 100\nfree 0\n");
    EXPECT_EQ(test_direct_flags(0), u64{OTHER});
    EXPECT_EQ(test_directs_attach(false), 0);
    EXPECT_EQ(log(), "room at 0, 2 are own\nattach directs\n");
}

TEST_F(DirectCalls, StayWhereTheKernelCannotDetachThem) {
    test_direct_error = -ENODEV;
    EXPECT_EQ(test_direct_disconnect(false, 0), -ENODEV);
    test_direct_error = 0;
    test_direct_sites[1].group = 0;
    calls(1, 0, "", true);
    EXPECT_EQ(test_direct_disconnect(false, 0), -ENODEV); // though it reported none
    EXPECT_EQ(test_direct_disconnect(false, 1), 0);       // that is not its site
    calls(1, 0, "");
    EXPECT_EQ(test_direct_disconnect(false, 0), 0);
    strcpy(test_direct_sites[1].text, "no-op");
    EXPECT_EQ(test_direct_disconnect(false, 0), 0);
}

TEST_F(DirectCalls, OfTheFirstAndOfTheLastSiteMayStayToo) {
    for (const u32 site : {0U, TEST_DIRECT_SITES - 1U}) {
        test_direct_sites[site].group = 0;
        calls(site, 0, "", true);
        EXPECT_EQ(test_direct_disconnect(false, 0), -ENODEV) << site;
        strcpy(test_direct_sites[site].text, "no-op");
        EXPECT_EQ(test_direct_disconnect(false, 0), 0) << site;
    }
}

TEST_F(DirectCalls, MayHaveReturnHandlers) {
    test_direct_sites[0].mechanism = DJS_MECHANISM_RETURN_DJPROBE;
    sites_[0].trampoline = 1;
    test_direct_prepare(false, 0);
    test_direct_prepare(false, 1);
    EXPECT_FALSE(test_direct_has_returns(0));
    EXPECT_TRUE(test_direct_has_returns(1));
    // Tasks may be inside as soon as it is attached.
    EXPECT_EQ(test_direct_attach(false, 1), 0);
    EXPECT_EQ(log(), "tasks may be inside\ndirect 1 with 200\n");
    EXPECT_EQ(test_direct_attach(false, 0), 0);
    EXPECT_EQ(log(), "direct 0 with 100\n");
}

TEST_F(DirectCalls, AreAimedAtTheFunctionOfAModule) {
    trampolines_[1].aim = reinterpret_cast<void*>(5);
    EXPECT_EQ(test_direct_attach(false, 1), 0);
    // Behind the landing pad of what is aimed, and behind the first instruction of the function.
    EXPECT_EQ(log(), "aim 304 at 4: 5\ndirect 1 with 200\n");
}

TEST_F(DirectCalls, ShareFunctionsWithLivepatches) {
    test_direct_prepare(false, 0);
    for (const u32 command : {SELF, PEER, NO_PEER})
        EXPECT_EQ(test_direct_share(0, command), 0);
    EXPECT_EQ(log(), "");
    // Unless handlers know the function by its address.
    trampolines_[0].by_address = 1;
    EXPECT_EQ(test_direct_share(0, SELF), -EBUSY);
    EXPECT_EQ(log(), "");
    EXPECT_EQ(test_direct_share(0, PEER), 0);
    EXPECT_EQ(log(), "a livepatch was applied: probes of several functions cannot name those that "
                     "it replaces\n");
    EXPECT_EQ(test_direct_share(0, NO_PEER), 0);
    EXPECT_EQ(log(), "");
}

// ---- sites that cannot have one -----------------------------------------------------------------

TEST_F(DirectCalls, OfOthersLeaveTheSiteToFtrace) {
    test_direct_refused(false, 0, -EBUSY);
    EXPECT_EQ(test_direct_sites[0].mechanism, DJS_MECHANISM_FTRACE);
    EXPECT_EQ(test_direct_sites[0].fallback, DJS_FALLBACK_BUSY);
    EXPECT_EQ(test_direct_sites[0].probe, reinterpret_cast<u64>(test_direct_sites[0].text));
    EXPECT_EQ(log(), "");
}

TEST_F(DirectCalls, OfOthersLeaveTheNextInstructionToAKprobe) {
    sites_[0].address = 0x8000;
    sites_[0].fallback = 5;
    const auto after = [&](const char* symbol) {
        test_direct_sites[0].mechanism = DJS_MECHANISM_DJPROBE;
        if (symbol)
            calls(0, 1, symbol);
        else
            strcpy(test_direct_sites[0].text, "no-op");
        test_direct_refused(false, 0, -EBUSY);
        return test_direct_sites[0].mechanism;
    };
    EXPECT_EQ(after("bpf_trampoline_6442"), DJS_MECHANISM_KPROBE);
    EXPECT_EQ(test_direct_sites[0].probe, 0x8005U + TEST_TABLE_BIAS);
    EXPECT_EQ(test_direct_sites[0].fallback, DJS_FALLBACK_BUSY);
    // A trampoline of ftrace has no symbol, or is one of the kernel's two.
    EXPECT_EQ(after("0xffffffffc0201000"), DJS_MECHANISM_FTRACE);
    EXPECT_EQ(after("ftrace_regs_caller+0x0/0x10"), DJS_MECHANISM_FTRACE);
    EXPECT_EQ(after(nullptr), DJS_MECHANISM_FTRACE);
    EXPECT_EQ(log(), "");
}

TEST_F(DirectCalls, OfReturnsHaveKretprobesInstead) {
    sites_[0].address = 0x8000;
    sites_[0].fallback = 5;
    for (const u32 i : {0, 1})
        test_direct_sites[i].mechanism = DJS_MECHANISM_RETURN_DJPROBE;
    test_direct_refused(false, 0, -EBUSY);
    EXPECT_EQ(test_direct_sites[0].mechanism, DJS_MECHANISM_KRETPROBE);
    EXPECT_EQ(test_direct_sites[0].probe, 0x8005U + TEST_TABLE_BIAS);
    test_direct_refused(false, 1, -EBUSY); // nowhere to place one
    EXPECT_EQ(test_direct_sites[1].mechanism, DJS_MECHANISM_RETURN_DJPROBE);
    EXPECT_EQ(test_direct_sites[1].fallback, DJS_FALLBACK_NONE);
    EXPECT_EQ(log(), "failed 1: another user has the function's direct call (-16)\n");
}

TEST_F(DirectCalls, FailWithoutAnotherWay) {
    test_direct_refused(false, 0, -EINVAL);
    EXPECT_EQ(log(), "failed 0: no fentry site at its address (-22)\n");
    sites_[1].forced = 1;
    test_direct_refused(false, 1, -EBUSY);
    EXPECT_EQ(log(), "failed 1: another user has the function's direct call (-16)\n");
    handlers_[2].body = nullptr;
    test_direct_refused(false, 2, -EBUSY);
    EXPECT_EQ(log(), "failed 2: another user has the function's direct call (-16)\n");
    for (u32 i = 0; i < 3; i++)
        EXPECT_EQ(test_direct_sites[i].mechanism, DJS_MECHANISM_DJPROBE) << i;
}

TEST_F(DirectCalls, AreNoMoreThanTheTableHasRoomFor) {
    djs_script.direct_table = 0x20000;
    test_direct_table_room = 1;
    for (auto& site : test_direct_sites)
        site.wanted = true;
    // 1 is at the same direct call as 0, as is 3 at that of 2.
    test_direct_sites[0].next = 1;
    test_direct_sites[2].next = 3;
    test_direct_sites[3].mechanism = DJS_MECHANISM_RETURN_DJPROBE;
    EXPECT_EQ(test_directs_attach(false), 0);
    EXPECT_EQ(log(), "room at 21000, 0 are own\nattach directs\n");
    const u8 expected[] = {DJS_MECHANISM_DJPROBE, DJS_MECHANISM_DJPROBE, DJS_MECHANISM_FTRACE,
                           DJS_MECHANISM_KRETPROBE, DJS_MECHANISM_FTRACE};
    for (u32 i = 0; i < TEST_DIRECT_SITES; i++) {
        EXPECT_EQ(test_direct_sites[i].mechanism, expected[i]) << i;
        EXPECT_EQ(test_direct_sites[i].fallback,
                  i < 2 ? DJS_FALLBACK_NONE : DJS_FALLBACK_TABLE_FULL)
            << i;
    }
}

TEST_F(DirectCalls, NeedRoomOnlyIfTheyAreToBeAttached) {
    test_direct_table_room = 1;
    test_direct_sites[0].wanted = test_direct_sites[0].armed = true;
    test_direct_sites[2].wanted = true;
    test_direct_sites[2].error = -EINVAL;
    test_direct_sites[3].wanted = true;
    test_direct_sites[3].mechanism = DJS_MECHANISM_TIMER;
    test_direct_sites[4].wanted = true;
    test_direct_groups_error = -ENOMEM;
    EXPECT_EQ(test_directs_attach(false), -ENOMEM);
    EXPECT_EQ(test_direct_sites[4].mechanism, DJS_MECHANISM_DJPROBE);
    EXPECT_EQ(test_direct_sites[1].mechanism, DJS_MECHANISM_DJPROBE);
    log();
    test_direct_none_to_attach = true;
    EXPECT_EQ(test_directs_attach(false), 0);
    EXPECT_EQ(log(), "");
}

TEST_F(DirectCalls, FailIfTheTableIsFullAndTheyHaveToBeDirect) {
    test_direct_table_room = 0;
    for (u32 i = 0; i < 3; i++)
        test_direct_sites[i].wanted = true;
    sites_[0].forced = 1;
    handlers_[1].body = nullptr;
    test_direct_sites[0].next = 1;
    test_direct_sites[1].next = 2;
    EXPECT_EQ(test_directs_attach(false), 0);
    EXPECT_EQ(log(), "room at 0, 0 are own\n"
                     "failed 0: the kernel's table of direct calls is full (-28)\n"
                     "failed 1: the kernel's table of direct calls is full (-28)\n"
                     "attach directs\n");
    EXPECT_EQ(test_direct_sites[0].mechanism, DJS_MECHANISM_DJPROBE);
    EXPECT_EQ(test_direct_sites[2].mechanism, DJS_MECHANISM_FTRACE);
}

TEST_F(DirectCalls, AreDisarmedWithThoseOfTheirGroup) {
    test_direct_sites[0].group = test_direct_sites[1].group = 0;
    test_direct_sites[2].group = test_direct_sites[3].group = 1;
    test_direct_sites[1].disarmed = true;
    test_direct_sites[3].mechanism = DJS_MECHANISM_FTRACE; // whose data is another's
    test_direct_sites[3].disarmed = true;
    test_direct_sites[4].disarmed = true; // it is not attached
    test_directs_disarm_sharing();
    EXPECT_TRUE(test_direct_sites[0].disarmed);
    EXPECT_TRUE(test_direct_sites[1].disarmed);
    EXPECT_FALSE(test_direct_sites[2].disarmed);
    EXPECT_TRUE(test_direct_sites[3].disarmed);
    EXPECT_TRUE(test_direct_sites[4].disarmed);
    test_direct_sites[3].disarmed = false;
    test_direct_sites[2].disarmed = true;
    test_directs_disarm_sharing();
    EXPECT_FALSE(test_direct_sites[3].disarmed);
    test_directs_disarm(false);
    EXPECT_EQ(log(), "detach directs\n");
}

// ---- ftrace -------------------------------------------------------------------------------------

TEST_F(DirectCalls, OfFtraceRunTheHandlerOfTheSite) {
    test_direct_prepare(true, 1);
    EXPECT_EQ(test_direct_flags(1), u64{SAVE_REGS});
    test_ftrace_hit(1, 0x400, 0x77);
    // Sites are known by the address that the call of the fentry site returns to.
    EXPECT_EQ(log(), "find 1, 405\nhandler 1 of 1 with 77\n");
    handlers_[0].by_ftrace = code;
    test_direct_prepare(true, 0);
    EXPECT_EQ(test_direct_flags(0), 0U);
    EXPECT_TRUE(test_ftrace_calls(0, code));
}

TEST_F(DirectCalls, OfFtraceAreAttachedAndDetached) {
    EXPECT_EQ(test_direct_attach(true, 0), 0);
    EXPECT_EQ(test_direct_disconnect(true, 0), 0);
    test_direct_release(true, 0);
    EXPECT_EQ(log(), "ftrace 0\nno ftrace 0\nfree 0\n");
    test_direct_error = -EBUSY;
    EXPECT_EQ(test_direct_attach(true, 0), -EBUSY);
    EXPECT_EQ(test_direct_disconnect(true, 0), -EBUSY);
    log();
    test_direct_refused(true, 2, -EBUSY);
    EXPECT_EQ(log(), "failed 2: ftrace rejected the function (-16)\n");
    test_direct_groups_error = -ENOMEM;
    EXPECT_EQ(test_directs_attach(true), -ENOMEM);
    test_directs_disarm(true);
    EXPECT_EQ(log(), "attach ftraces\ndetach ftraces\n");
    for (u32 i = 0; i < DJS_MECHANISM_COUNT; i++) {
        test_direct_sites[0].mechanism = static_cast<u8>(i);
        EXPECT_EQ(test_direct_takes(true, 0), i == DJS_MECHANISM_FTRACE) << i;
        EXPECT_EQ(test_direct_takes(false, 0),
                  i == DJS_MECHANISM_DJPROBE || i == DJS_MECHANISM_RETURN_DJPROBE)
            << i;
    }
}

} // namespace
