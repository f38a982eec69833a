// SPDX-License-Identifier: GPL-2.0-or-later
// What functions of the language tell in --runtime=user: of this process, of its time, and of what
// the handler is for.
#include "include/record.h"
#include "include/script.h"
#include "userspace/userspace.h"

#include "../surroundings.h"

#include <cstring>
#include <ctime>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" { // include/functions.h, which is no C++
s64 djs_fn_pid(djs_ctx* ctx);
s64 djs_fn_tid(djs_ctx* ctx);
s64 djs_fn_ppid(djs_ctx* ctx);
s64 djs_fn_pgrp(djs_ctx* ctx);
s64 djs_fn_sid(djs_ctx* ctx);
s64 djs_fn_uid(djs_ctx* ctx);
s64 djs_fn_euid(djs_ctx* ctx);
s64 djs_fn_gid(djs_ctx* ctx);
s64 djs_fn_egid(djs_ctx* ctx);
s64 djs_fn_cpu(djs_ctx* ctx);
s64 djs_fn_target(djs_ctx* ctx);
s64 djs_fn_stp_pid(djs_ctx* ctx);
s64 djs_fn_is_return(djs_ctx* ctx);
s64 djs_fn_user_mode(djs_ctx* ctx);
s64 djs_fn_returnval(djs_ctx* ctx);
s64 djs_fn_gettimeofday_ns(djs_ctx* ctx);
s64 djs_fn_ktime_get_ns(djs_ctx* ctx);
s64 djs_fn_local_clock_ns(djs_ctx* ctx);
s64 djs_fn_jiffies(djs_ctx* ctx);
s64 djs_fn_HZ(djs_ctx* ctx);
s64 djs_fn_cpu_clock_ns(djs_ctx* ctx, s64 cpu);
s64 djs_fn_tz_gmtoff(djs_ctx* ctx);
void djs_fn_tz_name(djs_ctx* ctx, char* out);
void djs_fn_host_name(djs_ctx* ctx, char* out);
void djs_fn_execname(djs_ctx* ctx, char* out);
void djs_fn_pexecname(djs_ctx* ctx, char* out);
void djs_fn_probe_type(djs_ctx* ctx, char* out);
}

namespace {

class UserspaceFunctions : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(djs_user_init(1), 0);
        script_.string_bytes = sizeof(out_);
        script_.site_texts = "timer.jiffies(7)\0timer.jiffie\0timer.ms(1)";
        djs_user_options options{};
        options.ring_bytes = 4096;
        options.traced_pid = 4321;
        ASSERT_EQ(djs_user_load(&script_, &options), 0) << djs_user_complaint();
        ctx_.handler = &handler_;
        ctx_.error_text = error_text_;
    }
    void TearDown() override {
        djs_user_unload();
        djs_user_exit();
    }
    std::string text(void (*function)(djs_ctx*, char*)) {
        std::memset(out_, '#', sizeof(out_));
        function(&ctx_, out_);
        return out_;
    }
    static s64 now(clockid_t clock) {
        timespec time{};
        clock_gettime(clock, &time);
        return s64{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    }
    template <typename Function> static void expect_now(clockid_t clock, Function function) {
        const s64 before = now(clock), told = function(), after = now(clock);
        EXPECT_LE(before, told) << clock;
        EXPECT_LE(told, after) << clock;
    }
    std::string error() {
        const std::string told = ctx_.error ? ctx_.error : "";
        ctx_.error = nullptr;
        return told;
    }

    djs_handler handler_{};
    djs_ctx ctx_{};

  private:
    struct djs_script script_{};
    char out_[128]{}, error_text_[4096]{};
};

TEST_F(UserspaceFunctions, TellOfThisProcess) {
    EXPECT_EQ(djs_fn_pid(&ctx_), getpid());
    EXPECT_EQ(djs_fn_stp_pid(&ctx_), getpid());
    EXPECT_EQ(djs_fn_tid(&ctx_), gettid());
    EXPECT_EQ(djs_fn_ppid(&ctx_), getppid());
    EXPECT_EQ(djs_fn_pgrp(&ctx_), getpgrp());
    EXPECT_EQ(djs_fn_sid(&ctx_), getsid(0));
    EXPECT_EQ(djs_fn_uid(&ctx_), s64{getuid()});
    EXPECT_EQ(djs_fn_euid(&ctx_), s64{geteuid()});
    EXPECT_EQ(djs_fn_gid(&ctx_), s64{getgid()});
    EXPECT_EQ(djs_fn_egid(&ctx_), s64{getegid()});
    EXPECT_EQ(djs_fn_target(&ctx_), 4321);
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &before)) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
            EXPECT_EQ(djs_fn_cpu(&ctx_), cpu);
        }
    ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST_F(UserspaceFunctions, TellNames) {
    utsname names{};
    ASSERT_EQ(uname(&names), 0);
    EXPECT_EQ(text(djs_fn_host_name), names.nodename);
    char before[16]{};
    ASSERT_EQ(prctl(PR_GET_NAME, before), 0);
    ASSERT_EQ(prctl(PR_SET_NAME, "fifteen letters"), 0);
    EXPECT_EQ(text(djs_fn_execname), "fifteen letters");
    // A child asks, whose parent this is: that of this process may be outside the PID namespace.
    const pid_t child = fork();
    if (child == 0)
        _exit(text(djs_fn_pexecname) == "fifteen letters" ? 0 : 1);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ASSERT_EQ(prctl(PR_SET_NAME, before), 0);
}

TEST_F(UserspaceFunctions, TellTheTimeZone) {
    const djstap::test::TimeZone zone("XYZ-1:30");
    EXPECT_EQ(djs_fn_tz_gmtoff(&ctx_), -5400);
    EXPECT_EQ(text(djs_fn_tz_name), "XYZ");
    zone.set("ABC+2");
    EXPECT_EQ(djs_fn_tz_gmtoff(&ctx_), 7200);
    EXPECT_EQ(text(djs_fn_tz_name), "ABC");
}

TEST_F(UserspaceFunctions, TellTheTime) {
    expect_now(CLOCK_REALTIME, [&] { return djs_fn_gettimeofday_ns(&ctx_); });
    expect_now(CLOCK_MONOTONIC, [&] { return djs_fn_ktime_get_ns(&ctx_); });
    expect_now(CLOCK_MONOTONIC_RAW, [&] { return djs_fn_local_clock_ns(&ctx_); });
    EXPECT_EQ(djs_fn_HZ(&ctx_), 250);
    const s64 before = now(CLOCK_MONOTONIC), jiffies = djs_fn_jiffies(&ctx_);
    EXPECT_LE(before / 4'000'000, jiffies);
    EXPECT_LE(jiffies, now(CLOCK_MONOTONIC) / 4'000'000);
}

TEST_F(UserspaceFunctions, TellTheTimeOfCpusThatExist) {
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (const s64 cpu : {s64{0}, s64{cpus} - 1}) {
        expect_now(CLOCK_MONOTONIC_RAW, [&] { return djs_fn_cpu_clock_ns(&ctx_, cpu); });
        EXPECT_EQ(error(), "");
    }
    for (const s64 cpu : {s64{-1}, s64{cpus}}) {
        EXPECT_EQ(djs_fn_cpu_clock_ns(&ctx_, cpu), 0);
        EXPECT_EQ(error(), "cpu " + std::to_string(cpu) + " is not online");
    }
}

TEST_F(UserspaceFunctions, TellWhatTheHandlerIsFor) {
    djs_site site{};
    ctx_.site = &site;
    ctx_.return_value = 77;
    const struct {
        u32 kind, point;
        s64 is_return, in_program;
        const char* type;
    } kinds[] = {
        {DJS_HANDLER_BEGIN, 0, 0, 0, "begin_end"},    {DJS_HANDLER_TIMER, 0, 0, 0, "timer"},
        {DJS_HANDLER_TIMER, 17, 0, 0, "hrtimer"},     {DJS_HANDLER_TIMER, 30, 0, 0, "hrtimer"},
        {DJS_HANDLER_ENTRY, 0, 0, 1, "process_jump"}, {DJS_HANDLER_RETURN, 0, 1, 1, "process_jump"},
    };
    for (const auto& each : kinds) {
        handler_.kind = each.kind;
        site.point = each.point;
        EXPECT_EQ(djs_fn_is_return(&ctx_), each.is_return) << each.kind;
        EXPECT_EQ(djs_fn_user_mode(&ctx_), each.in_program) << each.kind;
        EXPECT_EQ(text(djs_fn_probe_type), each.type) << each.kind;
        EXPECT_EQ(djs_fn_returnval(&ctx_), each.is_return ? 77 : 0) << each.kind;
        EXPECT_EQ(error(), each.is_return ? "" : "returnval() is available only in return probes");
    }
}

} // namespace
