// SPDX-License-Identifier: GPL-2.0-or-later
// What a script's embedded C code calls: checked accesses to memory, output, and what SystemTap's
// tapsets expect.
#include "embedded_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace {

constexpr u64 of_user = TEST_EMBEDDED_USER, of_kernel = TEST_EMBEDDED_KERNEL;

class Embedded : public testing::Test {
  protected:
    void SetUp() override {
        djs_script.string_bytes = 1024;
        djs_script.site_texts = "\0timer.jiffies(10)\0timer.ms(10)\0timer.profile.tick\0perf.hw";
        test_embedded_begin();
        ctx_ = test_embedded_ctx();
        ctx_->handler = &handler_;
    }
    void TearDown() override {
        EXPECT_EQ(test_preempt_depth, 0);
        test_embedded_end();
        djs_script = {};
    }
    static std::string log() { return taken_log(test_embedded_log); }
    std::string error() { return std::exchange(ctx_->error, nullptr) ?: ""; }
    // The type of probe that C code sees in a handler of such a site.
    int type_of(u32 mechanism, u32 point = 0) {
        site_.mechanism = static_cast<u8>(mechanism);
        site_.point = point;
        ctx_->site = &site_;
        ctx_->embedded_used = 0;
        return test_embedded_first_use(ctx_).probe_type;
    }
    // Escapes a string, and returns it.
    std::string escaped(u64 from, int bytes, int room, int quoted, int user, int buffer) {
        char text[2048] = "";
        result_ = test_embedded_escape(ctx_, text, from, bytes, room, quoted, user, buffer);
        return text;
    }

    djs_ctx* ctx_ = nullptr;
    djs_handler handler_{};
    djs_site site_{};
    int result_ = 0;
};

// ---- memory -------------------------------------------------------------------------------------

TEST_F(Embedded, ReadsNumbersOfWhomIsMeant) {
    u64 value = 0;
    std::memcpy(test_embedded_user, "\1\2\3\4\5\6\7\x08", 8);
    std::memcpy(test_embedded_kernel, "\x11\x12", 2);
    EXPECT_TRUE(test_embedded_read_number(TEST_ANYWHERE, of_user, 8, &value));
    EXPECT_EQ(value, 0x0807060504030201U);
    EXPECT_TRUE(test_embedded_read_number(TEST_ANYWHERE, of_kernel, 2, &value));
    EXPECT_EQ(value, 0x1211U);
    EXPECT_TRUE(test_embedded_read_number(TEST_USER_ONLY, of_user, 2, &value));
    EXPECT_EQ(value, 0x0201U);
    EXPECT_FALSE(test_embedded_read_number(TEST_USER_ONLY, of_kernel, 2, &value));
    EXPECT_TRUE(test_embedded_read_number(TEST_KERNEL_ONLY, of_kernel, 1, &value));
    EXPECT_EQ(value, 0x11U);
    EXPECT_FALSE(test_embedded_read_number(TEST_KERNEL_ONLY, of_user, 1, &value));
    EXPECT_FALSE(test_embedded_read_number(TEST_ANYWHERE, of_user + 64, 1, &value));
}

TEST_F(Embedded, WritesNumbersOfWhomIsMeant) {
    EXPECT_TRUE(test_embedded_write_number(TEST_ANYWHERE, of_user, 1, 0x21));
    EXPECT_TRUE(test_embedded_write_number(TEST_USER_ONLY, of_user + 1, 1, 0x22));
    EXPECT_FALSE(test_embedded_write_number(TEST_KERNEL_ONLY, of_user + 2, 1, 0x23));
    EXPECT_TRUE(test_embedded_write_number(TEST_KERNEL_ONLY, of_kernel, 2, 0x3231));
    EXPECT_FALSE(test_embedded_write_number(TEST_USER_ONLY, of_kernel + 2, 1, 0x33));
    EXPECT_FALSE(test_embedded_write_number(TEST_ANYWHERE, of_kernel + 63, 2, 0));
    EXPECT_STREQ(test_embedded_user, "!\"");
    EXPECT_STREQ(test_embedded_kernel, "12");
}

TEST_F(Embedded, WritesTextsThatAreCut) {
    std::memset(test_embedded_user, '.', 8);
    EXPECT_TRUE(test_embedded_write_text(TEST_USER_ONLY, "abcdef", of_user, 4));
    EXPECT_EQ(std::string(test_embedded_user, 6), std::string("abc\0..", 6));
    EXPECT_EQ(test_embedded_accesses, 4U);
    EXPECT_TRUE(test_embedded_write_text(TEST_USER_ONLY, "\xffy", of_user, 4));
    EXPECT_EQ(std::string(test_embedded_user, 4), std::string("\xffy\0\0", 4));
    EXPECT_TRUE(test_embedded_write_text(TEST_USER_ONLY, "abc", of_user, 1));
    EXPECT_EQ(std::string(test_embedded_user, 2), std::string("\0y", 2));
    test_embedded_accesses = 0;
    EXPECT_TRUE(test_embedded_write_text(TEST_USER_ONLY, "abc", of_user, 0));
    EXPECT_EQ(test_embedded_accesses, 0U);
    EXPECT_FALSE(test_embedded_write_text(TEST_KERNEL_ONLY, "abc", of_user, 4));
    EXPECT_EQ(test_embedded_accesses, 0U);
    EXPECT_FALSE(test_embedded_write_text(TEST_USER_ONLY, "abc", of_user + 62, 4));
    EXPECT_EQ(test_embedded_accesses, 3U); // the first character that has no place ends it
    EXPECT_FALSE(test_embedded_write_text(TEST_USER_ONLY, "ab", of_user + 62, 4)); // its end
}

TEST_F(Embedded, ReadsWordsAndWhatIsLeft) {
    char to[21] = "....................";
    std::memcpy(test_embedded_kernel, "0123456789abcdefghij", 20);
    EXPECT_EQ(test_embedded_read(to, of_kernel, 20), 0U);
    EXPECT_STREQ(to, "0123456789abcdefghij");
    EXPECT_EQ(test_embedded_accesses, 6U);
    test_embedded_accesses = 0;
    EXPECT_EQ(test_embedded_read(to, of_kernel, 16), 0U);
    EXPECT_EQ(test_embedded_accesses, 2U);
    test_embedded_accesses = 0;
    EXPECT_EQ(test_embedded_read(nullptr, of_kernel, 7), 0U);
    EXPECT_EQ(test_embedded_accesses, 7U);
    test_embedded_reads_left = 1;
    std::strcpy(to, "...................");
    EXPECT_EQ(test_embedded_read(to, of_kernel, 19), 11U);
    EXPECT_STREQ(to, "01234567...........");
    test_embedded_reads_left = 0;
    EXPECT_EQ(test_embedded_read(to, of_kernel, 0), 0U);
    EXPECT_EQ(test_embedded_read(to, of_kernel, 1), 1U);
}

TEST_F(Embedded, ReadsTextsOfTheKernel) {
    char to[8] = "x";
    std::strcpy(test_embedded_kernel, "kernel");
    std::strcpy(test_embedded_user, "user");
    EXPECT_TRUE(test_embedded_read_text(to, of_kernel, 8));
    EXPECT_STREQ(to, "kernel");
    EXPECT_EQ(log(), "string 8\n");
    EXPECT_FALSE(test_embedded_read_text(to, of_user, 8));
    EXPECT_STREQ(to, "");
    std::strcpy(to, "x");
    EXPECT_FALSE(test_embedded_read_text(to, of_kernel + 64, 8));
    EXPECT_STREQ(to, "");
    std::strcpy(to, "x");
    EXPECT_FALSE(test_embedded_read_text(to, of_kernel, 0));
    EXPECT_STREQ(to, "x");
    EXPECT_TRUE(test_embedded_read_text(to, of_kernel + 63, 8)); // an empty one
    EXPECT_STREQ(to, "");
}

// All of it, or nothing is changed.
TEST_F(Embedded, CopiesMemoryOfTheProcess) {
    char to[12] = "...........";
    std::memcpy(test_embedded_user, "0123456789a", 11);
    test_embedded_reads_left = 3;
    EXPECT_EQ(test_embedded_copy_user(to, of_user, 11), 11U);
    EXPECT_STREQ(to, "...........");
    test_embedded_reads_left = 8;
    test_embedded_accesses = 0;
    EXPECT_EQ(test_embedded_copy_user(to, of_user, 11), 0U);
    EXPECT_STREQ(to, "0123456789a");
    EXPECT_EQ(test_embedded_accesses, 8U);
    test_embedded_reads_left = 2;
    EXPECT_EQ(test_embedded_copy_user(to, of_user, 8), 0U);
    test_embedded_reads_left = 7; // it was unmapped meanwhile
    EXPECT_EQ(test_embedded_copy_user(to, of_user, 11), 11U);
    test_embedded_reads_left = 100;
    EXPECT_EQ(test_embedded_copy_user(to, of_kernel, 11), 11U);
    EXPECT_EQ(test_embedded_copy_user(to, of_kernel, 0), 1U);
    EXPECT_EQ(test_embedded_copy_user(to, of_user, 0), 0U);
    test_embedded_accesses = 0;
    EXPECT_EQ(test_embedded_copy_user(to, of_user + 64, 65536), 65536U);
    EXPECT_EQ(test_embedded_accesses, 1U);
    EXPECT_EQ(test_embedded_copy_user(to, of_user + 64, 65537), 65537U);
    EXPECT_EQ(test_embedded_accesses, 1U); // too much
}

TEST_F(Embedded, CopiesStringsOfTheProcess) {
    char to[8] = "x";
    std::strcpy(test_embedded_user, "user");
    EXPECT_EQ(test_embedded_copy_user_string(to, of_user, 8), 4);
    EXPECT_STREQ(to, "user");
    EXPECT_EQ(log(), "string 8\n");
    EXPECT_EQ(test_embedded_copy_user_string(to, of_kernel, 8), -EFAULT);
    EXPECT_EQ(test_embedded_copy_user_string(to, of_user + 64, 8), -EFAULT);
    EXPECT_EQ(test_embedded_copy_user_string(to, of_user, 0), 0);
    EXPECT_EQ(test_embedded_copy_user_string(to, of_user, -1), 0);
    EXPECT_EQ(log(), "");
    EXPECT_EQ(test_embedded_copy_user_string(to, of_user, 1), 0);
    EXPECT_EQ(log(), "string 1\n");
}

TEST_F(Embedded, EscapesStrings) {
    std::memcpy(test_embedded_kernel, "a\nb\0c", 5);
    std::memcpy(test_embedded_user, "x\ty\0z", 5);
    EXPECT_EQ(escaped(of_kernel, 0, 100, 0, 0, 0), "a\\nb");
    EXPECT_EQ(result_, 4);
    EXPECT_EQ(log(), "string 1024\n"); // as many as a string of the script has
    EXPECT_EQ(escaped(of_kernel, 2, 100, 1, 0, 0), "\"a\\n\"");
    EXPECT_EQ(log(), "string 3\n");
    EXPECT_EQ(escaped(of_kernel, 1, 100, 0, 0, 0), "a");
    EXPECT_EQ(log(), "string 2\n");
    EXPECT_EQ(escaped(of_user, 3, 100, 0, 1, 0), "x\\ty");
    EXPECT_EQ(log(), "string 4\n");
    EXPECT_EQ(escaped(of_kernel, 5, 100, 0, 0, 1), "\"a\\nb\\000c\"");
    EXPECT_EQ(log(), "bytes 5\n");
    EXPECT_EQ(escaped(of_user, 5, 100, 0, 1, 1), "\"x\\ty\\000z\"");
    EXPECT_EQ(escaped(of_kernel + 3, 0, 100, 1, 0, 0), "\"\""); // an empty one
    EXPECT_EQ(result_, 2);
    EXPECT_EQ(escaped(of_user + 3, 0, 100, 1, 1, 0), "\"\"");
    EXPECT_EQ(escaped(of_kernel, 0, 3, 0, 0, 0), "a\\n"); // there is no room
    log();
    // No more than the area of the context has room for.
    escaped(of_kernel, 5000, 100, 0, 0, 0);
    escaped(of_user, 5000, 100, 0, 1, 0);
    escaped(of_kernel, 5000, 100, 0, 0, 1);
    EXPECT_EQ(log(), "string 2560\nstring 2560\nbytes 2559\n");
}

TEST_F(Embedded, SaysIfAStringIsNotKnown) {
    for (const int buffer : {0, 1}) {
        EXPECT_EQ(escaped(of_kernel, 4, 100, 0, 1, buffer), "<unknown>");
        EXPECT_EQ(result_, -EFAULT);
        EXPECT_EQ(escaped(of_user + 64, 4, 100, 0, 1, buffer), "<unknown>");
        EXPECT_EQ(escaped(of_kernel + 64, 4, 5, 0, 0, buffer), "<unkn");
        EXPECT_EQ(result_, -EFAULT);
    }
}

// ---- output and errors --------------------------------------------------------------------------

TEST_F(Embedded, ReportsErrors) {
    test_embedded_error(ctx_, "%s %d", "no", 5);
    EXPECT_EQ(error(), "no 5");
    test_embedded_fail_access(ctx_, "read", of_user, 4);
    EXPECT_EQ(error(), "read 4 at 0x10000 of a process");
    test_embedded_fail_access(ctx_, "write", of_kernel, 8);
    EXPECT_EQ(error(), "write 8 at 0xffff888000000000 of the kernel");
}

TEST_F(Embedded, PrintsInTheContextOfItsLevel) {
    for (u32 level = 0; level < 4; level++) {
        test_embedded_level = level;
        test_embedded_print(ctx_, "%s %u", "level", level);
        EXPECT_EQ(log(), "text 7 level " + std::to_string(level) + "\n");
        test_embedded_warn("%s %u", "level", level);
        EXPECT_EQ(log(), "warning 7 level " + std::to_string(level) + "\n");
    }
    const std::string longer(3000, 'a');
    test_embedded_print(ctx_, "%s", longer.c_str());
    EXPECT_EQ(log(), "text 2559 " + longer.substr(0, 2559) + "\n");
    test_embedded_warn("%s", longer.c_str());
    EXPECT_EQ(log(), "warning 511 " + longer.substr(0, 511) + "\n");
}

// ---- CONTEXT ------------------------------------------------------------------------------------

TEST_F(Embedded, ContextTellsOfTheHit) {
    ctx_->error = "before";
    auto seen = test_embedded_first_use(ctx_);
    EXPECT_TRUE(seen.is_of_handler);
    EXPECT_STREQ(seen.last_error, "before");
    EXPECT_STREQ(seen.probe_point, "a probe");
    EXPECT_TRUE(seen.has_kregs);
    EXPECT_FALSE(seen.has_uregs);
    EXPECT_EQ(seen.user_mode_p, 0);
    EXPECT_EQ(seen.aborted, 0);
    EXPECT_EQ(seen.regparm, 0);
    EXPECT_EQ(seen.returnval_override_p, 0);
    EXPECT_EQ(ctx_->embedded_used, 1U);
    // The same handler uses it again.
    ctx_->error = "later";
    seen = test_embedded_first_use(ctx_);
    EXPECT_STREQ(seen.last_error, "before");
    ctx_->embedded_used = 0;
    ctx_->user_regs = 1;
    seen = test_embedded_first_use(ctx_);
    EXPECT_STREQ(seen.last_error, "later");
    EXPECT_FALSE(seen.has_kregs);
    EXPECT_TRUE(seen.has_uregs);
    EXPECT_EQ(seen.user_mode_p, 1);
}

// The numbers are those of SystemTap's enum stp_probe_type.
TEST_F(Embedded, ContextTellsTheTypeOfTheProbe) {
    EXPECT_EQ(test_embedded_first_use(ctx_).probe_type, 0); // a begin probe
    EXPECT_EQ(type_of(DJS_MECHANISM_NONE), 0);
    EXPECT_EQ(type_of(DJS_MECHANISM_MARKER), 2);
    EXPECT_EQ(type_of(DJS_MECHANISM_PERF, 53), 3);
    EXPECT_EQ(type_of(DJS_MECHANISM_PROCFS), 4);
    EXPECT_EQ(type_of(DJS_MECHANISM_TIMER, 1), 5);
    EXPECT_EQ(type_of(DJS_MECHANISM_TIMER, 19), 6);
    EXPECT_EQ(type_of(DJS_MECHANISM_PERF, 32), 7);
    EXPECT_EQ(type_of(DJS_MECHANISM_PROCESS), 8);
    EXPECT_EQ(type_of(DJS_MECHANISM_UPROBE), 12);
    EXPECT_EQ(type_of(DJS_MECHANISM_URETPROBE), 13);
    EXPECT_EQ(type_of(DJS_MECHANISM_BREAKPOINT), 14);
    EXPECT_EQ(type_of(DJS_MECHANISM_TRACEPOINT), 15);
    EXPECT_EQ(type_of(DJS_MECHANISM_NETFILTER), 16);
    // Whatever probes functions is a kprobe for SystemTap.
    EXPECT_EQ(type_of(DJS_MECHANISM_DJPROBE), 10);
    EXPECT_EQ(type_of(DJS_MECHANISM_KPROBE), 10);
    handler_.kind = DJS_HANDLER_RETURN;
    EXPECT_EQ(type_of(DJS_MECHANISM_KRETPROBE), 11);
    EXPECT_EQ(type_of(DJS_MECHANISM_RETURN_DJPROBE), 11);
}

TEST_F(Embedded, ContextEndsTheHandler) {
    test_embedded_set(ctx_, "of the code", false);
    test_embedded_leave(ctx_);
    EXPECT_EQ(error(), "of the code");
    EXPECT_EQ(test_embedded_first_use(ctx_).last_error, nullptr);
    test_embedded_leave(ctx_);
    EXPECT_EQ(ctx_->error, nullptr);
    // It may contain what is no format.
    test_embedded_set(ctx_, "100 %s", false);
    test_embedded_leave(ctx_);
    EXPECT_EQ(error(), "100 %s");
    // The error is one of the runtime that was left there.
    static const char left[] = "of the runtime";
    ctx_->error = left;
    test_embedded_set(ctx_, left, false);
    test_embedded_leave(ctx_);
    EXPECT_EQ(ctx_->error, left);
    ctx_->error = nullptr;
    EXPECT_EQ(log(), "");
    test_embedded_set(ctx_, "unsaid", true);
    test_embedded_leave(ctx_);
    EXPECT_EQ(ctx_->error, nullptr);
    EXPECT_EQ(log(), "abort\n");
    test_embedded_leave(ctx_);
    EXPECT_EQ(log(), "");
}

// ---- arguments ----------------------------------------------------------------------------------

class EmbeddedArguments : public Embedded {
  protected:
    using Found = std::pair<int, u64>;

    void SetUp() override {
        Embedded::SetUp();
        test_embedded_registers = {.di = 11,
                                   .si = 12,
                                   .dx = 13,
                                   .cx = 14,
                                   .r8 = 15,
                                   .r9 = 16,
                                   .sp = of_kernel,
                                   .of_program = false,
                                   .is_compat = false};
    }
    static Found found(int n, int registers, size_t word = 8) {
        long value = 77;
        const int how = test_embedded_argument_at(n, registers, word, &value);
        return {how, static_cast<u64>(value)};
    }
    static inline const Found none{-1, 77};
};

TEST_F(EmbeddedArguments, AreInRegisters) {
    for (int n = 1; n <= 6; n++)
        EXPECT_EQ(found(n, 6), Found(0, 10 + static_cast<u64>(n))) << n;
    EXPECT_EQ(found(2, 2), Found(0, 12));
    EXPECT_EQ(found(0, 6), none);
    EXPECT_EQ(found(-1, 6), none);
    EXPECT_EQ(found(1, 7), none);
    EXPECT_EQ(found(1, -1), none);
    EXPECT_EQ(found(1, 6, 4), none); // of a 32-bit program, which has others
}

// The return address is at the stack pointer, and the first argument behind it.
TEST_F(EmbeddedArguments, AreOnTheStack) {
    EXPECT_EQ(found(7, 6), Found(1, of_kernel + 8));
    EXPECT_EQ(found(8, 6), Found(1, of_kernel + 16));
    EXPECT_EQ(found(1, 0), Found(1, of_kernel + 8));
    EXPECT_EQ(found(3, 0, 4), Found(1, of_kernel + 12));
    test_embedded_registers.sp = of_user;
    test_embedded_registers.of_program = true;
    EXPECT_EQ(found(2, 0, 4), Found(2, of_user + 8));
    test_embedded_registers.sp = of_kernel; // a program may have set it
    EXPECT_EQ(found(2, 0, 4).first, -1);
}

// ---- the session and the process ----------------------------------------------------------------

TEST_F(Embedded, TellsTheStateOfTheSession) {
    enum { uninitialized, starting, running, failed, stopping, stopped }; // SystemTap's
    const auto in = [](u32 state) {
        test_embedded_control.state = state;
        return test_embedded_state();
    };
    EXPECT_EQ(in(DJS_STATE_LOADED), uninitialized);
    EXPECT_EQ(in(DJS_STATE_STARTING), starting);
    EXPECT_EQ(in(DJS_STATE_RUNNING), running);
    EXPECT_EQ(in(DJS_STATE_STOPPING), stopping);
    EXPECT_EQ(in(DJS_STATE_STOPPED), stopped);
    EXPECT_EQ(in(DJS_STATE_STOPPED + 1), stopping);
    test_embedded_control.exit_requested = 1;
    EXPECT_EQ(in(DJS_STATE_RUNNING), stopping);
}

TEST_F(Embedded, KnowsWhoseProcessItIs) {
    EXPECT_FALSE(test_embedded_is_compat_task(true));
    test_embedded_registers.is_compat = true;
    EXPECT_TRUE(test_embedded_is_compat_task(true));
    EXPECT_FALSE(test_embedded_is_compat_task(false));
    EXPECT_FALSE(test_embedded_has_user_registers());
    test_embedded_has_memory = true;
    EXPECT_TRUE(test_embedded_has_user_registers());
    EXPECT_EQ(test_embedded_target(), 123);
    EXPECT_EQ(test_embedded_reader(), 456);
}

TEST_F(Embedded, PassesCallsOnToTheLanguagesFunctions) {
    EXPECT_EQ(test_embedded_time(ctx_), 789);
    EXPECT_EQ(test_embedded_zone_offset(), -3600);
    EXPECT_STREQ(test_embedded_zone(), "CET");
    test_embedded_exit(ctx_);
    test_embedded_system(ctx_, "ls");
    EXPECT_EQ(log(), "exit\nsystem ls\n");
}

// ---- stacks and symbols -------------------------------------------------------------------------

TEST_F(Embedded, PrintsStacks) {
    test_embedded_print_stack(ctx_, false);
    EXPECT_EQ(log(), "print_stack of backtrace\n");
    test_embedded_print_stack(ctx_, true);
    EXPECT_EQ(log(), "print_ustack of ubacktrace\n");
    EXPECT_EQ(test_embedded_stack_address(ctx_, 3, false), 1003);
    EXPECT_EQ(test_embedded_stack_address(ctx_, 3, true), 2003);
}

TEST_F(Embedded, WritesStacks) {
    enum { addresses, symbols, data };
    const auto text = [&](size_t bytes, int what, bool of_program) {
        char to[32] = "as it was";
        test_embedded_stack_text(ctx_, to, bytes, what, of_program);
        return std::string(to);
    };
    EXPECT_EQ(text(32, addresses, false), "backtrace");
    EXPECT_EQ(text(32, addresses, true), "ubacktrace");
    EXPECT_EQ(text(32, symbols, false), "sprint_backtrace");
    EXPECT_EQ(text(32, data, true), "sprint_ubacktrace");
    EXPECT_EQ(text(5, data, true), "spri");
    EXPECT_EQ(text(0, data, true), "as it was");
}

TEST_F(Embedded, WritesSymbols) {
    enum { number, symbol, data, simple };
    const auto text = [&](size_t bytes, int what, bool of_program) {
        char to[32] = "as it was";
        result_ = test_embedded_symbol(ctx_, to, bytes, 0x1f, what, of_program);
        return std::string(to);
    };
    EXPECT_EQ(text(32, symbol, false), "symname 31");
    EXPECT_EQ(result_, 10);
    EXPECT_EQ(text(32, symbol, true), "usymname 31");
    EXPECT_EQ(text(32, data, false), "symdata 31");
    EXPECT_EQ(text(32, data, true), "usymdata 31");
    EXPECT_EQ(text(32, number, false), "0x1f");
    EXPECT_EQ(text(32, simple, true), "0x1f");
    EXPECT_EQ(result_, 4);
    EXPECT_EQ(text(3, simple, true), "0x");
    EXPECT_EQ(text(0, simple, true), "as it was");
    EXPECT_EQ(result_, 0);
}

} // namespace
