// SPDX-License-Identifier: GPL-2.0-or-later
// What scripts learn of the task for which a handler runs, of other tasks, and of the place of the
// hit: pid(), task_uid(), pp(), long_arg().
#include "facts_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr u64 nowhere = 16; // nothing is mapped there

class Facts : public testing::Test {
  protected:
    using Text = void(djs_ctx* ctx, char* out);

    void SetUp() override {
        djs_script.string_bytes = 64;
        ctx_.error_text = error_text_;
        ctx_.handler = &handler_;
        handler_.kind = DJS_HANDLER_ENTRY;
        test_fact_watched = true;
        test_fact_lookups = 0;
        tasks_[0] = {11, 10, 12, 13, 20, 21, 22, 23, 1, 4, 120, 100, 1, true, false, "first"};
        tasks_[1] = {31, 30, 32, 33, 40, 41, 42, 43, 2, 5, 99, 139, 1, true, false, "second"};
        tasks_[2] = {51, 50, 52, 53, 60, 61, 62, 63, 130, 7, -1, 121, 0, true, false, "third"};
        set();
    }
    void TearDown() override {
        EXPECT_EQ(test_rcu_depth, 0);
        djs_script = {};
    }
    void set() {
        for (u32 i = 0; i < TEST_FACT_TASKS; i++)
            test_fact_set(i, &tasks_[i]);
    }
    std::string error() { return std::exchange(ctx_.error, nullptr) ?: ""; }
    std::string text(Text* function) {
        std::string out(djs_script.string_bytes + 8, '#');
        function(&ctx_, out.data());
        EXPECT_EQ(out.substr(djs_script.string_bytes), "########");
        return out.c_str();
    }
    std::string name_of(s64 task) {
        char out[64];
        test_fact_task_execname(&ctx_, out, task);
        return out;
    }
    // The current task's, or those of the one that was interrupted.
    std::vector<s64> ids(int interrupted) {
        test_fact_act_for(&ctx_, interrupted);
        return {test_fact_pid(&ctx_),  test_fact_tid(&ctx_),         test_fact_ppid(&ctx_),
                test_fact_pgrp(&ctx_), test_fact_sid(&ctx_),         test_fact_uid(&ctx_),
                test_fact_euid(&ctx_), test_fact_gid(&ctx_),         test_fact_egid(&ctx_),
                test_fact_cpu(&ctx_),  test_fact_task_current(&ctx_)};
    }

    test_fact_task tasks_[TEST_FACT_TASKS]{};
    djs_ctx ctx_{};
    djs_handler handler_{};
    djs_site site_{};

  private:
    char error_text_[256]{};
};

// ---- tasks --------------------------------------------------------------------------------------

TEST_F(Facts, AreThoseOfTheCurrentTaskOrOfTheInterruptedOne) {
    ctx_.cpu = 3; // the one that was interrupted
    EXPECT_EQ(ids(-1),
              (std::vector<s64>{10, 11, 30, 12, 13, 20, 21, 22, 23, 6, test_fact_address(0)}));
    EXPECT_EQ(text(test_fact_execname), "first");
    EXPECT_EQ(text(test_fact_pexecname), "second");
    EXPECT_EQ(ids(2),
              (std::vector<s64>{50, 51, 10, 52, 53, 60, 61, 62, 63, 3, test_fact_address(2)}));
    EXPECT_EQ(text(test_fact_execname), "third");
    EXPECT_EQ(text(test_fact_pexecname), "first");
    EXPECT_EQ(test_fact_target(&ctx_), 123);
    EXPECT_EQ(test_fact_stp_pid(&ctx_), 456);
    EXPECT_EQ(error(), "");
}

TEST_F(Facts, AreZeroWhereTheyCannotBeRead) {
    test_fact_act_for(&ctx_, 2);
    for (const u64 to : {u64{0}, nowhere}) {
        set();
        test_fact_link(2, TEST_FACT_PARENT, to);
        EXPECT_EQ(test_fact_ppid(&ctx_), 0);
        EXPECT_EQ(text(test_fact_pexecname), "");
        test_fact_link(2, TEST_FACT_GROUP, to);
        EXPECT_EQ(test_fact_pgrp(&ctx_), 0);
        EXPECT_EQ(test_fact_sid(&ctx_), 53);
        test_fact_link(2, TEST_FACT_SIGNAL, to);
        EXPECT_EQ(test_fact_pgrp(&ctx_), 0);
        EXPECT_EQ(test_fact_sid(&ctx_), 0);
        test_fact_link(2, TEST_FACT_CREDENTIALS, to);
        EXPECT_EQ(test_fact_uid(&ctx_), 0);
        EXPECT_EQ(test_fact_euid(&ctx_), 0);
        EXPECT_EQ(test_fact_gid(&ctx_), 0);
        EXPECT_EQ(test_fact_egid(&ctx_), 0);
    }
    EXPECT_EQ(error(), "");
}

// An ID of a user has 32 bits without a sign, unlike that of a process.
TEST_F(Facts, HaveTheSignOfTheirType) {
    tasks_[2].uid = ~0U;
    tasks_[0].pid = -5; // of the idle task's parent, say
    set();
    test_fact_act_for(&ctx_, 2);
    EXPECT_EQ(test_fact_uid(&ctx_), 4294967295);
    EXPECT_EQ(test_fact_ppid(&ctx_), -5);
    tasks_[0].uid = ~0U;
    set();
    test_fact_act_for(&ctx_, -1);
    EXPECT_EQ(test_fact_uid(&ctx_), 4294967295);
    EXPECT_EQ(test_fact_task_pid(&ctx_, test_fact_address(0)), -5);
    EXPECT_EQ(error(), "");
}

TEST_F(Facts, OfA32BitProgram) {
    const auto is_one = [&](bool has_memory, bool is_compat) {
        tasks_[0].has_memory = tasks_[2].has_memory = has_memory;
        tasks_[0].is_compat = tasks_[2].is_compat = is_compat;
        set();
        test_fact_act_for(&ctx_, -1);
        const s64 current = test_fact___is_compat_task(&ctx_);
        test_fact_act_for(&ctx_, 2);
        EXPECT_EQ(test_fact___is_compat_task(&ctx_), current);
        return current;
    };
    EXPECT_EQ(is_one(true, true), 1);
    EXPECT_EQ(is_one(true, false), 0);
    EXPECT_EQ(is_one(false, true), 0); // of the kernel
    EXPECT_EQ(is_one(false, false), 0);
    // The stack of another task may be gone.
    EXPECT_EQ(is_one(true, true), 1);
    test_fact_link(2, TEST_FACT_REGISTERS, nowhere);
    EXPECT_EQ(test_fact___is_compat_task(&ctx_), 0);
}

TEST_F(Facts, AreNamesThatFitTheirString) {
    memcpy(tasks_[0].name, "0123456789abcdef", 16);
    memcpy(tasks_[1].name, "ABCDEFGHIJKLMNOP", 16);
    set();
    for (const u32 bytes : {64U, 17U, 16U, 15U, 2U, 1U}) {
        djs_script.string_bytes = bytes;
        const size_t room = bytes < 16 ? bytes - 1 : 15;
        EXPECT_EQ(text(test_fact_execname), std::string("0123456789abcdef").substr(0, room));
        EXPECT_EQ(text(test_fact_pexecname), std::string("ABCDEFGHIJKLMNOP").substr(0, room));
        EXPECT_EQ(name_of(test_fact_address(1)), std::string("ABCDEFGHIJKLMNOP").substr(0, room));
        EXPECT_EQ(text(test_fact_module_name),
                  std::string("a_script_of_a_test").substr(0, bytes - 1));
    }
    EXPECT_EQ(error(), "");
}

TEST_F(Facts, OfOtherTasks) {
    const auto of = [&](u32 number) {
        const s64 task = test_fact_address(number);
        return std::vector<s64>{
            test_fact_task_pid(&ctx_, task),   test_fact_task_tid(&ctx_, task),
            test_fact_task_state(&ctx_, task), test_fact_task_prio(&ctx_, task),
            test_fact_task_nice(&ctx_, task),  test_fact_task_cpu(&ctx_, task),
            test_fact_task_uid(&ctx_, task),   test_fact_task_euid(&ctx_, task),
            test_fact_task_gid(&ctx_, task),   test_fact_task_egid(&ctx_, task)};
    };
    // The default priority is 20, and a nice level of 0; real-time tasks are below 0.
    EXPECT_EQ(of(0), (std::vector<s64>{10, 11, 1, 20, -20, 4, 1020, 1021, 1022, 1023}));
    EXPECT_EQ(of(1), (std::vector<s64>{30, 31, 2, -1, 19, 5, 1040, 1041, 1042, 1043}));
    EXPECT_EQ(of(2), (std::vector<s64>{50, 51, 130, -101, 1, 7, 1060, 1061, 1062, 1063}));
    EXPECT_EQ(test_fact_task_parent(&ctx_, test_fact_address(2)), test_fact_address(0));
    EXPECT_EQ(name_of(test_fact_address(2)), "third");
    EXPECT_EQ(error(), "");
}

TEST_F(Facts, OfNoTaskAreErrors) {
    for (auto* const function :
         {test_fact_task_pid, test_fact_task_tid, test_fact_task_state, test_fact_task_cpu}) {
        function(&ctx_, 0);
        EXPECT_EQ(error().substr(0, 27), "cannot read 4 bytes at NULL");
    }
    for (auto* const function : {test_fact_task_uid, test_fact_task_euid, test_fact_task_gid,
                                 test_fact_task_egid, test_fact_task_parent}) {
        EXPECT_EQ(function(&ctx_, 0), 0);
        EXPECT_EQ(error().substr(0, 27), "cannot read 8 bytes at NULL");
    }
    test_fact_task_prio(&ctx_, 0);
    EXPECT_NE(error(), "");
    test_fact_task_nice(&ctx_, 0);
    EXPECT_NE(error(), "");
    EXPECT_EQ(name_of(0), "");
    EXPECT_EQ(error().substr(0, 26), "cannot read 1 byte at NULL");
    // A task that has no credentials, and one that has no name.
    test_fact_link(2, TEST_FACT_REAL_CREDENTIALS, nowhere);
    EXPECT_EQ(test_fact_task_gid(&ctx_, test_fact_address(2)), 0);
    EXPECT_EQ(error().substr(0, 27), "cannot read 4 bytes at NULL");
    tasks_[2].name[0] = 0;
    set();
    EXPECT_EQ(name_of(test_fact_address(2)), "");
    EXPECT_EQ(error(), "");
}

TEST_F(Facts, FindTasksByTheirNumbers) {
    EXPECT_EQ(test_fact_pid2task(&ctx_, 31), test_fact_address(1));
    EXPECT_EQ(test_rcu_depth, 0);
    EXPECT_EQ(test_fact_pid2task(&ctx_, 51), test_fact_address(2));
    EXPECT_EQ(test_fact_pid2task(&ctx_, 50), 0); // the threads' own numbers
    EXPECT_EQ(test_fact_lookups, 3U);
    for (const s64 none : {(s64{1} << 32) + 31, -(s64{1} << 32) + 31, s64{1} << 31})
        EXPECT_EQ(test_fact_pid2task(&ctx_, none), 0);
    test_fact_watched = false;
    EXPECT_EQ(test_fact_pid2task(&ctx_, 31), 0);
    EXPECT_EQ(test_fact_lookups, 3U);
}

// ---- the place of the hit -----------------------------------------------------------------------

TEST_F(Facts, NameTheProbe) {
    static const char texts[] = "\0kernel.function(\"f\")\0f\0kernel.function(\"*\")";
    djs_script.site_texts = texts;
    for (Text* const function : {test_fact_pp, test_fact_pn, test_fact_probefunc, test_fact_ppfunc})
        EXPECT_EQ(text(function), "");
    site_.point = 1;
    site_.function = 22;
    site_.name = 24;
    site_.line = DJS_NO_INDEX;
    ctx_.site = &site_;
    EXPECT_EQ(text(test_fact_pp), "kernel.function(\"f\")");
    EXPECT_EQ(text(test_fact_pn), "kernel.function(\"*\")");
    EXPECT_EQ(text(test_fact_probefunc), "f");
    EXPECT_EQ(text(test_fact_ppfunc), "f");
    site_.name = DJS_NO_INDEX;
    EXPECT_EQ(text(test_fact_pn), "kernel.function(\"f\")");
    djs_script.string_bytes = 8;
    EXPECT_EQ(text(test_fact_pp), "kernel.");
}

// SystemTap's names, in its manual (probe_type).
TEST_F(Facts, NameTheTypeOfTheProbe) {
    djs_script.site_texts = "\0timer.jiffies(10)\0timer.ms(10)\0timer.profile.tick\0perf.hw";
    EXPECT_EQ(text(test_fact_probe_type), "begin_end");
    ctx_.site = &site_;
    const auto type = [&](u32 mechanism, u32 point = 0) {
        site_.mechanism = static_cast<u8>(mechanism);
        site_.point = point;
        return text(test_fact_probe_type);
    };
    EXPECT_EQ(type(DJS_MECHANISM_NONE), "begin_end");
    EXPECT_EQ(type(DJS_MECHANISM_TIMER, 1), "timer");
    EXPECT_EQ(type(DJS_MECHANISM_TIMER, 19), "hrtimer");
    EXPECT_EQ(type(DJS_MECHANISM_PERF, 32), "profile_timer");
    EXPECT_EQ(type(DJS_MECHANISM_PERF, 53), "perf_event");
    EXPECT_EQ(type(DJS_MECHANISM_TRACEPOINT), "kernel_tracepoint");
    for (const u32 named : {DJS_MECHANISM_NETFILTER, DJS_MECHANISM_PROCFS, DJS_MECHANISM_BREAKPOINT,
                            DJS_MECHANISM_UPROBE, DJS_MECHANISM_PROCESS})
        EXPECT_EQ(type(named), djs_mechanism_name(named));
    for (const u32 of_function : {DJS_MECHANISM_DJPROBE, DJS_MECHANISM_FTRACE,
                                  DJS_MECHANISM_KPROBE_JUMP, DJS_MECHANISM_KRETPROBE})
        EXPECT_EQ(type(of_function), "kprobe");
    handler_.kind = DJS_HANDLER_RETURN;
    for (const u32 of_function : {DJS_MECHANISM_RETURN_DJPROBE, DJS_MECHANISM_KRETPROBE})
        EXPECT_EQ(type(of_function), "kretprobe");
}

TEST_F(Facts, TellWhatKindOfHitItIs) {
    test_fact_registers hit{};
    EXPECT_EQ(test_fact_is_return(&ctx_), 0);
    EXPECT_EQ(test_fact_user_mode(&ctx_), 0);
    EXPECT_EQ(test_fact_registers_valid(&ctx_), 0);
    ctx_.return_value = 77;
    test_fact_returnval(&ctx_);
    EXPECT_EQ(error(), "returnval() is available only in return probes");
    handler_.kind = DJS_HANDLER_RETURN;
    ctx_.user_regs = 1;
    test_fact_hit(&ctx_, &hit);
    EXPECT_EQ(test_fact_is_return(&ctx_), 1);
    EXPECT_EQ(test_fact_user_mode(&ctx_), 1);
    EXPECT_EQ(test_fact_registers_valid(&ctx_), 1);
    EXPECT_EQ(test_fact_returnval(&ctx_), 77);
    EXPECT_EQ(error(), "");
}

TEST_F(Facts, TellTheAddressOfTheHit) {
    test_fact_registers hit{};
    hit.ip = 0x777;
    test_fact_biases[1] = 0x10000;
    ctx_.address = 0x555;
    EXPECT_EQ(test_fact_addr(&ctx_), 0);
    test_fact_hit(&ctx_, &hit);
    EXPECT_EQ(test_fact_addr(&ctx_), 0x777); // of a sample
    ctx_.site = &site_;
    site_.segment = 1;
    site_.entry = -4;
    const auto address = [&](u32 mechanism, u64 of_site) {
        site_.mechanism = static_cast<u8>(mechanism);
        site_.address = of_site;
        return test_fact_addr(&ctx_);
    };
    EXPECT_EQ(address(DJS_MECHANISM_TIMER, 0), 0x777);
    EXPECT_EQ(address(DJS_MECHANISM_KPROBE, 0x1234), 0x11234);
    for (const u32 at_entry :
         {DJS_MECHANISM_DJPROBE, DJS_MECHANISM_FTRACE, DJS_MECHANISM_RETURN_DJPROBE})
        EXPECT_EQ(address(at_entry, 0x1234), 0x11230);
    EXPECT_EQ(address(DJS_MECHANISM_TRACEPOINT, 0x1234), 0);
    EXPECT_EQ(address(DJS_MECHANISM_MARKER, 0x1234), 0);
    EXPECT_EQ(address(DJS_MECHANISM_UPROBE, 0x1234), 0x555); // where this process has it
    site_.segment = DJS_NO_INDEX;
    EXPECT_EQ(address(DJS_MECHANISM_KPROBE, 0x1234), 0x1234);
    test_fact_registers_of(0)->ip = 0x401000;
    EXPECT_EQ(test_fact_uaddr(&ctx_), 0x401000);
    tasks_[0].has_memory = false;
    set();
    EXPECT_EQ(test_fact_uaddr(&ctx_), 0);
}

// ---- arguments ----------------------------------------------------------------------------------

class FactsOfArguments : public Facts {
  protected:
    void SetUp() override {
        Facts::SetUp();
        for (u64 i = 0; i < 6; i++) {
            hit_.arguments[i] = 101 + i;
            hit_.call_arguments[i] = 201 + i;
            test_fact_registers_of(0)->call_arguments[i] = 301 + i;
        }
        for (u64 i = 0; i < 4; i++)
            stack_[i] = 106 + i;
        hit_.stack = reinterpret_cast<u64>(stack_);
        test_fact_hit(&ctx_, &hit_);
    }
    void expect_none(s64 n) {
        EXPECT_EQ(test_fact_long_arg(&ctx_, n), 0);
        EXPECT_EQ(error(), "argument " + std::to_string(n) + " is not available here");
    }

    test_fact_registers hit_{};
    u64 stack_[4]{};
};

TEST_F(FactsOfArguments, AreInRegistersAndOnTheStack) {
    for (const u32 user : {0U, 1U}) {
        ctx_.user_regs = user;
        for (s64 n = 1; n <= 9; n++)
            EXPECT_EQ(test_fact_long_arg(&ctx_, n), 100 + n);
        EXPECT_EQ(error(), "");
        for (const s64 none : {s64{0}, s64{-1}, INT64_MIN})
            expect_none(none);
    }
    hit_.stack = nowhere;
    EXPECT_EQ(test_fact_long_arg(&ctx_, 6), 106);
    EXPECT_EQ(error(), "");
    EXPECT_EQ(test_fact_long_arg(&ctx_, 7), 0);
    EXPECT_EQ(error(), "cannot read 8 bytes at NULL + 0x18");
    // A program's stack pointer may be an address of the kernel, which is not read for it.
    hit_.stack = 0xffffffff81000000;
    EXPECT_EQ(test_fact_long_arg(&ctx_, 7), 0);
    EXPECT_EQ(error(), "cannot read 8 bytes of user memory at 0xffffffff81000008, which is a "
                       "kernel address");
}

TEST_F(FactsOfArguments, AreThereAtTheEntry) {
    handler_.kind = DJS_HANDLER_RETURN;
    EXPECT_EQ(test_fact_long_arg(&ctx_, 1), 101);
    ctx_.returned = 1;
    expect_none(1);
    ctx_.returned = 0;
    test_fact_hit(&ctx_, nullptr);
    expect_none(1);
    test_fact_hit(&ctx_, &hit_);
    handler_.kind = DJS_HANDLER_TIMER;
    expect_none(1);
    handler_.kind = DJS_HANDLER_ENTRY;
    EXPECT_EQ(test_fact_long_arg(&ctx_, 1), 101);
}

// The kernel's function of a call gets the program's registers as its only argument.
TEST_F(FactsOfArguments, OfSystemCallsAreTheProgramsRegisters) {
    const auto all = [&] {
        std::string text;
        for (s64 n = 1; n <= 6; n++)
            text += std::to_string(test_fact_long_arg(&ctx_, n)) + " ";
        EXPECT_EQ(error(), "");
        return text;
    };
    test_fact_registers program = hit_;
    hit_.arguments[0] = reinterpret_cast<u64>(&program);
    handler_.flags = DJS_HANDLER_SYSCALL;
    EXPECT_EQ(all(), "201 202 203 204 205 206 ");
    EXPECT_EQ(test_fact_long_arg(&ctx_, 7), 0);
    EXPECT_EQ(error(), "a system call has no argument 7");
    expect_none(0);
    ctx_.site = &site_;
    site_.mechanism = DJS_MECHANISM_KPROBE;
    EXPECT_EQ(all(), "201 202 203 204 205 206 ");
    const std::string saved = "301 302 303 304 305 306 ";
    site_.mechanism = DJS_MECHANISM_PROCESS;
    EXPECT_EQ(all(), saved);
    handler_.kind = DJS_HANDLER_RETURN;
    site_.mechanism = DJS_MECHANISM_KRETPROBE;
    ctx_.returned = 1;
    EXPECT_EQ(all(), saved);
    test_fact_hit(&ctx_, nullptr);
    EXPECT_EQ(all(), saved);
    EXPECT_EQ(test_fact_long_arg(&ctx_, 7), 0);
    EXPECT_EQ(error(), "a system call has no argument 7");
}

// ---- registers, and the return addresses that the kernel has replaced
// ----------------------------

TEST_F(FactsOfArguments, AreRegistersOfTheKernelOrOfTheProgram) {
    const auto of_kernel = [&](u32 index) { return test_fact_kernel_register(&ctx_, index, 4); };
    const auto of_program = [&](u32 index) { return test_fact_user_register(&ctx_, index, 5); };
    EXPECT_EQ(of_kernel(0), 101U);
    EXPECT_EQ(of_kernel(6), 201U);
    EXPECT_EQ(of_program(6), 301U);
    EXPECT_EQ(error(), "");
    EXPECT_EQ(of_program(TEST_FACT_REGISTERS_COUNT - 1), 0U);
    EXPECT_EQ(error(), "");
    const auto expect_no_kernels = [&](u32 index) {
        EXPECT_EQ(of_kernel(index), 0U);
        EXPECT_EQ(ctx_.error_place, 4U);
        EXPECT_EQ(error(), "kernel registers are not available here");
    };
    const auto expect_no_programs = [&](u32 index) {
        EXPECT_EQ(of_program(index), 0U);
        EXPECT_EQ(ctx_.error_place, 5U);
        EXPECT_EQ(error(), "this task has no user-space registers");
    };
    expect_no_kernels(TEST_FACT_REGISTERS_COUNT);
    expect_no_programs(TEST_FACT_REGISTERS_COUNT);
    // Those of the hit are the program's.
    ctx_.user_regs = 1;
    EXPECT_EQ(of_program(6), 201U);
    expect_no_kernels(0);
    ctx_.user_regs = 0;
    tasks_[0].has_memory = false;
    set();
    expect_no_programs(0);
    ctx_.user_regs = 1; // a task that exits
    EXPECT_EQ(of_program(6), 201U);
    test_fact_hit(&ctx_, nullptr);
    ctx_.user_regs = 0;
    expect_no_kernels(0);
}

TEST_F(FactsOfArguments, ArePrinted) {
    std::vector<char> work(2560);
    ctx_.work = work.data();
    hit_.ip = 0x1234;
    test_fact_print_regs(&ctx_);
    EXPECT_EQ(taken_log(test_fact_log), "2560: ip 1234");
    test_fact_hit(&ctx_, nullptr);
    test_fact_print_regs(&ctx_);
    EXPECT_EQ(taken_log(test_fact_log), "");
}

TEST_F(Facts, FindReplacedReturnAddresses) {
    EXPECT_EQ(test_fact_replaced_return(0x7000), 0U); // the task has none
    std::vector<test_fact_return> all;
    for (u64 i = 0; i < TEST_FACT_RETURNS; i++)
        all.push_back({0x7000 + 8 * i, 0x401000 + i});
    test_fact_replace(all.data(), 0);
    EXPECT_EQ(test_fact_replaced_return(0x7000), 0U);
    test_fact_replace(all.data(), 3);
    for (u64 i = 0; i < 3; i++)
        EXPECT_EQ(test_fact_replaced_return(0x7000 + 8 * i), 0x401000 + i);
    EXPECT_EQ(test_fact_replaced_return(0x7004), 0U);
    EXPECT_EQ(test_fact_replaced_return(0x7018), 0U);
    // The list is read while it may change: it may lead nowhere, or go on for ever.
    test_fact_break_return(1, nowhere);
    EXPECT_EQ(test_fact_replaced_return(0x7008), 0x401001U);
    EXPECT_EQ(test_fact_replaced_return(0x7010), 0U);
    test_fact_replace(all.data(), TEST_FACT_RETURNS);
    EXPECT_EQ(test_fact_replaced_return(0x7000 + 8 * 127), 0x401000U + 127);
    EXPECT_EQ(test_fact_replaced_return(0x7000 + 8 * 128), 0U);
}

TEST_F(Facts, FindWhereACallReturns) {
    const u64 word = 0x401234;
    const u64 slot = reinterpret_cast<u64>(&word);
    EXPECT_EQ(test_fact_return_address(slot), word);
    EXPECT_EQ(test_fact_return_address(nowhere), 0U);
    EXPECT_EQ(test_fact_return_address(0xffffffff81000000), 0U);
    const test_fact_return replaced = {slot, 0x405678};
    test_fact_replace(&replaced, 1);
    EXPECT_EQ(test_fact_return_address(slot), 0x405678U);
}

} // namespace
