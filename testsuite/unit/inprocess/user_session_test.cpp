// SPDX-License-Identifier: GPL-2.0-or-later
// A session in user space, from its begin probes to what is told at its end, with a runtime that is
// made up and does what each test requests.
#include "inprocess/user_session.h"

#include "include/record.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace djstap {
namespace {

using Steps = std::vector<std::string>;

// What the functions of the runtime do, and in which order they were called.
struct MadeUpRuntime {
    Steps steps;
    int start_error = 0, failed = 0;
    int turns_to_exit = 0; // exit_requested() from then on; < 0: never
    int turns = 0;
    uint64_t next_timer = 0;
    uint64_t tail = 0, head = 0;
    alignas(8) char ring[2 * 4096] = {};
};
MadeUpRuntime runtime; // djs_user_calls has no data of its own

djs_user_calls calls() {
    djs_user_calls made{};
    made.start = [] {
        runtime.steps.emplace_back("start");
        return runtime.start_error;
    };
    made.stop = [] { runtime.steps.emplace_back("stop"); };
    made.exit_requested = [] {
        return runtime.turns_to_exit >= 0 && runtime.turns >= runtime.turns_to_exit ? 1 : 0;
    };
    made.failed = [] { return runtime.failed; };
    made.next_timer = [] { return static_cast<u64>(runtime.next_timer); };
    made.run_due = [](u64) {
        runtime.steps.emplace_back("timers");
        runtime.turns++;
    };
    made.ring = [](u32, u64** tail, char** data, u64* bytes) {
        *tail = reinterpret_cast<u64*>(&runtime.tail);
        *data = runtime.ring;
        *bytes = sizeof runtime.ring / 2;
    };
    made.ring_head = [](u32) { return reinterpret_cast<const u64*>(&runtime.head); };
    made.counts = [](djs_counts* counts) { *counts = {}; };
    return made;
}

// Notes what it receives.
class NotedOutput : public Output {
  public:
    explicit NotedOutput(int file) : writer_(file, "the output") {}
    void print(const Event&) override { runtime.steps.emplace_back("print"); }
    void error(std::string_view message, std::string_view) override { note("error: ", message); }
    void warning(std::string_view message) override { note("warning: ", message); }
    void probes(const std::vector<AttachedProbe>& probes) override {
        std::string text = "probes";
        for (const AttachedProbe& each : probes)
            text += " " + each.point + "/" + each.mechanism + "/" + each.planned;
        runtime.steps.push_back(text);
    }
    void counts(const djs_counts&) override { runtime.steps.emplace_back("counts"); }
    Writer& writer() override { return writer_; }

  private:
    static void note(const char* kind, std::string_view message) {
        runtime.steps.push_back(kind + std::string(message));
    }
    Writer writer_;
};

class UserSessions : public testing::Test {
  protected:
    void SetUp() override {
        runtime = {};
        file_ = memfd_create("output", MFD_CLOEXEC);
        meta_.probes = {{"begin", "session"}, {"timer.s(1)", "timer"}};
        meta_.formats = {{.text = "n=%d\n", .types = "l"}};
    }
    void TearDown() override { close(file_); }
    SessionOutcome run(UserSessionParts parts) {
        NotedOutput output(file_);
        SystemCommands commands;
        return UserSession(options_, meta_, output, nullptr, commands, std::move(parts)).run();
    }
    SessionOutcome run() { return run({.runtime = calls_}); }
    static bool has(const std::string& step) {
        return std::count(runtime.steps.begin(), runtime.steps.end(), step) != 0;
    }
    // Writes a record of a number.
    static void write_record(uint64_t at) {
        djs_record record{};
        record.size = sizeof record + sizeof(int64_t);
        record.id = 0;
        record.time = 1;
        const int64_t number = 5;
        memcpy(runtime.ring + at + sizeof record, &number, sizeof number);
        memcpy(runtime.ring + at, &record, sizeof record);
        runtime.head = at + record.size;
    }

    const djs_user_calls calls_ = calls();
    SessionOptions options_;
    ModuleMeta meta_;
    int file_ = -1;
};

TEST_F(UserSessions, EndWhenTheScriptExits) {
    runtime.turns_to_exit = 2;
    const SessionOutcome outcome = run();
    EXPECT_EQ(outcome.status, 0);
    EXPECT_FALSE(outcome.ended_by_signal);
    EXPECT_EQ(outcome.records, 0u);
    EXPECT_EQ(runtime.steps, (Steps{"start", "probes begin/session/session timer.s(1)/timer/timer",
                                    "timers", "timers", "stop", "counts"}));
}

// A begin probe may exit: no timer runs then.
TEST_F(UserSessions, MayEndAtOnce) {
    EXPECT_EQ(run().status, 0);
    EXPECT_FALSE(has("timers"));
    EXPECT_TRUE(has("stop"));
}

TEST_F(UserSessions, EndAtTheTimeLimit) {
    runtime.turns_to_exit = -1;
    runtime.next_timer = UINT64_MAX;
    options_.time_limit = std::chrono::milliseconds(3);
    const SessionOutcome outcome = run();
    EXPECT_EQ(outcome.status, 0);
    EXPECT_FALSE(outcome.ended_by_signal);
    EXPECT_TRUE(has("timers"));
}

// However long it could sleep otherwise: on a busy machine some take longer, but not all of so
// many.
TEST_F(UserSessions, DoNotSleepBeyondTheTimeLimit) {
    using Clock = std::chrono::steady_clock;
    constexpr auto limit = std::chrono::milliseconds(1), longest_sleep = 20 * limit;
    options_.time_limit = limit;
    auto shortest = Clock::duration::max();
    for (int i = 0; i < 100 && shortest >= longest_sleep; i++) {
        runtime = {};
        runtime.turns_to_exit = -1;
        runtime.next_timer = UINT64_MAX;
        const auto begun = Clock::now();
        EXPECT_EQ(run().status, 0);
        const auto took = Clock::now() - begun;
        EXPECT_GE(took, limit);
        shortest = std::min(shortest, took);
    }
    EXPECT_LT(shortest, longest_sleep);
}

// Between two looks at the buffers they sleep for 20 ms, or for 2 ms while a program runs: so many
// looks are the most that there is time for, and one at each end.
TEST_F(UserSessions, SleepUnlessThereIsSomethingToDo) {
    options_.time_limit = std::chrono::milliseconds(60);
    runtime.turns_to_exit = -1;
    runtime.next_timer = UINT64_MAX;
    EXPECT_EQ(run().status, 0);
    EXPECT_LE(runtime.turns, 60 / 20 + 2);
    runtime = {};
    runtime.turns_to_exit = -1;
    runtime.next_timer = UINT64_MAX;
    EXPECT_EQ(run({.runtime = calls_, .has_ended = [] { return false; }}).status, 0);
    EXPECT_LE(runtime.turns, 60 / 2 + 2);
}

TEST_F(UserSessions, TellThatProbesDidNotStart) {
    runtime.start_error = -12;
    EXPECT_EQ(run().status, 1);
    EXPECT_TRUE(has("error: the probes could not be started"));
}

TEST_F(UserSessions, FailWithTheScript) {
    runtime.failed = 1;
    EXPECT_EQ(run().status, 1);
    for (const std::string& step : runtime.steps)
        EXPECT_FALSE(step.starts_with("warning: ")) << step; // nothing is known of the error
}

// The program is let go after the begin probes, and what it may still do ends before the end
// probes.
TEST_F(UserSessions, LetAProgramRunBetweenBeginAndEnd) {
    runtime.turns_to_exit = -1;
    int asked = 0;
    UserSessionParts parts{.runtime = calls_};
    parts.release = []() -> Status {
        runtime.steps.emplace_back("release");
        return Done{};
    };
    parts.turn = [] { runtime.steps.emplace_back("turn"); };
    parts.before_end = [] { runtime.steps.emplace_back("before end"); };
    parts.has_ended = [&asked] { return asked++ > 1; };
    parts.probes = [] {
        return std::vector<AttachedProbe>{
            {.point = "p", .mechanism = "kprobe", .planned = "djprobe", .reason = ""}};
    };
    EXPECT_EQ(run(std::move(parts)).status, 0);
    EXPECT_EQ(runtime.steps, (Steps{"start", "probes p/kprobe/djprobe", "release", "turn", "timers",
                                    "before end", "stop", "counts"}));
}

// Records of this process alone are printed at once; with a program's, those of another thread may
// precede them, until it has stopped.
TEST_F(UserSessions, WaitForRecordsThatOthersMayWrite) {
    static uint64_t others_tail, others_head;
    alignas(8) static char others_ring[2 * 4096];
    const auto steps_with = [&](uint32_t rings) {
        runtime = {};
        runtime.turns_to_exit = -1;
        others_tail = others_head = 0;
        djs_user_calls made = calls();
        made.ring = [](u32 number, u64** tail, char** data, u64* bytes) {
            *tail = reinterpret_cast<u64*>(number ? &others_tail : &runtime.tail);
            *data = number ? others_ring : runtime.ring;
            *bytes = sizeof others_ring / 2;
        };
        made.ring_head = [](u32 number) {
            return reinterpret_cast<const u64*>(number ? &others_head : &runtime.head);
        };
        UserSessionParts parts{.runtime = made};
        parts.rings = rings;
        parts.release = []() -> Status {
            runtime.steps.emplace_back("release");
            write_record(0);
            return Done{};
        };
        int asked = 0;
        parts.has_ended = [&asked] { return asked++ > 1; };
        EXPECT_EQ(run(std::move(parts)).records, 1u);
        return Steps(runtime.steps.begin() + 2, runtime.steps.end());
    };
    EXPECT_EQ(steps_with(1), (Steps{"release", "timers", "print", "stop", "counts"}));
    EXPECT_EQ(steps_with(2), (Steps{"release", "timers", "stop", "print", "counts"}));
}

TEST_F(UserSessions, EndIfTheProgramCannotBeLetGo) {
    runtime.turns_to_exit = -1;
    UserSessionParts parts{.runtime = calls_};
    parts.release = []() -> Status { return Failure{"of this", ""}; };
    EXPECT_EQ(run(std::move(parts)).status, 1);
    EXPECT_TRUE(has("error: of this"));
    EXPECT_FALSE(has("timers"));
    // It is not tried if the script has ended by then.
    runtime = {};
    UserSessionParts others{.runtime = calls_};
    others.release = []() -> Status { return Failure{"of that", ""}; };
    EXPECT_EQ(run(std::move(others)).status, 0);
    EXPECT_FALSE(has("error: of that"));
}

TEST_F(UserSessions, PrintWhatHandlersHaveRecorded) {
    write_record(0);
    const SessionOutcome outcome = run();
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.records, 1u);
    EXPECT_EQ(outcome.errors, 0u);
    EXPECT_TRUE(has("print"));
    EXPECT_EQ(runtime.tail, runtime.head); // the memory is the runtime's again
}

// A handler that was left by longjmp() leaves a hole, which is not filled any more at the end.
TEST_F(UserSessions, TellOfRecordsThatWereNeverCompleted) {
    write_record(64);
    SessionOutcome outcome = run();
    EXPECT_EQ(outcome.records, 1u);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_TRUE(has("warning: 1 record was never completed: a signal's handler left a probe's "
                    "handler for good"));
}

TEST_F(UserSessions, TellOfADamagedBuffer) {
    runtime.tail = 4;
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(std::count(runtime.steps.begin(), runtime.steps.end(),
                         "error: the buffer of thread slot 0 is damaged; the rest of it is not "
                         "read"),
              1);
    // One record that makes no sense does not end the reading.
    runtime = {};
    write_record(0);
    runtime.ring[offsetof(djs_record, id)] = 77;
    EXPECT_EQ(run().status, 1);
    EXPECT_TRUE(has("warning: 1 damaged record was dropped"));
}

TEST_F(UserSessions, KnowWhenATimerIsDue) {
    NotedOutput output(file_);
    SystemCommands commands;
    UserSession session(options_, meta_, output, nullptr, commands, {.runtime = calls_});
    runtime.next_timer = 0;
    EXPECT_TRUE(session.is_due());
    runtime.next_timer = UINT64_MAX;
    EXPECT_FALSE(session.is_due());
    EXPECT_TRUE(session.exit_requested());
    runtime.turns_to_exit = -1;
    EXPECT_FALSE(session.exit_requested());
}

} // namespace
} // namespace djstap
