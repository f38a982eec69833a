// SPDX-License-Identifier: GPL-2.0-or-later
// Probes in programs: the files in which they are placed, and what a task does that hits one.
#include "kernel_for_test.h"
#include "programs_for_test.h"
#include "uprobe_for_test.h"
#include "ustack_for_test.h"

#include <cerrno>
#include <climits>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <vector>

extern "C" {
extern s32 djs_traced_pid;
extern bool djs_traced_executes;
}

namespace {

constexpr u64 probed_code = 0x401000, distance_in_file = 0x400000;

// What the last handler saw, and what it does.
struct Seen {
    u32 entries, bodies, by_regs;
    u64 address, saved, returned, result;
} hits_seen;
bool entry_fails;
u64 entry_value, changed_result;

class Uprobes : public testing::Test {
  protected:
    static constexpr u32 most = 4; // sites, handlers

    void SetUp() override {
        whole_.assign(0x2000, '\0');
        whole_.replace(0x200, 4, "IDID");
        whole_.replace(0x1000, 16, "0123456789abcdef");
        test_image_file(whole_.data(), whole_.size());
        test_read_most = ~u64{0};
        test_reads_left = LONG_MAX;
        set_file(0, "/bin/one", S_IFREG, 17);
        set_file(1, "/lib/two", S_IFREG, 18);
        set_file(2, "/bin/user", S_IFREG, 19);
        set_file(3, nullptr, S_IFREG, 20);
        set_task(4, 2);
        test_be_task(0);
        images_[0].name = "/bin/one";
        images_[0].build_id = reinterpret_cast<const u8*>("IDID");
        images_[0].build_id_bytes = 4;
        images_[0].build_id_address = 0x400200;
        images_[1].name = "/lib/two";
        segments_[0].address = 0x400000;
        segments_[0].check_address = 0x402000;
        segments_[0].file_distance = distance_in_file;
        segments_[1] = segments_[0];
        segments_[1].image = 1;
        for (u32 i = 0; i < most; i++) {
            handlers_[i].body = [](djs_ctx* ctx) {
                hits_seen.bodies++;
                hits_seen.address = ctx->address;
                hits_seen.saved = ctx->saved ? ctx->saved[0] : 0;
                hits_seen.returned = ctx->returned;
                hits_seen.result = ctx->return_value;
                if (changed_result)
                    ctx->return_value = changed_result;
            };
            sites_[i].mechanism = DJS_MECHANISM_UPROBE;
            sites_[i].handler = i;
            sites_[i].address = probed_code + 0x10 * u64{i};
        }
        djs_script.images = images_;
        djs_script.image_count = 2;
        djs_script.segments = segments_;
        djs_script.segment_count = 2;
        djs_script.handlers = handlers_;
        djs_script.handler_count = most;
        djs_script.sites = sites_;
        djs_script.site_count = 1;
        djs_script.site_texts = "0123456789abcdef?";
        hits_seen = {};
        entry_fails = false;
        entry_value = changed_result = 0;
        test_has_context = true;
        test_runs_at = 0;
    }
    void TearDown() override {
        test_uprobe_error = test_open_error = 0;
        test_allocations_left = LONG_MAX;
        for (u32 i = 0; i < djs_script.site_count; i++)
            test_uprobe_want(i, false);
        test_uprobe_disarm();
        test_uprobe_free();
        EXPECT_EQ(test_registered_count(), 0U);
        EXPECT_EQ(guarded_count(), 0U);
        EXPECT_EQ(test_paths_held(), 0U);
        EXPECT_EQ(test_files_open, 0U);
        EXPECT_EQ(test_contexts_left, 0U);
        EXPECT_EQ(test_atomic_depth, 0);
        EXPECT_EQ(test_preempt_depth, 0);
        djs_script = {};
        djs_traced_pid = 0;
    }
    static void set_file(u32 number, const char* path, unsigned mode, u64 inode) {
        const struct test_file file{path, mode | 0755U, inode, 1, 1};
        test_set_file(number, &file);
    }
    static void set_task(pid_t process, u32 file) {
        struct test_task task;
        task.pid = task.tgid = process;
        task.file = file;
        task.has_memory = true;
        test_set_task(0, &task);
    }
    // A return probe with values from its entry.
    void keep_values(u32 handler) {
        sites_[handler].mechanism = DJS_MECHANISM_URETPROBE;
        handlers_[handler].saved = 1;
        handlers_[handler].entry = [](djs_ctx* ctx) {
            hits_seen.entries++;
            hits_seen.address = ctx->address;
            ctx->saved[0] = entry_value;
            if (entry_fails)
                ctx->error = "it fails";
        };
    }
    void attach() {
        test_uprobe_sites();
        EXPECT_EQ(test_uprobe_attach(), 0);
    }
    // Why the only site cannot be attached; "": it is.
    std::string failure() {
        test_uprobe_want(0, false);
        test_uprobe_disarm();
        test_uprobe_free();
        attach();
        EXPECT_EQ(test_uprobe_armed(0), !test_uprobe_failure(0));
        return test_uprobe_armed(0) ? "" : test_uprobe_failure(0);
    }
    static int enters(u32 number, u64 stack = 0x7000) {
        struct test_registers registers{0x555000, stack, 0};
        return test_enters(number, &registers);
    }
    // The result that the program sees.
    static u64 returns(u32 number, u64 stack = 0x7000, u64 result = 5) {
        struct test_registers registers{0x555009, stack + 8, result};
        test_returns(number, 0x555000, &registers);
        return registers.result;
    }

    std::string whole_;
    djs_image images_[2]{};
    djs_segment segments_[2]{};
    djs_handler handlers_[most]{};
    djs_site sites_[most]{};
};

TEST_F(Uprobes, ArePlacedInTheirFilesFromTheLastToTheFirst) {
    djs_script.site_count = 3;
    sites_[1].segment = 1;
    sites_[2].mechanism = DJS_MECHANISM_URETPROBE;
    handlers_[1].arguments[DJS_UPROBE_SEMAPHORE] = 0x77;
    attach();
    ASSERT_EQ(test_registered_count(), 3U);
    for (u32 i = 0; i < 3; i++) {
        const struct test_registered what = test_registered(2 - i);
        EXPECT_TRUE(test_uprobe_armed(i));
        EXPECT_EQ(what.inode, i == 1 ? 18U : 17U);
        EXPECT_EQ(what.offset, 0x1000U + 0x10 * i);
        EXPECT_EQ(what.semaphore, i == 1 ? 0x77U : 0U);
        EXPECT_EQ(what.is_return, i == 2);
    }
    EXPECT_EQ(test_uprobe_attach(), 0); // they are there
    EXPECT_EQ(test_registered_count(), 3U);
    // One is not wanted, and then again: wherever its path leads now, it is the file of before.
    const u32 waits = test_uprobe_waits, count = guarded_count();
    test_uprobe_want(1, false);
    test_uprobe_disarm();
    EXPECT_EQ(test_registered_count(), 2U);
    EXPECT_EQ(test_uprobe_waits, waits + 1);
    EXPECT_EQ(test_count_at_wait, count); // whoever runs may use it until then
    EXPECT_EQ(guarded_count(), count - 1);
    EXPECT_FALSE(test_uprobe_armed(1));
    EXPECT_TRUE(test_uprobe_armed(0) && test_uprobe_armed(2));
    test_uprobe_disarm(); // nothing to wait for
    EXPECT_EQ(test_uprobe_waits, waits + 1);
    set_file(3, "/lib/two", S_IFREG, 99);
    set_file(1, nullptr, S_IFREG, 18);
    test_uprobe_want(1, true);
    EXPECT_EQ(test_uprobe_attach(), 0);
    ASSERT_EQ(test_registered_count(), 3U);
    EXPECT_EQ(test_registered(2).inode, 18U);
}

TEST_F(Uprobes, OtherMechanismsAreLeftAlone) {
    sites_[0].mechanism = DJS_MECHANISM_KPROBE;
    attach();
    EXPECT_EQ(test_registered_count(), 0U);
    EXPECT_EQ(test_paths_held(), 0U);
}

TEST_F(Uprobes, NeedTheBuildForWhichTheScriptWasCompiled) {
    EXPECT_EQ(failure(), "");
    images_[0].build_id = reinterpret_cast<const u8*>("IDIX");
    EXPECT_EQ(failure(), "the file is another build of the program");
    // It is not compared where it is not known, or too long, or in no segment of this file.
    images_[0].build_id_bytes = 0;
    EXPECT_EQ(failure(), "");
    images_[0].build_id_bytes = 65;
    EXPECT_EQ(failure(), "");
    images_[0].build_id_bytes = 4;
    images_[0].build_id_address = 0x402000;
    EXPECT_EQ(failure(), "");
    images_[0].build_id_address = 0x3fffff;
    EXPECT_EQ(failure(), "");
    images_[0].build_id_address = 0x401ffe; // the file ends before its end
    EXPECT_EQ(failure(), "the file is another build of the program");
    segments_[0].address = images_[0].build_id_address = 0x400200; // a segment's first address
    EXPECT_EQ(failure(), "the file is another build of the program");
    segments_[0].image = 1;
    sites_[0].segment = 1;
    segments_[1].image = 0;
    segments_[1].check_address = 0x400200;
    EXPECT_EQ(failure(), "");
    // 64 bytes are as many as there may be.
    segments_[0].image = sites_[0].segment = 0;
    segments_[1].image = 1;
    const std::string longest(64, 'x');
    whole_.replace(0x200, 64, longest);
    test_image_file(whole_.data(), whole_.size());
    images_[0].build_id = reinterpret_cast<const u8*>(longest.data());
    images_[0].build_id_bytes = 64;
    EXPECT_EQ(failure(), "");
    whole_[0x200 + 63] = 'y';
    EXPECT_EQ(failure(), "the file is another build of the program");
}

TEST_F(Uprobes, OfOtherScriptsAreNotLookedAt) {
    handlers_[1].program = "/bin/nowhere";
    djs_script.site_count = 2;
    test_uprobe_sites();
    djs_script.site_count = 1; // what is behind the end is no site
    EXPECT_EQ(test_uprobe_attach(), 0);
    EXPECT_TRUE(test_uprobe_armed(0));
    EXPECT_EQ(test_uprobe_failure(1), nullptr);
    EXPECT_FALSE(test_uprobe_armed(1));
    EXPECT_EQ(test_registered_count(), 1U);
}

TEST_F(Uprobes, NeedTheirFile) {
    set_file(0, nullptr, S_IFREG, 17);
    EXPECT_EQ(failure(), "there is no such file");
    set_file(0, "/bin/one", S_IFDIR, 17);
    EXPECT_EQ(failure(), "it is not a program");
    set_file(0, "/bin/one", S_IFREG, 17);
    test_open_error = -EPERM;
    EXPECT_EQ(failure(), "the file cannot be read");
    test_open_error = 0;
    test_reads_left = 0;
    test_read_result = -EIO;
    EXPECT_EQ(failure(), "the file cannot be read");
    test_reads_left = LONG_MAX;
    handlers_[0].program = "/bin/nowhere";
    EXPECT_EQ(failure(), "the program of the process cannot be found");
    handlers_[0].program = "/bin/user";
    EXPECT_EQ(failure(), "");
}

TEST_F(Uprobes, NeedTheirCodeWhereNoBuildIdTells) {
    images_[0].build_id_bytes = 0;
    const std::string other = "the file has other code there: it is not the one for which the "
                              "script was compiled";
    sites_[0].code_bytes = 16;
    EXPECT_EQ(failure(), "");
    sites_[0].code = 1;
    EXPECT_EQ(failure(), other);
    sites_[0].code_bytes = 17; // more than is kept
    EXPECT_EQ(failure(), "");
    sites_[0].code_bytes = 0;
    EXPECT_EQ(failure(), "");
    sites_[0].code = 0;
    sites_[0].code_bytes = 4;
    sites_[0].address = probed_code + 0xffe; // the file ends there
    EXPECT_EQ(failure(), other);
    sites_[0].address = probed_code;
    test_reads_left = 0;
    test_read_result = -EIO;
    EXPECT_EQ(failure(), "the file cannot be read");
    test_reads_left = LONG_MAX;
    test_open_error = -EPERM;
    EXPECT_EQ(failure(), "the file cannot be read");
}

TEST_F(Uprobes, AreRefusedByTheKernel) {
    const std::pair<int, std::string> errors[] = {
        {-EOPNOTSUPP, "the kernel cannot probe this instruction, or has no uprobes"},
        {-ENOMEM, "there is no memory"},
        {-EIO, "the kernel cannot probe files of this file system"},
        {-EINVAL, "the kernel rejects a uprobe there"},
    };
    for (const auto& [error, why] : errors) {
        test_uprobe_error = error;
        EXPECT_EQ(failure(), why);
        EXPECT_EQ(test_uprobe_attach(), 0); // it is not tried again
    }
    test_uprobe_error = 0;
    EXPECT_EQ(test_uprobe_attach(), 0);
    EXPECT_EQ(test_registered_count(), 0U);
}

TEST_F(Uprobes, NeedMemory) {
    keep_values(0);
    bool attached = false;
    for (long allocations = 0; allocations < 20 && !attached; allocations++) {
        test_allocations_left = allocations;
        test_uprobe_sites();
        const int error = test_uprobe_attach();
        EXPECT_TRUE(error == 0 || error == -ENOMEM);
        attached = test_uprobe_armed(0);
        EXPECT_EQ(attached, !error && !test_uprobe_failure(0)) << allocations;
        EXPECT_EQ(test_registered_count(), attached ? 1U : 0U);
        if (!attached && !error) {
            EXPECT_STREQ(test_uprobe_failure(0), "there is no memory") << allocations;
        }
        if (!attached)
            test_uprobe_free();
    }
    EXPECT_TRUE(attached);
}

TEST_F(Uprobes, RunHandlersForTheProcessesThatTheyConcern) {
    handlers_[0].arguments[DJS_UPROBE_PROCESS] = 4;
    handlers_[0].program = "/bin/user";
    attach();
    EXPECT_EQ(enters(0), 0);
    EXPECT_EQ(test_runs_at, 1U);
    EXPECT_EQ(test_run_address, 0x555000U);
    set_task(5, 2); // another process
    EXPECT_EQ(enters(0), 0);
    set_task(4, 1); // that executed something else
    EXPECT_EQ(enters(0), 0);
    EXPECT_EQ(test_runs_at, 1U);
    set_task(4, 2);
    EXPECT_EQ(enters(0), 0);
    EXPECT_EQ(test_runs_at, 2U);
    djs_traced_pid = 9; // nor an ancestor of it
    EXPECT_EQ(enters(0), 0);
    EXPECT_EQ(test_runs_at, 2U);
}

TEST_F(Uprobes, RunFormsWithoutAContext) {
    djs_script.site_count = 2;
    sites_[1].mechanism = DJS_MECHANISM_URETPROBE;
    for (u32 i = 0; i < 2; i++)
        handlers_[i].by_regs = [](void*, pt_regs* regs) {
            hits_seen.by_regs += regs != nullptr;
            EXPECT_GT(test_preempt_depth, 0);
            return 0;
        };
    attach();
    EXPECT_EQ(enters(1), 0); // of the first site, which was registered last
    EXPECT_EQ(hits_seen.by_regs, 1U);
    EXPECT_EQ(returns(0), 5U);
    EXPECT_EQ(hits_seen.by_regs, 2U);
    EXPECT_EQ(test_runs_at + hits_seen.bodies, 0U);
    set_task(4, 1);
    handlers_[1].arguments[DJS_UPROBE_PROCESS] = 5;
    returns(0);
    EXPECT_EQ(hits_seen.by_regs, 2U);
}

TEST_F(Uprobes, ReturnsHaveAResultThatMayBeChanged) {
    sites_[0].mechanism = DJS_MECHANISM_URETPROBE;
    attach();
    EXPECT_EQ(returns(0), 5U);
    EXPECT_EQ(hits_seen.bodies, 1U);
    EXPECT_EQ(hits_seen.result, 5U);
    EXPECT_EQ(hits_seen.returned, 1U);
    EXPECT_EQ(hits_seen.address, 0x555000U); // of the function
    EXPECT_EQ(hits_seen.saved, 0U);
    changed_result = 105;
    EXPECT_EQ(returns(0), 105U);
    test_has_context = false;
    EXPECT_EQ(returns(0), 5U);
    EXPECT_EQ(hits_seen.bodies, 2U);
}

TEST_F(Uprobes, ReturnsHaveTheValuesOfTheirEntry) {
    keep_values(0);
    attach();
    EXPECT_EQ(test_calls_made, 1024U);
    for (const u64 stack : {0x7000, 0x6000}) { // one within the other
        entry_value = stack;
        EXPECT_EQ(enters(0, stack), 0);
        EXPECT_EQ(hits_seen.address, 0x555000U);
    }
    for (const u64 stack : {0x6000, 0x7000}) {
        returns(0, stack);
        EXPECT_EQ(hits_seen.saved, stack);
    }
    EXPECT_EQ(hits_seen.bodies, 2U);
    returns(0); // its entry was not seen
    EXPECT_EQ(hits_seen.bodies, 2U);
    // What failed at its entry, or found no context there, is not handled.
    entry_fails = true;
    EXPECT_EQ(enters(0), 0);
    returns(0);
    entry_fails = false;
    test_has_context = false;
    EXPECT_EQ(enters(0), 0);
    test_has_context = true;
    returns(0);
    EXPECT_EQ(hits_seen.bodies, 2U);
    // Nor is what concerns nobody at either end.
    EXPECT_EQ(enters(0), 0);
    handlers_[0].arguments[DJS_UPROBE_PROCESS] = 5;
    returns(0);
    EXPECT_EQ(enters(0, 0x5000), 0);
    handlers_[0].arguments[DJS_UPROBE_PROCESS] = 4;
    returns(0, 0x5000);
    EXPECT_EQ(hits_seen.bodies, 2U);
    returns(0);
    EXPECT_EQ(hits_seen.bodies, 3U);
}

TEST_F(Uprobes, ValuesFromBeforeTheyWereDetachedAreForgotten) {
    keep_values(0);
    attach();
    EXPECT_EQ(enters(0), 0);
    test_uprobe_want(0, false);
    test_uprobe_disarm();
    test_uprobe_want(0, true);
    EXPECT_EQ(test_uprobe_attach(), 0);
    returns(0);
    EXPECT_EQ(hits_seen.bodies, 0U);
    EXPECT_EQ(enters(0), 0);
    returns(0);
    EXPECT_EQ(hits_seen.bodies, 1U);
}

// All sites of a handler share the room for their values.
TEST_F(Uprobes, ManySitesHaveMoreRoom) {
    std::vector<djs_site> sites(5000);
    keep_values(0);
    for (djs_site& site : sites)
        site = sites_[0];
    djs_script.sites = sites.data();
    djs_script.handler_count = 1;
    for (const auto& [count, room] :
         {std::pair{1U, 1024U}, std::pair{2U, 1024U}, std::pair{64U, 1024U}, std::pair{65U, 1040U},
          std::pair{4095U, 65520U}, std::pair{5000U, 65536U}}) {
        djs_script.site_count = count;
        test_uprobe_sites();
        for (u32 i = 1; i < count; i++)
            test_uprobe_want(i, false);
        EXPECT_EQ(test_uprobe_attach(), 0);
        EXPECT_EQ(test_calls_made, room) << count;
        test_uprobe_want(0, false);
        test_uprobe_disarm();
        test_uprobe_free();
    }
    djs_script.site_count = 0;
}

} // namespace
