// SPDX-License-Identifier: GPL-2.0-or-later
// Hooks of the packet filter, and breakpoints on data.
#include "hooks_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>
#include <linux/netfilter.h>

#include <cerrno>
#include <climits>
#include <string>

namespace {

class Hooks : public testing::Test {
  protected:
    void SetUp() override {
        test_hooks_begin();
        for (u32 i = 0; i < TEST_HOOKS; i++) {
            sites_[i].mechanism = mechanism_;
            sites_[i].handler = i;
        }
        djs_script.handlers = handlers_;
        djs_script.handler_count = TEST_HOOKS;
        djs_script.sites = sites_;
        djs_script.site_count = 1;
        test_hooks[0].wanted = true;
        calls = 0;
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        test_hook_error = 0;
        for (auto& hook : test_hooks)
            hook.wanted = false;
        test_netfilter_disarm();
        test_breakpoints_disarm();
        EXPECT_EQ(guarded_count(), 0U);
        EXPECT_EQ(test_atomic_depth, 0);
        djs_script = {};
    }
    explicit Hooks(u8 mechanism) : mechanism_(mechanism) {}
    static inline u32 calls;
    static std::string log() { return taken_log(test_hooks_log); }

    const u8 mechanism_;
    djs_handler handlers_[TEST_HOOKS]{};
    djs_site sites_[TEST_HOOKS]{};
};

// ---- packets ------------------------------------------------------------------------------------

class PacketHooks : public Hooks {
  protected:
    PacketHooks() : Hooks(DJS_MECHANISM_NETFILTER) {
        for (auto& handler : handlers_) {
            handler.arguments[DJS_NETFILTER_FAMILY] = NFPROTO_IPV4;
            handler.arguments[DJS_NETFILTER_HOOK] = NF_INET_LOCAL_OUT;
        }
    }
};

TEST_F(PacketHooks, AreRegisteredAsTheScriptSays) {
    djs_script.site_count = 3;
    handlers_[0].arguments[DJS_NETFILTER_PRIORITY] = static_cast<u64>(-400);
    test_hooks[1].wanted = true;
    handlers_[1].arguments[DJS_NETFILTER_FAMILY] = NFPROTO_INET;
    handlers_[1].arguments[DJS_NETFILTER_HOOK] = NF_INET_POST_ROUTING;
    handlers_[1].arguments[DJS_NETFILTER_PRIORITY] = 7;
    test_hooks[2].wanted = true;
    sites_[2].mechanism = DJS_MECHANISM_TIMER;
    EXPECT_EQ(test_netfilter_attach(), 0);
    EXPECT_EQ(log(), "hook 3 of family 2, priority -400\nhook 4 of family 1, priority 7\n");
    EXPECT_TRUE(test_hooks[0].armed);
    EXPECT_TRUE(test_hooks[1].armed);
    EXPECT_FALSE(test_hooks[2].armed);
    EXPECT_EQ(test_netfilter_attach(), 0); // they are
    test_netfilter_disarm();               // and are wanted
    EXPECT_EQ(log(), "");
    test_hooks[0].wanted = false;
    test_netfilter_disarm();
    EXPECT_EQ(log(), "no hook 3\nwaited\n");
    EXPECT_EQ(test_count_at_wait, 2U); // a packet may still be in it
    EXPECT_FALSE(test_hooks[0].armed);
    EXPECT_FALSE(test_hooks[0].has_data);
    EXPECT_TRUE(test_hooks[1].armed);
    EXPECT_EQ(guarded_count(), 1U);
    EXPECT_EQ(test_netfilter_attach(), 0);
    test_netfilter_disarm();
    EXPECT_EQ(log(), "");
    test_hooks[0].wanted = true;
    EXPECT_EQ(test_netfilter_attach(), 0);
    EXPECT_EQ(log(), "hook 3 of family 2, priority -400\n");
}

TEST_F(PacketHooks, HaveTheArgumentsOfACall) {
    EXPECT_EQ(test_netfilter_attach(), 0);
    log();
    test_hook_handler = [](pt_regs* regs) {
        const u64 expected[] = {4, 1, 2, 3, NF_ACCEPT, 5};
        for (u32 i = 0; i < 6; i++)
            EXPECT_EQ(test_hook_argument(regs, i + 1), expected[i]) << i;
    };
    EXPECT_EQ(test_packet(), u32{NF_ACCEPT});
    EXPECT_EQ(log(), "handler 0\n");
}

TEST_F(PacketHooks, DropAPacketOrLetItPass) {
    handlers_[0].by_regs = [](void* unused, pt_regs* regs) {
        EXPECT_EQ(unused, nullptr);
        EXPECT_EQ(test_hook_argument(regs, 5), u64{NF_ACCEPT});
        test_hook_set_argument(regs, 5, calls);
        return 1; // which is no verdict
    };
    EXPECT_EQ(test_netfilter_attach(), 0);
    log();
    for (calls = NF_DROP; calls <= NF_STOP; calls++)
        EXPECT_EQ(test_packet(), calls == NF_DROP ? u32{NF_DROP} : u32{NF_ACCEPT}) << calls;
    EXPECT_EQ(log(), "");
}

TEST_F(PacketHooks, NeedAFamilyThatTheKernelHas) {
    const struct {
        u64 family;
        bool exists;
    } cases[] = {{NFPROTO_INET, true}, {NFPROTO_IPV4, true},    {NFPROTO_ARP, true},
                 {NFPROTO_IPV6, true}, {NFPROTO_BRIDGE, false}, {NFPROTO_UNSPEC, false}};
    for (const auto& [family, exists] : cases) {
        handlers_[0].arguments[DJS_NETFILTER_FAMILY] = family;
        EXPECT_EQ(test_netfilter_attach(), 0);
        EXPECT_EQ(log(), exists ? "hook 3 of family " + std::to_string(family) + ", priority 0\n"
                                : "failed 0: this kernel has no hooks of that family (-95)\n");
        EXPECT_EQ(test_hooks[0].armed, exists) << family;
        test_hooks[0].wanted = false;
        test_netfilter_disarm();
        test_hooks_begin();
        test_hooks[0].wanted = true;
    }
}

TEST_F(PacketHooks, MayBeRejected) {
    test_hook_error = -EBUSY;
    EXPECT_EQ(test_netfilter_attach(), 0);
    EXPECT_EQ(log(),
              "hook 3 of family 2, priority 0\nfailed 0: the kernel rejects the hook (-16)\n");
    EXPECT_FALSE(test_hooks[0].armed);
    EXPECT_FALSE(test_hooks[0].has_data);
    EXPECT_EQ(guarded_count(), 0U);
    test_hook_error = 0;
    EXPECT_EQ(test_netfilter_attach(), 0); // it has failed
    EXPECT_EQ(log(), "");
}

TEST_F(PacketHooks, NeedMemory) {
    test_allocations_left = 0;
    EXPECT_EQ(test_netfilter_attach(), -ENOMEM);
    EXPECT_EQ(log(), "");
}

// ---- data ---------------------------------------------------------------------------------------

class DataBreakpoints : public Hooks {
  protected:
    DataBreakpoints() : Hooks(DJS_MECHANISM_BREAKPOINT) {
        for (u32 i = 0; i < TEST_HOOKS; i++) {
            handlers_[i].arguments[DJS_BREAKPOINT_ADDRESS] = 0x500 + i;
            handlers_[i].arguments[DJS_BREAKPOINT_BYTES] = 4;
        }
    }
};

TEST_F(DataBreakpoints, AreWhereTheScriptSays) {
    djs_script.site_count = 3;
    handlers_[1].arguments[DJS_BREAKPOINT_HOW] = DJS_BREAKPOINT_READS | DJS_BREAKPOINT_AS_LINKED;
    handlers_[1].arguments[DJS_BREAKPOINT_BYTES] = 8;
    test_hooks[1].wanted = test_hooks[2].wanted = true;
    sites_[2].mechanism = DJS_MECHANISM_TIMER;
    EXPECT_EQ(test_breakpoints_attach(), 0);
    // The kernel is 0x1000 bytes above its link-time address.
    EXPECT_EQ(log(), "breakpoint at 500, 4 bytes, 2\nbreakpoint at 1501, 8 bytes, 3\n");
    EXPECT_TRUE(test_hooks[0].armed);
    EXPECT_TRUE(test_hooks[1].armed);
    EXPECT_FALSE(test_hooks[2].armed);
    EXPECT_EQ(test_breakpoints_attach(), 0);
    test_breakpoints_disarm();
    EXPECT_EQ(log(), "");
    test_hooks[0].wanted = false;
    test_breakpoints_disarm();
    EXPECT_EQ(log(), "no breakpoint 0\n");
    EXPECT_FALSE(test_hooks[0].armed);
    EXPECT_FALSE(test_hooks[0].has_data);
    EXPECT_TRUE(test_hooks[1].armed);
    EXPECT_EQ(test_breakpoints_attach(), 0);
    test_breakpoints_disarm();
    EXPECT_EQ(log(), "");
}

TEST_F(DataBreakpoints, CallTheirHandlers) {
    test_breakpoint_hits_at_once = true;
    EXPECT_EQ(test_breakpoints_attach(), 0);
    EXPECT_EQ(log(), "breakpoint at 500, 4 bytes, 2\nhandler 0\n");
    test_hook_handler = [](pt_regs* regs) { calls += regs == reinterpret_cast<pt_regs*>(7); };
    test_breakpoint_hit(0, reinterpret_cast<pt_regs*>(7));
    EXPECT_EQ(calls, 1U);
    EXPECT_EQ(log(), "handler 0\n");
    handlers_[0].by_regs = [](void* unused, pt_regs* regs) {
        calls += unused == nullptr && regs == reinterpret_cast<pt_regs*>(8);
        return 0;
    };
    test_breakpoint_hit(0, reinterpret_cast<pt_regs*>(8));
    EXPECT_EQ(calls, 2U);
    EXPECT_EQ(log(), "");
}

TEST_F(DataBreakpoints, SayWhyTheyAreNotSet) {
    const struct {
        int error;
        const char* why;
    } cases[] = {
        {-ENOSPC, "all breakpoints of the processor are in use"},
        {-EBUSY, "all breakpoints of the processor are in use"},
        {-ENOMEM, "there is no memory for a breakpoint on each CPU"},
        {-EINVAL, "the processor or the kernel does not accept a breakpoint there"},
    };
    for (const auto& [error, why] : cases) {
        test_hooks_begin();
        test_hooks[0].wanted = true;
        test_hook_error = error;
        EXPECT_EQ(test_breakpoints_attach(), 0);
        EXPECT_EQ(log(), "breakpoint at 500, 4 bytes, 2\nfailed 0: " + std::string(why) + " (" +
                             std::to_string(error) + ")\n");
        EXPECT_FALSE(test_hooks[0].armed);
        EXPECT_FALSE(test_hooks[0].has_data);
        test_hook_error = 0;
        EXPECT_EQ(test_breakpoints_attach(), 0);
        EXPECT_EQ(log(), "");
    }
}

} // namespace
