// SPDX-License-Identifier: GPL-2.0-or-later
// What kprobes and kretprobes ask of the kernel, what it makes of them, and their hits.
#include "globals_for_test.h"
#include "kernel_for_test.h"
#include "kprobes_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

namespace {

class Kprobes : public testing::Test {
  protected:
    void SetUp() override {
        test_kprobes_begin();
        for (u32 i = 0; i < TEST_KPROBES; i++) {
            sites_[i].handler = i;
            test_kprobe_sites[i].mechanism = DJS_MECHANISM_KPROBE;
            test_kprobe_sites[i].text[0] = 'b';
        }
        djs_script.handlers = handlers_;
        djs_script.handler_count = TEST_KPROBES;
        djs_script.sites = sites_;
        djs_script.site_count = TEST_KPROBES;
        djs_script.site_texts = texts_;
        calls = 0;
    }
    void TearDown() override {
        test_pages_available = LONG_MAX / 2;
        EXPECT_EQ(test_kprobes_registered(), 0U);
        djs_script = {};
    }
    static inline u32 calls;
    static std::string log() { return taken_log(test_kprobes_log); }
    // What the kernel makes of a probe of this mechanism, or what is said of that.
    static std::string verified(u8 mechanism) {
        test_kprobe_sites[0].mechanism = mechanism;
        test_kprobe_sites[0].error = 0;
        test_kprobe_waited_ms = 0;
        test_kprobe_verify(0);
        const std::string said = log();
        return said.empty() ? djs_mechanism_name(test_kprobe_sites[0].mechanism) : said;
    }

    djs_handler handlers_[TEST_KPROBES]{};
    djs_site sites_[TEST_KPROBES]{};
    char texts_[100]{};
};

TEST_F(Kprobes, AreOfSomeMechanisms) {
    for (u32 i = 0; i < DJS_MECHANISM_COUNT; i++) {
        test_kprobe_sites[1].mechanism = static_cast<u8>(i);
        EXPECT_EQ(test_kprobe_is_one(false, 1),
                  i == DJS_MECHANISM_KPROBE || i == DJS_MECHANISM_KPROBE_INT3 ||
                      i == DJS_MECHANISM_KPROBE_JUMP || i == DJS_MECHANISM_KPROBE_FTRACE)
            << i;
        EXPECT_EQ(test_kprobe_is_one(true, 1), i == DJS_MECHANISM_KRETPROBE) << i;
        EXPECT_EQ(test_kprobe_may_become_one(false, 1),
                  i == DJS_MECHANISM_DJPROBE || i == DJS_MECHANISM_RETURN_DJPROBE)
            << i;
        EXPECT_EQ(test_kprobe_may_become_one(true, 1), i == DJS_MECHANISM_RETURN_DJPROBE) << i;
    }
    test_kprobe_sites[1].error = -EINVAL;
    for (const bool returns : {false, true}) {
        test_kprobe_sites[1].mechanism = returns ? DJS_MECHANISM_KRETPROBE : DJS_MECHANISM_KPROBE;
        EXPECT_FALSE(test_kprobe_is_one(returns, 1));
    }
    // The kernel calls the kprobe of an address that was registered last first.
    EXPECT_TRUE(test_kprobe_latest_first(false));
    EXPECT_FALSE(test_kprobe_latest_first(true));
    EXPECT_STREQ(test_kprobe_rejected(false), "the kernel rejects a kprobe at its address");
    EXPECT_STREQ(test_kprobe_rejected(true), "the kernel rejects a kretprobe at its address");
}

TEST_F(Kprobes, AreOfTheirKind) {
    for (const bool returns : {false, true}) {
        const std::string kind = returns ? "kretprobes\n" : "kprobes\n";
        EXPECT_EQ(test_kprobes_attach(returns), -ENOMEM);
        EXPECT_EQ(log(), "attach " + kind);
        test_kprobes_disarm(returns);
        EXPECT_EQ(log(), "disarm " + kind);
        test_kprobes_detach(returns);
        EXPECT_EQ(log(), "detach " + kind);
        test_kprobes_forget(returns, 7);
        EXPECT_EQ(log(), "forget " + kind.substr(0, kind.size() - 1) + " of 7\n");
        test_kprobes_free(returns);
        EXPECT_EQ(log(), "free " + kind);
        EXPECT_EQ(test_kprobe_missed(returns, 2), 12U);
        EXPECT_EQ(test_kprobes_missed(returns), returns ? 4U : 3U);
    }
}

TEST_F(Kprobes, BecomeJumpsOnlyWhereThatIsProved) {
    const struct {
        u8 mechanism;
        u16 code_bytes;
        bool at_fentry, post;
    } cases[] = {
        {DJS_MECHANISM_KPROBE, 10, false, true},
        {DJS_MECHANISM_KPROBE_INT3, 10, false, true},
        {DJS_MECHANISM_KPROBE_JUMP, 10, false, false},
        {DJS_MECHANISM_KPROBE_JUMP, 0, false, true}, // nothing shows what the instructions are
        {DJS_MECHANISM_KPROBE_FTRACE, 0, false, false},
        // The kernel uses ftrace there, which it does not do for a kprobe with a post handler.
        {DJS_MECHANISM_KPROBE, 0, true, false},
    };
    for (const auto& each : cases) {
        test_kprobe_sites[0].mechanism = each.mechanism;
        test_kprobe_sites[0].at_fentry = each.at_fentry;
        sites_[0].code_bytes = each.code_bytes;
        const test_filled filled = test_kprobe_fill(false, 0);
        EXPECT_EQ(filled.post, each.post) << u32{each.mechanism} << ' ' << each.code_bytes;
        EXPECT_TRUE(filled.at_all);
    }
}

// ---- what the kernel makes of them --------------------------------------------------------------

TEST_F(Kprobes, AreWhatTheKernelMakesOfThem) {
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE), "kprobe-int3");
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE_INT3), "kprobe-int3");
    test_kprobe_sites[0].text[0] = 'j';
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE), "kprobe-jump");
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE_JUMP), "kprobe-jump");
    test_kprobe_sites[0].unreadable = true;
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE), "kprobe-int3");
    test_kprobe_sites[0].by_ftrace = true;
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE), "kprobe-ftrace");
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE_FTRACE), "kprobe-ftrace");
    EXPECT_EQ(test_kprobe_waited_ms, 0U);
}

TEST_F(Kprobes, AreNotWhatWasAskedFor) {
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE_FTRACE),
              "failed 0: the kernel uses a breakpoint there (-95)\n");
    test_kprobe_sites[0].by_ftrace = true;
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE_INT3),
              "failed 0: the kernel uses ftrace there (-95)\n");
    test_kprobe_sites[0].by_ftrace = false;
    // A breakpoint in place of a jump is slower, but as correct, unless the user asked for it.
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE_JUMP), "kprobe-int3");
    sites_[0].forced = 1;
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE_JUMP),
              "failed 0: the kernel did not optimize it into a jump (-95)\n");
    EXPECT_EQ(test_kprobe_waited_ms, 0U); // it cannot become one
}

TEST_F(Kprobes, BecomeJumpsLater) {
    sites_[0].code_bytes = 10;
    sites_[0].forced = 1;
    test_kprobe_jumps_ms = 250;
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE_JUMP), "kprobe-jump");
    EXPECT_EQ(test_kprobe_waited_ms, 250U);
    test_kprobe_jumps_ms = 0;
    test_kprobe_sites[0].text[0] = 'b';
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE_JUMP),
              "failed 0: the kernel did not optimize it into a jump (-95)\n");
    EXPECT_EQ(test_kprobe_waited_ms, 1000U);
    EXPECT_EQ(verified(DJS_MECHANISM_KPROBE_INT3), "kprobe-int3");
    EXPECT_EQ(test_kprobe_waited_ms, 0U);
}

TEST_F(Kprobes, BecomeJumpsOnlyIfTheKernelHasTheInstructionsOfItsFile) {
    // The file's bytes, then which of them are known.
    memcpy(texts_ + 3, "12345\1\1\1\1\0", 10);
    sites_[0].code = 3;
    sites_[0].code_bytes = 10;
    const auto checked = [&](const char* text) {
        memcpy(test_kprobe_sites[0].text, text, 6);
        test_kprobe_sites[0].mechanism = DJS_MECHANISM_KPROBE_JUMP;
        test_kprobe_check(0);
        return std::string(djs_mechanism_name(test_kprobe_sites[0].mechanism));
    };
    EXPECT_EQ(checked("123456"), "kprobe-jump");
    EXPECT_EQ(checked("1234x6"), "kprobe-jump"); // an address, which is not known
    EXPECT_EQ(checked("x23456"), "kprobe-int3");
    EXPECT_EQ(checked("123x56"), "kprobe-int3");
    EXPECT_EQ(log(), "");
    test_kprobe_sites[0].unreadable = true;
    EXPECT_EQ(checked("123456"), "kprobe-int3");
    test_kprobe_sites[0].unreadable = false;
    sites_[0].forced = 1;
    EXPECT_EQ(checked("123456"), "kprobe-jump");
    EXPECT_EQ(test_kprobe_sites[0].error, 0);
    EXPECT_EQ(checked("x23456"), "kprobe-jump");
    EXPECT_EQ(log(), "failed 0: the kernel has other instructions there than its file, or a probe "
                     "already: whether a jump is safe is unknown (-84)\n");
    // Without bytes there is nothing to compare; other mechanisms replace one instruction.
    sites_[0].code_bytes = 0;
    EXPECT_EQ(checked("x23456"), "kprobe-jump");
    sites_[0].code_bytes = 10;
    test_kprobe_sites[0].mechanism = DJS_MECHANISM_KPROBE_FTRACE;
    test_kprobe_check(0);
    EXPECT_EQ(test_kprobe_sites[0].mechanism, DJS_MECHANISM_KPROBE_FTRACE);
    EXPECT_EQ(log(), "");
}

TEST_F(Kprobes, AreComparedWithAsMuchAsAJumpReplaces) {
    memset(texts_, '-', sizeof(texts_));
    memset(test_kprobe_sites[0].text, '-', TEST_KPROBE_BYTES);
    for (const u32 bytes : {32U, 33U}) {
        sites_[0].code_bytes = static_cast<u16>(2 * bytes);
        test_kprobe_sites[0].mechanism = DJS_MECHANISM_KPROBE_JUMP;
        test_kprobe_check(0);
        EXPECT_EQ(test_kprobe_sites[0].mechanism,
                  bytes == 32 ? DJS_MECHANISM_KPROBE_JUMP : DJS_MECHANISM_KPROBE_INT3);
    }
}

TEST_F(Kprobes, MayHaveAddressesThatAreFurtherByTheKernelsDistance) {
    // The kernel is 0x1000 bytes above its link-time address.
    const u32 linked = 0x12345678, loaded = linked + 0x1000;
    memcpy(texts_, &linked, 4);
    memset(texts_ + 4, 1, 4);
    memcpy(test_kprobe_sites[0].text, &loaded, 4);
    sites_[0].code_bytes = 8;
    test_kprobe_sites[0].mechanism = DJS_MECHANISM_KPROBE_JUMP;
    test_kprobe_check(0);
    EXPECT_EQ(test_kprobe_sites[0].mechanism, DJS_MECHANISM_KPROBE_JUMP);
    sites_[0].segment = DJS_NO_INDEX; // an address of its own
    test_kprobe_check(0);
    EXPECT_EQ(test_kprobe_sites[0].mechanism, DJS_MECHANISM_KPROBE_INT3);
}

// ---- hits ---------------------------------------------------------------------------------------

TEST_F(Kprobes, RunTheHandlerBeforeTheInstruction) {
    int result = 1;
    const u64 ip = reinterpret_cast<u64>(test_kprobe_sites[1].text) + 1; // behind the breakpoint
    EXPECT_EQ(test_kprobe_hit(1, ip, &result), ip);
    EXPECT_EQ(result, 0); // the kernel goes on with the instruction
    EXPECT_EQ(log(), "handler 1\n");
    handlers_[1].by_regs = [](void* unused, pt_regs* regs) {
        calls += unused != nullptr && test_kprobe_regs_ip(regs) == 77;
        return 0;
    };
    EXPECT_EQ(test_kprobe_hit(1, 77, &result), 77U);
    EXPECT_EQ(calls, 1U);
    EXPECT_EQ(log(), "");
}

TEST_F(Kprobes, AreRegistered) {
    EXPECT_EQ(test_kprobe_register(false, 1), 0);
    EXPECT_EQ(log(), "kprobe 1, no jump\n");
    test_kprobe_unregister(false, 1);
    EXPECT_EQ(log(), "no kprobe 1\n");
    EXPECT_EQ(test_kprobes_register(false, 2), 0);
    EXPECT_EQ(log(), "2 kprobes:\nkprobe 0, no jump\nkprobe 1, no jump\n");
    test_kprobes_unregister(false, 2);
    EXPECT_EQ(log(), "no 2 kprobes:\nno kprobe 0\nno kprobe 1\n");
    test_kprobe_fails = 1;
    EXPECT_EQ(test_kprobe_register(false, 1), -EINVAL);
    EXPECT_EQ(test_kprobes_register(false, 2), -EINVAL);
}

// ---- returns ------------------------------------------------------------------------------------

class Kretprobes : public Kprobes {
  protected:
    void SetUp() override {
        Kprobes::SetUp();
        for (auto& kprobe : test_kprobe_sites)
            kprobe.mechanism = DJS_MECHANISM_KRETPROBE;
        sites_[1].address = 0x500;
        handlers_[1].saved = 2;
    }
};

TEST_F(Kretprobes, HaveInstancesForTheTasksInTheFunction) {
    test_filled filled = test_kprobe_fill(true, 1);
    EXPECT_TRUE(filled.at_all);
    EXPECT_FALSE(filled.entry);
    EXPECT_EQ(filled.bytes, 16U);
    EXPECT_EQ(filled.instances, 64);
    test_kprobe_cpus = 5;
    EXPECT_EQ(test_kprobe_fill(true, 1).instances, 80);
    sites_[1].maxactive = 7;
    handlers_[1].entry = [](djs_ctx*) {};
    filled = test_kprobe_fill(true, 1);
    EXPECT_TRUE(filled.entry);
    EXPECT_EQ(filled.instances, 7);
}

TEST_F(Kretprobes, NeedMemoryForTheirInstances) {
    // Of four CPUs, each has a table with room for 128, and 32 of them: 1 KiB + 32 * (40 + 56) =
    // one page.
    for (u32 i = 0; i < TEST_KPROBES; i++) {
        sites_[i].maxactive = 128;
        handlers_[i].saved = 7;
    }
    test_pages_available = 5; // a quarter is left to others
    EXPECT_TRUE(test_kprobes_have_memory(1));
    test_pages_available = 4;
    EXPECT_FALSE(test_kprobes_have_memory(1));
    test_pages_available = 10;
    EXPECT_TRUE(test_kprobes_have_memory(2));
    log();
    // One more is in a table of twice the size, and a second page.
    sites_[0].maxactive = 129;
    test_pages_available = 10;
    EXPECT_TRUE(test_kprobes_have_memory(1));
    test_pages_available = 9;
    EXPECT_FALSE(test_kprobes_have_memory(1));
    EXPECT_EQ(log(), "too little memory for the instances of 1 kretprobes (0 MB): use a smaller "
                     ".maxactive(N) or KRETACTIVE, or probe fewer functions\n");
    // 32 KiB + 1024 * 96 bytes for each CPU is half a MiB.
    for (u32 i = 0; i < TEST_KPROBES; i++)
        sites_[i].maxactive = 4096;
    EXPECT_FALSE(test_kprobes_have_memory(2));
    EXPECT_EQ(log().substr(0, 66),
              "too little memory for the instances of 2 kretprobes (1 MB): use a ");
}

TEST_F(Kretprobes, HaveAGuardAgainstJumps) {
    EXPECT_EQ(test_kprobe_register(true, 1), 0);
    EXPECT_EQ(log(), "kprobe 1, disabled, no jump\nkretprobe 1\n");
    test_kprobe_unregister(true, 1);
    EXPECT_EQ(log(), "no kretprobe 1\nno kprobe 1\n");
    test_kprobe_fails = 1;
    EXPECT_EQ(test_kprobe_register(true, 1), -EINVAL);
    EXPECT_EQ(log(), "kprobe 1, disabled, no jump: rejected\n");
    test_kprobe_fails = -1;
    test_kretprobe_fails = 1;
    test_kprobe_error = -ENOENT;
    EXPECT_EQ(test_kprobe_register(true, 1), -ENOENT);
    EXPECT_EQ(log(), "kprobe 1, disabled, no jump\nkretprobe 1: rejected\nno kprobe 1\n");
    test_kretprobe_fails = -1;
    test_kprobe_sites[1].at_fentry = true; // by ftrace, which makes no jump
    EXPECT_EQ(test_kprobe_register(true, 1), 0);
    test_kprobe_unregister(true, 1);
    EXPECT_EQ(log(), "kretprobe 1\nno kretprobe 1\n");
}

TEST_F(Kretprobes, AreRegisteredTogetherOrNotAtAll) {
    test_kprobe_sites[1].at_fentry = true;
    EXPECT_EQ(test_kprobes_register(true, 3), 0);
    EXPECT_EQ(log(), "kprobe 0, disabled, no jump\nkretprobe 0\nkretprobe 1\n"
                     "kprobe 2, disabled, no jump\nkretprobe 2\n");
    test_kprobes_unregister(true, 3);
    EXPECT_EQ(log(), "no 3 kretprobes:\nno kretprobe 0\nno kretprobe 1\nno kretprobe 2\n"
                     "no 2 kprobes:\nno kprobe 0\nno kprobe 2\n");
    EXPECT_EQ(test_kprobes_registered(), 0U);
    test_kretprobe_fails = 2;
    EXPECT_EQ(test_kprobes_register(true, 3), -EINVAL);
    EXPECT_EQ(test_kprobes_registered(), 0U);
    log();
    test_kprobe_fails = 0;
    EXPECT_EQ(test_kprobes_register(true, 3), -EINVAL);
    EXPECT_EQ(log(), "kprobe 0, disabled, no jump: rejected\n");
    for (auto& kprobe : test_kprobe_sites)
        kprobe.at_fentry = true;
    test_kretprobe_fails = -1;
    EXPECT_EQ(test_kprobes_register(true, 2), 0);
    log();
    test_kprobes_unregister(true, 2); // without guards
    EXPECT_EQ(log(), "no 2 kretprobes:\nno kretprobe 0\nno kretprobe 1\n");
}

TEST_F(Kretprobes, KeepWhatTheEntryFinds) {
    handlers_[1].entry = [](djs_ctx* ctx) {
        EXPECT_EQ(test_kprobe_regs_ip(ctx->regs), 5U);
        EXPECT_EQ(ctx->address, 0x1500U);
        EXPECT_EQ(ctx->returned, 0U);
        ctx->saved[0] = 11;
        ctx->saved[1] = 12;
    };
    handlers_[1].body = [](djs_ctx* ctx) {
        EXPECT_EQ(test_kprobe_regs_ip(ctx->regs), 6U);
        EXPECT_EQ(ctx->address, 0x1500U);
        EXPECT_EQ(ctx->returned, 1U);
        EXPECT_EQ(ctx->return_value, 40U);
        EXPECT_EQ(ctx->saved[0], 11U);
        EXPECT_EQ(ctx->saved[1], 12U);
        ctx->return_value = 41;
    };
    EXPECT_EQ(test_kretprobe_enters(1), 0);
    EXPECT_EQ(log(), "enter 1\nleave\n");
    int result = 1;
    EXPECT_EQ(test_kretprobe_returns(1, 40, &result), 41U);
    EXPECT_EQ(result, 0);
    EXPECT_EQ(log(), "enter 1\nleave\n");
}

TEST_F(Kretprobes, DoNotProbeTheReturnOfACallWhoseEntryFailed) {
    handlers_[1].entry = [](djs_ctx* ctx) { ctx->error = "an error"; };
    EXPECT_EQ(test_kretprobe_enters(1), 1);
    EXPECT_EQ(log(), "enter 1\nleave\n");
    test_kprobe_ctx.error = nullptr;
    test_kprobe_no_context = true;
    EXPECT_EQ(test_kretprobe_enters(1), 1);
    EXPECT_EQ(log(), "enter 1\n");
    handlers_[1].body = [](djs_ctx*) { calls++; };
    int result = 1;
    EXPECT_EQ(test_kretprobe_returns(1, 40, &result), 40U);
    EXPECT_EQ(result, 0);
    EXPECT_EQ(calls, 0U);
    EXPECT_EQ(log(), "enter 1\n");
    handlers_[1].by_regs = [](void* unused, pt_regs* regs) {
        calls += unused != nullptr && test_kprobe_regs_ip(regs) == 6;
        return 0;
    };
    test_kretprobe_returns(1, 40, &result);
    EXPECT_EQ(calls, 1U);
}

TEST_F(Kretprobes, KnowWhatTheyHaveReplaced) {
    u64 slot = 1, other = 2;
    const u64 at = reinterpret_cast<u64>(&slot), at_other = reinterpret_cast<u64>(&other);
    EXPECT_EQ(test_kprobe_replaced(at), 1U); // nothing
    test_kprobe_hooked(0, at, 10);
    test_kprobe_hooked(1, at_other, 20);
    test_kprobe_hooked(2, at, 30); // the first one, which found what the caller had
    test_kprobe_hooked(3, at_other, 40);
    EXPECT_EQ(test_kprobe_replaced(at), 30U);
    EXPECT_EQ(test_kprobe_replaced(at_other), 40U);
    // Of so many, each is looked at; not for ever.
    for (u32 i = 0; i < 1100; i++)
        test_kprobe_hooked(i, i == 1023 ? at : i == 1024 ? at_other : 0, 50);
    EXPECT_EQ(test_kprobe_replaced(at), 50U);
    EXPECT_EQ(test_kprobe_replaced(at_other), 2U);
}

} // namespace
