// SPDX-License-Identifier: GPL-2.0-or-later
// The control file of a script's module: who may open it, what can be mapped and how, and its
// requests.
#include "log_for_test.h"
#include "proc_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace {

class Proc : public testing::Test {
  protected:
    static constexpr unsigned reads = TEST_PROC_READS, writes = TEST_PROC_WRITES;
    // What each mapping gets.
    static constexpr unsigned long kept = TEST_VM_DONTCOPY | TEST_VM_DONTEXPAND | TEST_VM_DONTDUMP;

    void SetUp() override { test_proc_begin(); }
    void TearDown() override { djs_script = {}; }
    static std::string log() { return taken_log(test_proc_log); }
    // Maps these pages of the file. Returns the error, or what is mapped.
    static std::string mapped(u64 page, u64 pages, unsigned long flags = TEST_VM_MAYSHARE,
                              unsigned mode = reads | writes) {
        flags_ = flags;
        const int error = test_proc_mmap(mode, page, pages, &flags_);
        const auto text = log();
        return error ? std::to_string(error) + (text.empty() ? "" : " " + text) : text;
    }
    static long asked(unsigned command, void* argument = nullptr, unsigned mode = reads | writes) {
        return test_proc_ioctl(mode, command, argument);
    }
    static long started(s32 process, u32 flags = 0) {
        djs_start start{process, flags};
        return asked(DJS_IOC_START, &start);
    }

    static inline unsigned long flags_;
};

// ---- opening ------------------------------------------------------------------------------------

TEST_F(Proc, IsCreatedForTheModule) {
    EXPECT_EQ(test_proc_init(), 0);
    EXPECT_EQ(log(), "create(djstap-script, 0600) ");
    EXPECT_TRUE(test_proc_has_file);
    test_proc_exit();
    EXPECT_FALSE(test_proc_has_file);
    test_proc_exit(); // it is gone
    test_proc_refuses_file = true;
    EXPECT_EQ(test_proc_init(), -ENOMEM);
    EXPECT_EQ(log(), "create(djstap-script, 0600) script: cannot create /proc/djstap-script\n");
    // The longest name that a module may have.
    const std::string name(55, 'n');
    test_proc_module_name = name.c_str();
    test_proc_refuses_file = false;
    EXPECT_EQ(test_proc_init(), 0);
    EXPECT_EQ(log(), "create(djstap-" + name + ", 0600) ");
}

TEST_F(Proc, KeepsTheModuleWhileItIsOpen) {
    EXPECT_EQ(test_proc_open(reads), 0);
    EXPECT_EQ(log(), "may-read ");
    EXPECT_EQ(test_proc_references, 1);
    EXPECT_EQ(test_proc_open(reads | writes), 0);
    EXPECT_EQ(log(), "may-write comes ");
    EXPECT_EQ(test_proc_references, 2);
    EXPECT_EQ(test_proc_release(reads), 0);
    EXPECT_EQ(log(), "put ");
    EXPECT_EQ(test_proc_release(writes), 0);
    EXPECT_EQ(log(), "goes abandoned put ");
    EXPECT_EQ(test_proc_references, 0);
}

TEST_F(Proc, IsNotOpenedByAnyone) {
    test_proc_may_open = false;
    EXPECT_EQ(test_proc_open(reads), -EPERM);
    EXPECT_EQ(test_proc_open(writes), -EPERM);
    EXPECT_EQ(log(), "may-read may-write ");
    test_proc_may_open = true;
    test_proc_is_unloaded = true;
    EXPECT_EQ(test_proc_open(writes), -ENODEV);
    EXPECT_EQ(log(), "may-write ");
    test_proc_is_unloaded = false;
    test_proc_is_owned = true;
    EXPECT_EQ(test_proc_open(writes), -EBUSY);
    EXPECT_EQ(log(), "may-write comes put ");
    EXPECT_EQ(test_proc_references, 0);
    EXPECT_EQ(test_proc_open(reads), 0);
}

TEST_F(Proc, DescribesTheScript) {
    char text[8] = "";
    loff_t at = 0;
    djs_script.meta = "{\"a\":1}";
    djs_script.meta_bytes = 7;
    EXPECT_EQ(test_proc_read(text, 4, &at), 4);
    EXPECT_EQ(test_proc_read(text + 4, 4, &at), 3);
    EXPECT_STREQ(text, "{\"a\":1}");
    EXPECT_EQ(at, 7);
}

TEST_F(Proc, IsReadyWhenTheSessionShouldEnd) {
    enum { in = 1, urgent = 2 };
    test_proc_control.state = DJS_STATE_RUNNING;
    EXPECT_EQ(test_proc_poll(), 0U);
    test_proc_control.exit_requested = 1;
    EXPECT_EQ(test_proc_poll(), 0U + in + urgent);
    test_proc_control.exit_requested = 0;
    test_proc_control.state = DJS_STATE_STOPPED;
    EXPECT_EQ(test_proc_poll(), 0U + in + urgent);
    test_proc_control.state = DJS_STATE_STOPPING;
    EXPECT_EQ(test_proc_poll(), 0U);
}

// ---- mappings: the control page, then five pages for each of three processors, then symbols
// ------

TEST_F(Proc, MapsTheControlPageToRead) {
    EXPECT_EQ(mapped(0, 1, TEST_VM_MAYSHARE | TEST_VM_MAYWRITE, reads), "0:control ");
    EXPECT_EQ(flags_, kept | TEST_VM_MAYSHARE); // it cannot be made writable
    EXPECT_EQ(mapped(0, 2), "-22");
    EXPECT_EQ(mapped(0, 1, 0), "-22"); // a private one
    EXPECT_EQ(mapped(0, 1, TEST_VM_MAYSHARE | TEST_VM_WRITE), "-22");
    EXPECT_EQ(mapped(0, 1, TEST_VM_MAYSHARE | TEST_VM_EXEC), "-22");
    test_proc_page_left = 0;
    EXPECT_EQ(mapped(0, 1), "-12");
}

TEST_F(Proc, MapsRingsForTheOwner) {
    constexpr unsigned long own =
        TEST_VM_MAYSHARE | TEST_VM_READ | TEST_VM_WRITE | TEST_VM_MAYWRITE;
    EXPECT_EQ(mapped(1, 5, own), "0:ring0.0 1:ring0.1 2:ring0.2 3:ring0.3 4:ring0.4 ");
    EXPECT_EQ(flags_, kept | own);
    EXPECT_EQ(mapped(2, 4), "0:ring0.1 1:ring0.2 2:ring0.3 3:ring0.4 ");
    EXPECT_EQ(mapped(2, 5), "-22"); // of the next processor
    EXPECT_EQ(mapped(5, 1), "0:ring0.4 ");
    EXPECT_EQ(mapped(6, 1), "-22"); // no such processor
    EXPECT_EQ(mapped(11, 2), "0:ring2.0 1:ring2.1 ");
    EXPECT_EQ(mapped(15, 1), "0:ring2.4 ");
    EXPECT_EQ(mapped(1, 1, TEST_VM_MAYSHARE | TEST_VM_EXEC), "-22");
    EXPECT_EQ(mapped(1, 1, TEST_VM_MAYSHARE, reads), "-13");
    EXPECT_EQ(mapped(1, 1, 0), "-22");
    test_proc_page_left = 2;
    EXPECT_EQ(mapped(1, 5), "-12 0:ring0.0 1:ring0.1 ");
}

TEST_F(Proc, MapsSymbolsToRead) {
    EXPECT_EQ(mapped(16, 6, TEST_VM_MAYSHARE | TEST_VM_MAYWRITE),
              "0:symbols0 1:symbols1 2:symbols2 3:symbols3 4:symbols4 5:symbols5 ");
    EXPECT_EQ(flags_, kept | TEST_VM_MAYSHARE);
    EXPECT_EQ(mapped(21, 1), "0:symbols5 ");
    EXPECT_EQ(mapped(18, 4), "0:symbols2 1:symbols3 2:symbols4 3:symbols5 ");
    EXPECT_EQ(mapped(18, 5), "-22");
    EXPECT_EQ(mapped(22, 1), "-22");
    EXPECT_EQ(mapped(23, 1), "-22");
    EXPECT_EQ(mapped(16, 1, TEST_VM_MAYSHARE | TEST_VM_WRITE), "-22");
    EXPECT_EQ(mapped(16, 1, TEST_VM_MAYSHARE | TEST_VM_EXEC), "-22");
    EXPECT_EQ(mapped(16, 1, TEST_VM_MAYSHARE, reads), "-13");
    test_proc_page_left = 2;
    EXPECT_EQ(mapped(16, 3), "-12 0:symbols0 1:symbols1 ");
}

// ---- requests -----------------------------------------------------------------------------------

TEST_F(Proc, TellsCounts) {
    djs_counts counts{};
    EXPECT_EQ(asked(DJS_IOC_COUNTS, &counts, reads), 0);
    EXPECT_EQ(counts.lost_records, 1U);
    EXPECT_EQ(counts.overwritten, 2U);
    EXPECT_EQ(counts.oversized, 3U);
    EXPECT_EQ(counts.skipped_busy, 21U);
    EXPECT_EQ(counts.skipped_locked, 22U);
    EXPECT_EQ(counts.skipped_stack, 23U);
    EXPECT_EQ(counts.skipped_kprobe, 2211U);
    EXPECT_EQ(counts.skipped_kretprobe, 13U);
    EXPECT_EQ(counts.missed_calls, 4U);
    EXPECT_EQ(counts.not_followed, 55U);
    EXPECT_EQ(counts.deep_hits, 6U);
    EXPECT_EQ(counts.short_stacks, 7U);
    EXPECT_EQ(counts.unread_programs, 8U);
    EXPECT_EQ(counts.errors, 31U);
    EXPECT_EQ(counts.failed_sites, 32U);
    EXPECT_EQ(counts.inside, 99U);
    EXPECT_EQ(counts.pinned, 1U);
    test_proc_faults = true;
    EXPECT_EQ(asked(DJS_IOC_COUNTS, &counts, reads), -EFAULT);
}

TEST_F(Proc, TellsTheStateOfASite) {
    djs_site_state state{};
    djs_script.site_count = 3;
    test_proc_site_mechanism = 5;
    test_proc_site_fallback = 2;
    test_proc_site_error = -EINVAL;
    state.index = 2;
    EXPECT_EQ(asked(DJS_IOC_SITE, &state, reads), 0);
    EXPECT_EQ(state.mechanism, 7U);
    EXPECT_EQ(state.fallback, 2U);
    EXPECT_EQ(state.error, -EINVAL);
    EXPECT_EQ(state.missed, 102U);
    state.index = 3;
    EXPECT_EQ(asked(DJS_IOC_SITE, &state, reads), -ENOENT);
    EXPECT_EQ(state.mechanism, 7U);
    state.index = 0;
    test_proc_faults = true;
    EXPECT_EQ(asked(DJS_IOC_SITE, &state, reads), -EFAULT);
}

TEST_F(Proc, StartsAndStopsTheSessionForTheOwner) {
    djs_start start{};
    djs_switch switched{4, 1};
    EXPECT_EQ(asked(DJS_IOC_START, &start), 0);
    EXPECT_EQ(log(), "start ");
    EXPECT_EQ(asked(DJS_IOC_STOP), 0);
    EXPECT_EQ(log(), "stop ");
    EXPECT_EQ(asked(DJS_IOC_SWITCH, &switched), 0);
    switched.on = 0;
    test_proc_switch_error = -ENOENT;
    EXPECT_EQ(asked(DJS_IOC_SWITCH, &switched), -ENOENT);
    EXPECT_EQ(log(), "switch(4, 1) switch(4, 0) ");
    EXPECT_EQ(asked(DJS_IOC_SYMBOLS), 0);
    EXPECT_EQ(log(), "fill ");
    EXPECT_EQ(asked(_IO('j', 7)), -ENOTTY);
    test_proc_start_error = -EBUSY;
    EXPECT_EQ(asked(DJS_IOC_START, &start), -EBUSY);
    log();
    for (const unsigned long command :
         {0UL + DJS_IOC_START, 0UL + DJS_IOC_STOP, 0UL + DJS_IOC_SWITCH, 0UL + DJS_IOC_SYMBOLS,
          0UL + _IO('j', 7)})
        EXPECT_EQ(asked(static_cast<unsigned>(command), &start, reads), -EACCES);
    test_proc_faults = true;
    EXPECT_EQ(asked(DJS_IOC_START, &start), -EFAULT);
    EXPECT_EQ(asked(DJS_IOC_SWITCH, &switched), -EFAULT);
    EXPECT_EQ(log(), "");
}

TEST_F(Proc, FindsTheProcessThatTheReaderKnows) {
    test_proc_traced = 55; // a parameter of the module
    EXPECT_EQ(started(0), 0);
    EXPECT_EQ(test_proc_traced, 55);
    EXPECT_EQ(started(7), 0); // it has gone
    EXPECT_EQ(test_proc_traced, 7);
    test_proc_real_number = 1234; // in the initial namespace
    EXPECT_EQ(started(7), 0);
    EXPECT_EQ(test_proc_traced, 1234);
    test_proc_is_in_namespace = true;
    EXPECT_EQ(started(8), -ESRCH);
    EXPECT_EQ(test_proc_traced, 1234);
    EXPECT_EQ(started(7), 0);
    EXPECT_EQ(log(), "start start start start ");
}

TEST_F(Proc, KnowsWhetherTheProcessWillExecuteItsProgram) {
    EXPECT_EQ(started(0, DJS_START_EXECUTES), 0);
    EXPECT_TRUE(test_proc_executes);
    EXPECT_EQ(started(0, 0), 0);
    EXPECT_FALSE(test_proc_executes);
    EXPECT_EQ(started(0, ~DJS_START_EXECUTES), 0);
    EXPECT_FALSE(test_proc_executes);
}

} // namespace
