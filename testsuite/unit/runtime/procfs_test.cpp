// SPDX-License-Identifier: GPL-2.0-or-later
// A script's files below /proc: who may use them, what they contain, and when they are removed.
#include "kernel_for_test.h"
#include "log_for_test.h"
#include "procfs_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <string>

namespace {

class ProcFiles : public testing::Test {
  protected:
    void SetUp() override {
        test_procfs_begin();
        for (u32 i = 0; i < TEST_PROCFS_SITES; i++) {
            sites_[i].mechanism = DJS_MECHANISM_PROCFS;
            sites_[i].handler = i;
            sites_[i].function = 0;
            handlers_[i].body = [](djs_ctx* ctx) { test_procfs_append(ctx, "text"); };
        }
        djs_script.handlers = handlers_;
        djs_script.handler_count = TEST_PROCFS_SITES;
        djs_script.sites = sites_;
        djs_script.site_count = 1;
        djs_script.site_texts = "first\0second";
        djs_script.string_bytes = 128;
        written.clear();
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        test_procfs_finish();
        EXPECT_FALSE(test_procfs_has_own);
        EXPECT_EQ(guarded_count(), 0U);
        EXPECT_EQ(test_procfs_module, 0);
        EXPECT_EQ(test_procfs_mounts, 0);
        EXPECT_EQ(test_atomic_depth, 0);
        djs_script = {};
    }
    void writes(u32 number) {
        handlers_[number].arguments[DJS_PROCFS_WRITES] = 1;
        handlers_[number].body = [](djs_ctx* ctx) { written += test_procfs_get(ctx); };
    }
    void second(u32 number) { sites_[number].function = 6; }
    enum { READ = 1, WRITE = 2 };
    static inline std::string written;
    static std::string log() { return taken_log(test_procfs_log); }
    static void attach() {
        ASSERT_EQ(test_procfs_attach(), 0);
        log();
    }
    static void end() {
        test_procfs_detach();
        test_procfs_waits = nullptr;
    }
    static std::string read(u32 descriptor, size_t bytes, loff_t& at) {
        std::string text(bytes, '-');
        const ssize_t result = test_procfs_read(descriptor, text.data(), bytes, &at);
        return result < 0 ? "error " + std::to_string(result)
                          : text.substr(0, static_cast<size_t>(result));
    }
    static std::string read(u32 descriptor) {
        loff_t at = 0;
        return read(descriptor, 1000, at);
    }

    djs_handler handlers_[TEST_PROCFS_SITES]{};
    djs_site sites_[TEST_PROCFS_SITES]{};
};

// ---- files --------------------------------------------------------------------------------------

TEST_F(ProcFiles, AreReadableAndWritableAsTheScriptSays) {
    djs_script.site_count = 5;
    writes(1);
    handlers_[1].arguments[DJS_PROCFS_UMASK] = 022;
    second(2);
    writes(2);
    handlers_[2].arguments[DJS_PROCFS_UMASK] = 02;
    handlers_[3].arguments[DJS_PROCFS_UMASK] = 0777; // the first one of a kind decides
    sites_[4].mechanism = DJS_MECHANISM_TIMER;
    EXPECT_EQ(test_procfs_attach(), 0);
    EXPECT_EQ(log(), "file first 0644\nfile second 0220\n");
    for (u32 i = 0; i < 4; i++)
        EXPECT_TRUE(test_procfs_armed[i]) << i;
    EXPECT_FALSE(test_procfs_armed[4]);
    EXPECT_TRUE(test_procfs_has_root);
    EXPECT_TRUE(test_procfs_has_own);
    EXPECT_EQ(test_procfs_attach(), 0); // they exist
    EXPECT_EQ(log(), "");
    end();
    EXPECT_FALSE(test_procfs_has_own);
    EXPECT_FALSE(test_procfs_has_root);
    EXPECT_EQ(guarded_count(), 0U);
    EXPECT_EQ(test_procfs_waited, 0U);
}

TEST_F(ProcFiles, WithoutAnyRightsAreRootsAlone) {
    djs_script.site_count = 2;
    handlers_[0].arguments[DJS_PROCFS_UMASK] = 0777;
    writes(1);
    second(1);
    handlers_[1].arguments[DJS_PROCFS_UMASK] = 0222;
    EXPECT_EQ(test_procfs_attach(), 0);
    EXPECT_EQ(log(), "file first 0400\nfile second 0400\n");
    end();
}

TEST_F(ProcFiles, AreNotNeededByOtherProbes) {
    sites_[0].mechanism = DJS_MECHANISM_TIMER;
    EXPECT_EQ(test_procfs_attach(), 0);
    EXPECT_FALSE(test_procfs_has_root);
    EXPECT_EQ(guarded_count(), 0U);
    end();
    EXPECT_FALSE(test_procfs_is_over());
}

TEST_F(ProcFiles, AreBesideThoseOfOtherScripts) {
    test_procfs_has_root = true;
    test_procfs_others = 1;
    attach();
    end();
    EXPECT_FALSE(test_procfs_has_own);
    EXPECT_TRUE(test_procfs_has_root);
}

TEST_F(ProcFiles, NeedTheFileSystem) {
    test_procfs_mount_error = -ENOMEM;
    EXPECT_EQ(test_procfs_attach(), -ENOMEM);
    test_procfs_mount_error = 0;
    end();
    test_procfs_begin();
    test_procfs_has_root = true;
    test_procfs_open_error = -EACCES;
    EXPECT_EQ(test_procfs_attach(), -EACCES);
    end();
    test_procfs_begin();
    test_procfs_has_root = true;
    test_procfs_stat_error = -EIO;
    EXPECT_EQ(test_procfs_attach(), -EIO);
    end();
    test_procfs_begin();
    test_procfs_refuses_root = true;
    EXPECT_EQ(test_procfs_attach(), -ENOMEM);
    end();
    test_procfs_begin();
    test_procfs_refuses_own = true;
    EXPECT_EQ(test_procfs_attach(), -ENOMEM);
    EXPECT_FALSE(test_procfs_has_root);
    end();
    EXPECT_EQ(guarded_count(), 0U);
    test_procfs_begin();
    test_procfs_has_root = test_procfs_refuses_own = true;
    test_procfs_others = 1;
    EXPECT_EQ(test_procfs_attach(), -ENOMEM);
    EXPECT_TRUE(test_procfs_has_root);
    end();
    test_procfs_begin();
    test_procfs_refuses_file = true;
    EXPECT_EQ(test_procfs_attach(), -EINVAL);
    end();
    EXPECT_FALSE(test_procfs_has_own);
    test_procfs_begin();
    test_allocations_left = 0;
    EXPECT_EQ(test_procfs_attach(), -ENOMEM);
    EXPECT_FALSE(test_procfs_has_root);
}

// ---- who may use them ---------------------------------------------------------------------------

TEST_F(ProcFiles, AreOpenToWhomTheirModeAdmits) {
    djs_script.site_count = 2;
    writes(1);
    handlers_[1].arguments[DJS_PROCFS_UMASK] = 02;
    attach(); // 0664
    test_procfs_may_open = false;
    EXPECT_EQ(test_procfs_open(0, "first", READ), 0);
    EXPECT_EQ(test_procfs_asked, -1);
    test_procfs_close(0);
    EXPECT_EQ(test_procfs_open(0, "first", WRITE), -EPERM);
    EXPECT_EQ(test_procfs_asked, 1);
    EXPECT_EQ(test_procfs_open(0, "first", READ | WRITE), -EPERM);
    test_procfs_may_open = true;
    EXPECT_EQ(test_procfs_open(0, "first", READ | WRITE), 0);
    test_procfs_close(0);
    EXPECT_EQ(guarded_count(), 1U);
    end();

    test_procfs_begin();
    handlers_[0].arguments[DJS_PROCFS_UMASK] = 04;
    handlers_[1].arguments[DJS_PROCFS_UMASK] = 020;
    attach(); // 0642
    test_procfs_may_open = false;
    EXPECT_EQ(test_procfs_open(0, "first", WRITE), 0);
    EXPECT_EQ(test_procfs_asked, -1);
    test_procfs_close(0);
    EXPECT_EQ(test_procfs_open(0, "first", READ), -EPERM);
    EXPECT_EQ(test_procfs_asked, 0);
}

TEST_F(ProcFiles, NeedMemoryWhenTheyAreOpened) {
    attach();
    test_allocations_left = 0;
    EXPECT_EQ(test_procfs_open(0, "first", READ), -ENOMEM);
}

TEST_F(ProcFiles, AreNotReadIfNoProbeDoes) {
    djs_script.site_count = 2;
    writes(0);
    second(1);
    attach();
    ASSERT_EQ(test_procfs_open(0, "first", READ | WRITE), 0);
    EXPECT_EQ(read(0), "error -22");
    EXPECT_EQ(test_procfs_write(0, "abc", 3), 3);
    EXPECT_EQ(written, "abc");
    ASSERT_EQ(test_procfs_open(1, "second", READ | WRITE), 0);
    EXPECT_EQ(test_procfs_write(1, "abc", 3), -EINVAL);
    EXPECT_EQ(read(1), "text");
    EXPECT_EQ(log(), "handler 0\nhandler 1\n");
    test_procfs_close(0);
    test_procfs_close(1);
}

// ---- what they contain --------------------------------------------------------------------------

TEST_F(ProcFiles, AreProducedWhenTheyAreReadFromTheBeginning) {
    attach();
    ASSERT_EQ(test_procfs_open(0, "first", READ), 0);
    loff_t at = 0;
    EXPECT_EQ(read(0, 3, at), "tex");
    EXPECT_EQ(log(), "handler 0\n");
    EXPECT_EQ(read(0, 3, at), "t");
    EXPECT_EQ(read(0, 3, at), "");
    EXPECT_EQ(log(), "");
    at = 0;
    EXPECT_EQ(read(0, 10, at), "text"); // again, and not twice
    EXPECT_EQ(log(), "handler 0\n");
    test_procfs_close(0);
}

TEST_F(ProcFiles, ConcernTheProbesOfTheirNameInTheScriptsOrder) {
    djs_script.site_count = 5;
    handlers_[0].body = [](djs_ctx* ctx) { test_procfs_append(ctx, "one"); };
    second(1);
    writes(2);
    handlers_[3].body = [](djs_ctx* ctx) { test_procfs_append(ctx, ", two"); };
    writes(4);
    attach();
    ASSERT_EQ(test_procfs_open(0, "first", READ | WRITE), 0);
    EXPECT_EQ(read(0), "one, two");
    EXPECT_EQ(log(), "handler 0\nhandler 3\n");
    EXPECT_EQ(test_procfs_write(0, "abc", 3), 3);
    EXPECT_EQ(log(), "handler 2\nhandler 4\n");
    EXPECT_EQ(written, "abcabc");
    loff_t at = 2; // what was read is consumed
    EXPECT_EQ(read(0, 10, at), "");
    test_procfs_close(0);
}

TEST_F(ProcFiles, HaveContentsOfTheirSize) {
    djs_script.string_bytes = 4;
    djs_script.site_count = 2;
    handlers_[0].arguments[DJS_PROCFS_BYTES] = 8;
    handlers_[0].body = [](djs_ctx* ctx) { test_procfs_set(ctx, "12345678"); };
    writes(1);
    attach();
    ASSERT_EQ(test_procfs_open(0, "first", READ | WRITE), 0);
    EXPECT_EQ(read(0), "1234567");
    EXPECT_EQ(test_procfs_write(0, "abcdefgh", 8), 8); // the rest is cut off
    EXPECT_EQ(written, "abcdefg");
    written.clear();
    EXPECT_EQ(test_procfs_write(0, "xyz", 3), 3);
    EXPECT_EQ(written, "xyz");
    handlers_[0].body = [](djs_ctx* ctx) {
        test_procfs_append(ctx, "12345");
        test_procfs_append(ctx, "678");
    };
    EXPECT_EQ(read(0), "1234567");
    test_procfs_close(0);
    end();
    // No less than any string.
    test_procfs_begin();
    djs_script.string_bytes = 10;
    attach();
    ASSERT_EQ(test_procfs_open(0, "first", WRITE), 0);
    written.clear();
    EXPECT_EQ(test_procfs_write(0, "abcdefghij", 10), 10);
    EXPECT_EQ(written, "abcdefghi");
    test_procfs_close(0);
}

TEST_F(ProcFiles, HaveNoContentOutsideOfTheirProbes) {
    djs_ctx ctx{};
    test_procfs_set(&ctx, "text");
    test_procfs_append(&ctx, "text");
    EXPECT_STREQ(test_procfs_get(&ctx), "");
}

TEST_F(ProcFiles, RunHandlersInTheTask) {
    handlers_[0].flags = DJS_HANDLER_IN_TASK;
    attach();
    ASSERT_EQ(test_procfs_open(0, "first", READ), 0);
    EXPECT_EQ(read(0), "text");
    EXPECT_EQ(log(), "task 0\n");
    test_procfs_no_context = true;
    EXPECT_EQ(read(0), "error -11");
    test_procfs_close(0);
}

TEST_F(ProcFiles, SayWhenAHandlerCannotRun) {
    djs_script.site_count = 3;
    writes(1);
    attach();
    ASSERT_EQ(test_procfs_open(0, "first", READ | WRITE), 0);
    EXPECT_EQ(read(0), "texttext");
    log();
    test_procfs_no_context = true;
    EXPECT_EQ(read(0), "error -11");
    EXPECT_EQ(log(), "handler 0\n"); // those behind it do not run either
    EXPECT_EQ(test_procfs_write(0, "abc", 3), -EAGAIN);
    EXPECT_EQ(written, "");
    test_procfs_no_context = false;
    loff_t at = 4;
    EXPECT_EQ(read(0, 10, at), "");
    EXPECT_EQ(read(0), "texttext");
    test_procfs_close(0);
}

TEST_F(ProcFiles, SayWhenMemoryCannotBeAccessed) {
    djs_script.site_count = 2;
    writes(1);
    attach();
    ASSERT_EQ(test_procfs_open(0, "first", READ | WRITE), 0);
    test_procfs_faults = true;
    EXPECT_EQ(read(0), "error -14");
    log();
    EXPECT_EQ(test_procfs_write(0, "abc", 3), -EFAULT);
    EXPECT_EQ(log(), "");
    test_procfs_is_interrupted = true;
    EXPECT_EQ(read(0), "error -512");
    EXPECT_EQ(test_procfs_write(0, "abc", 3), -512);
    test_procfs_is_interrupted = test_procfs_faults = false;
    EXPECT_EQ(read(0), "text");
    test_procfs_close(0);
}

TEST_F(ProcFiles, AreEmptyWhenTheirProbesTookTooMuchTime) {
    djs_script.site_count = 3;
    writes(1);
    second(2);
    attach();
    test_procfs_disarmed[0] = true;
    test_procfs_disarm();
    EXPECT_FALSE(test_procfs_armed[0]);
    EXPECT_TRUE(test_procfs_armed[1]);
    EXPECT_TRUE(test_procfs_armed[2]);
    ASSERT_EQ(test_procfs_open(0, "first", READ | WRITE), 0);
    EXPECT_EQ(read(0), "");
    EXPECT_EQ(test_procfs_write(0, "abc", 3), 3);
    EXPECT_EQ(log(), "handler 1\n");
    test_procfs_disarmed[0] = false; // it does not come back
    test_procfs_disarm();
    EXPECT_EQ(read(0), "");
    test_procfs_close(0);
}

// ---- their end ----------------------------------------------------------------------------------

TEST_F(ProcFiles, AreGoneForWhoeverHasThemOpen) {
    djs_script.site_count = 2;
    writes(1);
    attach();
    ASSERT_EQ(test_procfs_open(0, "first", READ | WRITE), 0);
    // What is open is closed before the kernel lets a file go; here, the session ends meanwhile.
    test_procfs_blocks = [] {
        test_procfs_blocks = nullptr;
        test_procfs_detach();
    };
    EXPECT_EQ(read(0), "text");
    EXPECT_EQ(log(), "handler 0\n1 call for a procfs file has not returned:  (0) reads\n");
    EXPECT_EQ(test_procfs_waited, 100U);
    EXPECT_TRUE(test_procfs_has_own);
    EXPECT_EQ(read(0), "error -5");
    EXPECT_EQ(test_procfs_write(0, "abc", 3), -EIO);
    EXPECT_EQ(log(), "");
    test_procfs_close(0);
    test_procfs_finish();
    EXPECT_FALSE(test_procfs_has_own);
    EXPECT_EQ(guarded_count(), 0U);
}

TEST_F(ProcFiles, RunNoHandlerOfASessionThatIsOver) {
    djs_script.site_count = 2;
    writes(1);
    attach();
    ASSERT_EQ(test_procfs_open(0, "first", WRITE), 0);
    test_procfs_blocks = [] { // while what is to be written is read
        test_procfs_blocks = nullptr;
        test_procfs_detach();
    };
    EXPECT_EQ(test_procfs_write(0, "abc", 3), -EAGAIN);
    EXPECT_EQ(written, "");
    EXPECT_EQ(log(), "1 call for a procfs file has not returned:  (0) writes\n");
    test_procfs_close(0);
}

TEST_F(ProcFiles, AreNotUsedWhileTheModuleIsUnloaded) {
    attach();
    ASSERT_EQ(test_procfs_open(0, "first", READ), 0);
    test_procfs_is_unloaded = true;
    EXPECT_EQ(read(0), "error -5");
    EXPECT_EQ(log(), "");
    test_procfs_close(0);
}

TEST_F(ProcFiles, AreRemovedWhenTheLastCallReturns) {
    attach();
    test_procfs_call_begins(0, "cat", 12, false);
    test_procfs_call_begins(1, "tee", 13, true);
    EXPECT_EQ(test_procfs_calls(), 2U);
    EXPECT_EQ(test_procfs_module, 2);
    test_procfs_call_ends(0);
    EXPECT_EQ(test_procfs_calls(), 1U);
    EXPECT_EQ(test_procfs_module, 1);
    test_procfs_waits = [] {
        if (test_procfs_waited == 100)
            test_procfs_call_ends(1);
    };
    end();
    EXPECT_EQ(test_procfs_waited, 100U);
    EXPECT_FALSE(test_procfs_has_own);
    EXPECT_EQ(log(), "");
}

TEST_F(ProcFiles, AreRemovedWhenAFailedStartHasWaitedForCalls) {
    attach();
    test_procfs_call_begins(0, "cat", 12, false);
    test_procfs_call_begins(1, "tee", 13, true);
    end();
    EXPECT_EQ(test_procfs_waited, 100U);
    EXPECT_EQ(log(), "2 calls for procfs files have not returned: cat (12) reads, tee (13) "
                     "writes\n");
    EXPECT_TRUE(test_procfs_has_own);
    test_procfs_call_ends(1);
    test_procfs_waits = [] {
        if (test_procfs_waited == 300)
            test_procfs_call_ends(0);
    };
    test_procfs_finish();
    test_procfs_waits = nullptr;
    EXPECT_EQ(test_procfs_waited, 300U);
    EXPECT_FALSE(test_procfs_has_own);
}

TEST_F(ProcFiles, NameAsManyCallsAsThereIsRoomFor) {
    attach();
    // 160 bytes, of which a name needs up to 40: after 120 there is room for one more.
    for (const bool fits : {true, false}) {
        for (u32 i = 0; i < 3; i++)
            test_procfs_call_begins(i, "fifteen letters", 1234567, true);
        test_procfs_call_begins(3, "a", fits ? 123456 : 1234567, false);
        test_procfs_call_begins(4, "b", 5, false);
        test_procfs_call_begins(5, "c", 6, false);
        test_procfs_detach();
        std::string expected = "6 calls for procfs files have not returned";
        const std::string name = "fifteen letters (1234567) writes";
        expected += ": " + name + ", " + name + ", " + name;
        expected += fits ? ", a (123456) reads, b (5) reads\n" : ", a (1234567) reads\n";
        EXPECT_EQ(log(), expected);
        for (u32 i = 0; i < 6; i++)
            test_procfs_call_ends(i);
        test_procfs_finish();
        test_procfs_begin();
        attach();
    }
}

} // namespace
