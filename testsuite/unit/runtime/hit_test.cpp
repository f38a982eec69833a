// SPDX-License-Identifier: GPL-2.0-or-later
// What functions of the language tell of a hit in the kernel: where it is, of what kind, with which
// arguments and registers, and when.
#include "hit_for_test.h"
#include "include/mechanisms.h"
#include "include/record.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace {

class KernelHit : public testing::Test {
  protected:
    void SetUp() override {
        djs_script.string_bytes = sizeof(out_);
        djs_script.site_texts = texts;
        site_.segment = 0;
        site_.line = site_.name = DJS_NO_INDEX;
        handler_.kind = DJS_HANDLER_ENTRY;
        ctx_.handler = &handler_;
        ctx_.site = &site_;
        ctx_.regs = reinterpret_cast<pt_regs*>(&registers_);
        ctx_.error_text = error_text_;
        ctx_.work = work_;
        test_hit_of_program = {{31, 32, 33, 34, 35, 36}, 37, 38};
        test_hit_has_memory = true;
        test_hit_log[0] = 0;
    }
    void TearDown() override { djs_script = {}; }

    static u32 offset(const char* text) {
        for (u32 at = 0; at < sizeof(texts); at += static_cast<u32>(strlen(texts + at)) + 1)
            if (!strcmp(texts + at, text))
                return at;
        ADD_FAILURE() << text;
        return 0;
    }
    std::string text(void (*function)(djs_ctx*, char*)) {
        memset(out_, '#', sizeof(out_));
        function(&ctx_, out_);
        return out_;
    }
    std::string type(u32 mechanism, const char* point = "") {
        site_.mechanism = static_cast<u8>(mechanism);
        site_.point = offset(point);
        return text(test_hit_type);
    }
    s64 address(u32 mechanism) {
        site_.mechanism = static_cast<u8>(mechanism);
        return test_hit_address(&ctx_);
    }
    std::string error() {
        const std::string told = ctx_.error ? ctx_.error : "";
        ctx_.error = nullptr;
        return told;
    }

    static constexpr char texts[] = "\0kernel.function(\"f\")\0f\0alias\0timer.jiffies(3)\0"
                                    "timer.jiffie\0timer.profile\0timer.profil\0perf.hw";
    static constexpr u32 place = 5;
    djs_handler handler_{};
    djs_site site_{};
    djs_ctx ctx_{};
    test_hit_registers registers_{{1, 2, 3, 4, 5, 6}, 0x7000, 8};

  private:
    char out_[64]{}, error_text_[4096]{}, work_[4096]{};
};

TEST_F(KernelHit, IsAtAPointWithANameInAFunction) {
    site_.point = offset("kernel.function(\"f\")");
    site_.function = offset("f");
    EXPECT_EQ(text(test_hit_point), "kernel.function(\"f\")");
    EXPECT_EQ(text(test_hit_name), "kernel.function(\"f\")");
    EXPECT_EQ(text(test_hit_function), "f");
    EXPECT_EQ(text(test_hit_function_or_site), "f");
    site_.name = offset("alias");
    EXPECT_EQ(text(test_hit_point), "kernel.function(\"f\")");
    EXPECT_EQ(text(test_hit_name), "alias");
    ctx_.site = nullptr;
    for (auto* const function :
         {test_hit_point, test_hit_name, test_hit_function, test_hit_function_or_site})
        EXPECT_EQ(text(function), "");
}

// The names are those of stap's probe_type().
TEST_F(KernelHit, IsOfAType) {
    for (const u32 of_function :
         {DJS_MECHANISM_DJPROBE, DJS_MECHANISM_FTRACE, DJS_MECHANISM_KPROBE,
          DJS_MECHANISM_KPROBE_INT3, DJS_MECHANISM_KPROBE_JUMP, DJS_MECHANISM_KPROBE_FTRACE,
          DJS_MECHANISM_KRETPROBE, DJS_MECHANISM_RETURN_DJPROBE}) {
        handler_.kind = DJS_HANDLER_RETURN;
        EXPECT_EQ(type(of_function), "kretprobe") << of_function;
        handler_.kind = DJS_HANDLER_ENTRY;
        EXPECT_EQ(type(of_function), "kprobe") << of_function;
    }
    EXPECT_EQ(type(DJS_MECHANISM_NONE), "begin_end");
    EXPECT_EQ(type(DJS_MECHANISM_TRACEPOINT), "kernel_tracepoint");
    EXPECT_EQ(type(DJS_MECHANISM_TIMER, "timer.jiffies(3)"), "timer");
    EXPECT_EQ(type(DJS_MECHANISM_TIMER, "timer.jiffie"), "hrtimer");
    EXPECT_EQ(type(DJS_MECHANISM_TIMER, "timer.profile"), "hrtimer");
    EXPECT_EQ(type(DJS_MECHANISM_PERF, "timer.profile"), "profile_timer");
    EXPECT_EQ(type(DJS_MECHANISM_PERF, "timer.profil"), "perf_event");
    EXPECT_EQ(type(DJS_MECHANISM_PERF, "perf.hw"), "perf_event");
    EXPECT_EQ(type(DJS_MECHANISM_NETFILTER), "netfilter");
    EXPECT_EQ(type(DJS_MECHANISM_PROCFS), "procfs");
    EXPECT_EQ(type(DJS_MECHANISM_UPROBE), "uprobe");
    ctx_.site = nullptr;
    EXPECT_EQ(type(DJS_MECHANISM_UPROBE), "begin_end");
}

TEST_F(KernelHit, HasAnAddress) {
    site_.address = 0x500;
    site_.entry = -0x10;
    ctx_.address = 0x900;
    for (const u32 at_fentry :
         {DJS_MECHANISM_DJPROBE, DJS_MECHANISM_FTRACE, DJS_MECHANISM_RETURN_DJPROBE})
        EXPECT_EQ(address(at_fentry), 0x4f0 + TEST_HIT_BIAS) << at_fentry;
    for (const u32 elsewhere : {DJS_MECHANISM_KPROBE, DJS_MECHANISM_KRETPROBE})
        EXPECT_EQ(address(elsewhere), 0x500 + TEST_HIT_BIAS) << elsewhere;
    for (const u32 of_program : {DJS_MECHANISM_UPROBE, DJS_MECHANISM_URETPROBE})
        EXPECT_EQ(address(of_program), 0x900) << of_program;
    for (const u32 called_back : {DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_MARKER})
        EXPECT_EQ(address(called_back), 0) << called_back;
    site_.address = 0; // of a timer: what it interrupts
    EXPECT_EQ(address(DJS_MECHANISM_TIMER), 8);
    ctx_.site = nullptr;
    EXPECT_EQ(test_hit_address(&ctx_), 8);
    ctx_.regs = nullptr;
    EXPECT_EQ(test_hit_address(&ctx_), 0);
}

TEST_F(KernelHit, HasAResultIfItIsAReturn) {
    ctx_.return_value = 77;
    for (const u32 kind : {DJS_HANDLER_ENTRY, DJS_HANDLER_TIMER}) {
        handler_.kind = kind;
        EXPECT_EQ(test_hit_is_return(&ctx_), 0);
        EXPECT_EQ(test_hit_result(&ctx_), 0);
        EXPECT_EQ(error(), "returnval() is available only in return probes");
    }
    handler_.kind = DJS_HANDLER_RETURN;
    EXPECT_EQ(test_hit_is_return(&ctx_), 1);
    EXPECT_EQ(test_hit_result(&ctx_), 77);
    EXPECT_EQ(error(), "");
}

TEST_F(KernelHit, HasArgumentsAtTheEntryOfAFunction) {
    for (const bool returns : {false, true}) { // whose values are evaluated at the entry
        handler_.kind = returns ? DJS_HANDLER_RETURN : DJS_HANDLER_ENTRY;
        for (s64 n = 1; n <= 6; n++)
            EXPECT_EQ(test_hit_argument_at(&ctx_, n), n);
        EXPECT_EQ(test_hit_argument_at(&ctx_, 7), s64{0x7008 + TEST_HIT_READ});
        EXPECT_EQ(test_hit_argument_at(&ctx_, 9), s64{0x7018 + TEST_HIT_READ});
        ctx_.user_regs = 1;
        EXPECT_EQ(test_hit_argument_at(&ctx_, 6), 6);
        EXPECT_EQ(test_hit_argument_at(&ctx_, 7), s64{0x7008 + TEST_HIT_READ_OF_USER});
        ctx_.user_regs = 0;
        EXPECT_EQ(error(), "");
        EXPECT_EQ(test_hit_argument_at(&ctx_, 0), 0);
        EXPECT_EQ(error(), "argument 0 is not available here");
    }
    ctx_.returned = 1;
    EXPECT_EQ(test_hit_argument_at(&ctx_, 1), 0);
    EXPECT_EQ(error(), "argument 1 is not available here");
    handler_.kind = DJS_HANDLER_TIMER;
    ctx_.returned = 0;
    EXPECT_EQ(test_hit_argument_at(&ctx_, 2), 0);
    EXPECT_EQ(error(), "argument 2 is not available here");
    handler_.kind = DJS_HANDLER_ENTRY;
    ctx_.regs = nullptr;
    EXPECT_EQ(test_hit_argument_at(&ctx_, 3), 0);
    EXPECT_EQ(error(), "argument 3 is not available here");
}

// The first argument of the kernel's function points to the registers of the program; elsewhere the
// task has them.
TEST_F(KernelHit, HasArgumentsOfASystemCall) {
    handler_.flags = DJS_HANDLER_SYSCALL;
    site_.mechanism = DJS_MECHANISM_DJPROBE;
    const u64 of_task = reinterpret_cast<u64>(&test_hit_of_program);
    const auto expect_from = [&](u64 where) {
        for (u64 n = 1; n <= 6; n++)
            EXPECT_EQ(test_hit_argument_at(&ctx_, static_cast<s64>(n)),
                      static_cast<s64>(where + n * TEST_HIT_SYSCALL_ARGUMENT + TEST_HIT_READ));
        EXPECT_EQ(error(), "");
        EXPECT_EQ(test_hit_argument_at(&ctx_, 7), 0);
        EXPECT_EQ(error(), "a system call has no argument 7");
        EXPECT_EQ(test_hit_argument_at(&ctx_, 0), 0);
        EXPECT_EQ(error(), "argument 0 is not available here");
    };
    expect_from(1);
    ctx_.site = nullptr;
    expect_from(1);
    ctx_.site = &site_;
    site_.mechanism = DJS_MECHANISM_PROCESS;
    expect_from(of_task);
    site_.mechanism = DJS_MECHANISM_RETURN_DJPROBE;
    handler_.kind = DJS_HANDLER_RETURN;
    ctx_.returned = 1;
    expect_from(of_task);
}

TEST_F(KernelHit, HasRegisters) {
    const u64 kernels[] = {1, 2, 3, 4, 5, 6, 0x7000, 8},
              programs[] = {31, 32, 33, 34, 35, 36, 37, 38};
    EXPECT_EQ(test_hit_registers_valid(&ctx_), 1);
    EXPECT_EQ(test_hit_user_mode(&ctx_), 0);
    for (u32 index = 0; index < TEST_HIT_REGISTERS; index++) {
        EXPECT_EQ(test_hit_kernel_register(&ctx_, index, place), kernels[index]);
        EXPECT_EQ(test_hit_user_register(&ctx_, index, place), programs[index]);
    }
    EXPECT_EQ(test_hit_user_address(&ctx_), 38);
    EXPECT_EQ(error(), "");
    test_hit_print_registers(&ctx_);
    EXPECT_EQ(taken_log(test_hit_log), "registers of 8\n");
    const auto no_register_of = [&](bool kernel, u32 index = 0) {
        ctx_.error_place = 0;
        EXPECT_EQ(kernel ? test_hit_kernel_register(&ctx_, index, place)
                         : test_hit_user_register(&ctx_, index, place),
                  0U);
        EXPECT_EQ(ctx_.error_place, place);
        EXPECT_EQ(error(), kernel ? "kernel registers are not available here"
                                  : "this task has no user-space registers");
    };
    no_register_of(true, TEST_HIT_REGISTERS);
    no_register_of(false, TEST_HIT_REGISTERS);
    test_hit_has_memory = false; // a task of the kernel
    no_register_of(false);
    EXPECT_EQ(test_hit_user_address(&ctx_), 0);
    ctx_.user_regs = 1; // those of the hit are the program's
    no_register_of(true);
    EXPECT_EQ(test_hit_user_mode(&ctx_), 1);
    EXPECT_EQ(test_hit_user_register(&ctx_, 1, place), 2U);
    ctx_.regs = nullptr;
    no_register_of(true);
    no_register_of(false);
    EXPECT_EQ(test_hit_registers_valid(&ctx_), 0);
    test_hit_print_registers(&ctx_);
    EXPECT_EQ(taken_log(test_hit_log), "");
}

TEST_F(KernelHit, HasATime) {
    EXPECT_EQ(test_hit_real_time(&ctx_), 11);
    EXPECT_EQ(test_hit_monotonic_time(&ctx_), 12);
    EXPECT_EQ(test_hit_local_clock(&ctx_), 13);
    EXPECT_EQ(test_hit_jiffies(&ctx_), 14);
    EXPECT_EQ(test_hit_hz(&ctx_), 15);
    for (s64 cpu = -1; cpu <= TEST_HIT_CPUS; cpu++) {
        const bool exists = cpu >= 0 && cpu < TEST_HIT_CPUS && cpu != TEST_HIT_CPU_OFFLINE;
        EXPECT_EQ(test_hit_cpu_clock(&ctx_, cpu), exists ? 100 + cpu : 0);
        EXPECT_EQ(error(), exists ? "" : "cpu " + std::to_string(cpu) + " is not online");
    }
}

} // namespace
