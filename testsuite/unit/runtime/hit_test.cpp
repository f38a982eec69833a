// SPDX-License-Identifier: GPL-2.0-or-later
// What functions of the language tell of a hit in the kernel: where it is, of what kind, with which
// arguments and registers, and when: pp(), long_arg(), gettimeofday_ns().
#include "facts_fixture.h"
#include "include/mechanisms.h"

namespace {

using djstap::test::Facts;
using djstap::test::nowhere;

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
    EXPECT_EQ(text(test_fact_pp), "kernel.function(\"f\")");
    djs_script.string_bytes = 8;
    EXPECT_EQ(text(test_fact_pp), "kernel.");
}

// SystemTap's names, in its manual (probe_type).
TEST_F(Facts, NameTheTypeOfTheProbe) {
    djs_script.site_texts = "\0timer.jiffies(10)\0timer.ms(10)\0timer.profile.tick\0perf.hw\0"
                            "timer.jiffie\0timer.profil";
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
    EXPECT_EQ(type(DJS_MECHANISM_TIMER, 32), "hrtimer");
    EXPECT_EQ(type(DJS_MECHANISM_PERF, 32), "profile_timer");
    EXPECT_EQ(type(DJS_MECHANISM_PERF, 53), "perf_event");
    EXPECT_EQ(type(DJS_MECHANISM_TIMER, 61), "hrtimer");   // timer.jiffie
    EXPECT_EQ(type(DJS_MECHANISM_PERF, 74), "perf_event"); // timer.profil
    EXPECT_EQ(type(DJS_MECHANISM_TRACEPOINT), "kernel_tracepoint");
    for (const u32 named : {DJS_MECHANISM_NETFILTER, DJS_MECHANISM_PROCFS, DJS_MECHANISM_BREAKPOINT,
                            DJS_MECHANISM_UPROBE, DJS_MECHANISM_PROCESS})
        EXPECT_EQ(type(named), djs_mechanism_name(named));
    EXPECT_EQ(type(DJS_MECHANISM_NETFILTER), "netfilter");
    EXPECT_EQ(type(DJS_MECHANISM_PROCFS), "procfs");
    EXPECT_EQ(type(DJS_MECHANISM_UPROBE), "uprobe");
    for (const u32 of_function :
         {DJS_MECHANISM_DJPROBE, DJS_MECHANISM_FTRACE, DJS_MECHANISM_KPROBE,
          DJS_MECHANISM_KPROBE_INT3, DJS_MECHANISM_KPROBE_JUMP, DJS_MECHANISM_KPROBE_FTRACE,
          DJS_MECHANISM_KRETPROBE, DJS_MECHANISM_RETURN_DJPROBE}) {
        handler_.kind = DJS_HANDLER_RETURN;
        EXPECT_EQ(type(of_function), "kretprobe") << of_function;
        handler_.kind = DJS_HANDLER_ENTRY;
        EXPECT_EQ(type(of_function), "kprobe") << of_function;
    }
    ctx_.site = nullptr;
    EXPECT_EQ(type(DJS_MECHANISM_UPROBE), "begin_end");
}

TEST_F(Facts, TellWhatKindOfHitItIs) {
    test_fact_registers hit{};
    EXPECT_EQ(test_fact_is_return(&ctx_), 0);
    EXPECT_EQ(test_fact_user_mode(&ctx_), 0);
    EXPECT_EQ(test_fact_registers_valid(&ctx_), 0);
    ctx_.return_value = 77;
    for (const u32 kind : {DJS_HANDLER_ENTRY, DJS_HANDLER_TIMER}) {
        handler_.kind = kind;
        EXPECT_EQ(test_fact_is_return(&ctx_), 0);
        EXPECT_EQ(test_fact_returnval(&ctx_), 0);
        EXPECT_EQ(error(), "returnval() is available only in return probes");
    }
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
    for (const u32 elsewhere : {DJS_MECHANISM_KPROBE, DJS_MECHANISM_KRETPROBE})
        EXPECT_EQ(address(elsewhere, 0x1234), 0x11234) << elsewhere;
    for (const u32 at_entry :
         {DJS_MECHANISM_DJPROBE, DJS_MECHANISM_FTRACE, DJS_MECHANISM_RETURN_DJPROBE})
        EXPECT_EQ(address(at_entry, 0x1234), 0x11230);
    EXPECT_EQ(address(DJS_MECHANISM_TRACEPOINT, 0x1234), 0);
    EXPECT_EQ(address(DJS_MECHANISM_MARKER, 0x1234), 0);
    for (const u32 of_program : {DJS_MECHANISM_UPROBE, DJS_MECHANISM_URETPROBE})
        EXPECT_EQ(address(of_program, 0x1234), 0x555); // where this process has it
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
    handler_.kind = DJS_HANDLER_RETURN; // whose values are evaluated at the entry
    for (s64 n = 1; n <= 9; n++)
        EXPECT_EQ(test_fact_long_arg(&ctx_, n), 100 + n);
    expect_none(0);
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
        EXPECT_EQ(test_fact_long_arg(&ctx_, 7), 0);
        EXPECT_EQ(error(), "a system call has no argument 7");
        expect_none(0);
        return text;
    };
    test_fact_registers program = hit_;
    hit_.arguments[0] = reinterpret_cast<u64>(&program);
    handler_.flags = DJS_HANDLER_SYSCALL;
    EXPECT_EQ(all(), "201 202 203 204 205 206 ");
    ctx_.site = &site_;
    for (const u32 mechanism : {DJS_MECHANISM_KPROBE, DJS_MECHANISM_DJPROBE}) {
        site_.mechanism = static_cast<u8>(mechanism);
        EXPECT_EQ(all(), "201 202 203 204 205 206 ");
    }
    const std::string saved = "301 302 303 304 305 306 ";
    site_.mechanism = DJS_MECHANISM_PROCESS;
    EXPECT_EQ(all(), saved);
    handler_.kind = DJS_HANDLER_RETURN;
    ctx_.returned = 1;
    for (const u32 mechanism : {DJS_MECHANISM_KRETPROBE, DJS_MECHANISM_RETURN_DJPROBE}) {
        site_.mechanism = static_cast<u8>(mechanism);
        EXPECT_EQ(all(), saved);
    }
    test_fact_hit(&ctx_, nullptr);
    EXPECT_EQ(all(), saved);
}

// ---- registers, and the return addresses that the kernel has replaced ----

TEST_F(FactsOfArguments, AreRegistersOfTheKernelOrOfTheProgram) {
    const auto of_kernel = [&](u32 index) { return test_fact_kernel_register(&ctx_, index, 4); };
    const auto of_program = [&](u32 index) { return test_fact_user_register(&ctx_, index, 5); };
    for (u32 i = 0; i < 6; i++) {
        EXPECT_EQ(of_kernel(i), 101U + i);
        EXPECT_EQ(of_kernel(6 + i), 201U + i);
        EXPECT_EQ(of_program(6 + i), 301U + i);
    }
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
    expect_no_kernels(0);
    expect_no_programs(0);
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

TEST_F(Facts, TellTheTime) {
    EXPECT_EQ(test_fact_gettimeofday_ns(&ctx_), 11);
    EXPECT_EQ(test_fact_ktime_get_ns(&ctx_), 12);
    EXPECT_EQ(test_fact_local_clock_ns(&ctx_), 13);
    EXPECT_EQ(test_fact_jiffies(&ctx_), 14);
    EXPECT_EQ(test_fact_HZ(&ctx_), 15);
    for (s64 cpu = -1; cpu <= TEST_FACT_CPUS; cpu++) {
        const bool exists = cpu >= 0 && cpu < TEST_FACT_CPUS && cpu != TEST_FACT_CPU_OFFLINE;
        EXPECT_EQ(test_fact_cpu_clock_ns(&ctx_, cpu), exists ? 100 + cpu : 0);
        EXPECT_EQ(error(), exists ? "" : "cpu " + std::to_string(cpu) + " is not online");
    }
}

} // namespace
