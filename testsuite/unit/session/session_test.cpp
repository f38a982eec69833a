// SPDX-License-Identifier: GPL-2.0-or-later
// Sessions with a module that is made up: what is asked of it, what is printed, what is left.
#include "session_fixture.h"

#include "session/clock.h"
#include "session/event.h"
#include "session/output.h"

#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>

namespace djstap {
namespace {

TEST_F(SessionTest, LoadsStartsStopsAndUnloads) {
    module.on_start = [&](const djs_start& start) {
        EXPECT_EQ(start.traced_pid, 0);
        module.write(0, 1, FakeModule::number(7));
        exit_at_once();
        return 0;
    };
    module.on_stop = [&] {
        module.write(0, 2, FakeModule::number(8));
        return 0;
    };
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(output, "n=7\nn=8\n");
    EXPECT_EQ(messages, "");
    EXPECT_EQ(outcome.records, 2u);
    EXPECT_EQ(outcome.errors, 0u);
    EXPECT_FALSE(outcome.ended_by_signal);
    EXPECT_EQ(module.loads, Words{"hold=1 " + reader()});
    EXPECT_EQ(module.calls, (Words{"start", "stop"}));
    EXPECT_EQ(module.deletes(), 1);
}

TEST_F(SessionTest, GivesBufferAndParametersToTheModule) {
    exit_at_once();
    options.buffer_mb = 3;
    options.parameters = "a=1 b=2";
    run();
    EXPECT_EQ(module.loads, Words{"hold=1 " + reader() + " ring_kb=3072 a=1 b=2"});
}

TEST_F(SessionTest, TellsTheModuleTheTracedProcess) {
    exit_at_once();
    options.traced_pid = getpid();
    int told = 0;
    module.on_start = [&](const djs_start& start) {
        told = start.traced_pid;
        EXPECT_EQ(start.flags, 0u); // it runs already
        return 0;
    };
    run();
    EXPECT_EQ(told, getpid());
}

TEST_F(SessionTest, TheCommandIsTheTracedProcessAndFollowsWhatBeginProbesPrint) {
    int told = 0;
    options.command_arguments = {"sh", "-c", "echo $$ >> " + options.outputs.file};
    options.traced_pid = getpid();
    module.on_start = [&](const djs_start& start) {
        told = start.traced_pid;
        EXPECT_EQ(start.flags, DJS_START_EXECUTES);
        module.write(0, 1, FakeModule::number(7));
        return 0;
    };
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(output, "n=7\n" + std::to_string(told) + "\n");
    EXPECT_EQ(messages, "");
}

TEST_F(SessionTest, ACommandThatFailsIsNamed) {
    options.command = "sh -c 'exit 3'";
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(messages, "WARNING: the command exited with status 3\n");
}

TEST_F(SessionTest, ACommandThatCannotBeRunEndsIt) {
    const std::string program = options.outputs.file + ".sh";
    std::ofstream(program) << "#!/nowhere/interpreter\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    options.command_arguments = {program};
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(messages,
              "ERROR: command '" + program + "' cannot be run: No such file or directory\n");
    EXPECT_EQ(module.calls, (Words{"start", "stop"}));
}

TEST_F(SessionTest, ACommandIsNotRunWhereTheScriptHasEndedBefore) {
    exit_at_once();
    options.command = "sh -c 'echo ran >> " + options.outputs.file + "'";
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(output, "");
}

TEST_F(SessionTest, ProbesThatCannotBeStartedEndIt) {
    module.on_start = [](const djs_start&) { return EINVAL; };
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(messages, "ERROR: the probes could not be started: Invalid argument\n");
    EXPECT_EQ(module.calls, (Words{"start", "stop"}));
    EXPECT_EQ(module.deletes(), 1);
}

TEST_F(SessionTest, ProbesThatCannotBeStoppedAreAnError) {
    exit_at_once();
    module.on_stop = [] { return EIO; };
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(messages, "ERROR: the probes could not be stopped: Input/output error\n");
}

TEST_F(SessionTest, StoppingGoesOnAfterSignals) {
    exit_at_once();
    module.on_stop = [&] { return module.calls.size() < 4 ? EINTR : 0; };
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(module.calls, (Words{"start", "stop", "stop", "stop"}));
    EXPECT_EQ(messages, "");
}

TEST_F(SessionTest, EndsBySignal) {
    module.on_start = [](const djs_start&) {
        raise(SIGTERM);
        return 0;
    };
    EXPECT_EQ(run().status, 0);
    EXPECT_TRUE(outcome.ended_by_signal);
    EXPECT_EQ(module.calls, (Words{"start", "stop"}));
}

TEST_F(SessionTest, EndsAtItsTimeLimit) {
    options.time_limit = std::chrono::milliseconds(1);
    EXPECT_EQ(run().status, 0);
    EXPECT_FALSE(outcome.ended_by_signal);
}

TEST_F(SessionTest, EndsByARecordOfExit) {
    module.on_start = [&](const djs_start&) {
        module.write(DJS_RECORD_EXIT, 1);
        return 0;
    };
    EXPECT_EQ(run().status, 0);
}

TEST_F(SessionTest, EndsWhenTheModuleHasStopped) {
    module.on_start = [&](const djs_start&) {
        module.page().state = DJS_STATE_STOPPED;
        return 0;
    };
    EXPECT_EQ(run().status, 0);
}

TEST_F(SessionTest, EndsWhenNothingMoreCanBeWritten) {
    options.outputs.file = "/dev/full";
    module.on_start = [&](const djs_start&) {
        module.write(0, 1, FakeModule::number(7));
        return 0;
    };
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(messages, "ERROR: /dev/full: No space left on device; what was written before is "
                        "kept; name a file where there is more room\n");
}

TEST_F(SessionTest, AttachesToAModuleThatRuns) {
    exit_at_once();
    module.page().state = DJS_STATE_RUNNING;
    options.attach = true;
    options.module = "demo";
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(module.loads, Words{});
    EXPECT_EQ(module.calls, (Words{"stop"}));
    EXPECT_EQ(module.deletes(), 1);
}

TEST_F(SessionTest, StartsAnAttachedModuleThatWaits) {
    exit_at_once();
    options.attach = true;
    options.module = "demo";
    run();
    EXPECT_EQ(module.calls, (Words{"start", "stop"}));
}

TEST_F(SessionTest, ErrorsOfTheScriptAreItsStatus) {
    exit_at_once();
    for (uint64_t time : {1, 2})
        module.write(DJS_RECORD_ERROR, time,
                     FakeModule::text("division by 0") + FakeModule::number(0));
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(outcome.errors, 2u);
    const std::string line = "ERROR: division by 0 near operator '/' at <input>:1:24\n";
    EXPECT_EQ(messages, line + line);
}

TEST_F(SessionTest, AModuleThatFailedIsItsStatus) {
    exit_at_once();
    module.page().error = 1;
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(messages, "");
}

TEST_F(SessionTest, AFaultThatEndedItIsExplained) {
    exit_at_once();
    const auto after = [&](const std::string& error) {
        messages.clear();
        module.write(DJS_RECORD_ERROR, 1, FakeModule::text(error));
        run();
        return messages;
    };
    EXPECT_EQ(after("cannot read 8 bytes at 0x0"), "ERROR: cannot read 8 bytes at 0x0\n")
        << "one that did not end it";
    module.page().error = 1;
    const std::string caught = "try { … } catch { … } handles a failed access where it happens, "
                               "--suppress-handler-errors ends only the handler\n";
    EXPECT_EQ(after("cannot read 8 bytes at 0x0"),
              "ERROR: cannot read 8 bytes at 0x0\nWARNING: that ended the session: " + caught);
    // A page of a process may be elsewhere, an address of the kernel is none.
    EXPECT_EQ(after("cannot read a string of user memory at 0x55a2104e0004"),
              "ERROR: cannot read a string of user memory at 0x55a2104e0004\n"
              "WARNING: that ended the session: the page may not be in memory, and a handler "
              "cannot wait for it: user_string(pointer, \"?\") is \"?\" then, "
              "--suppress-handler-errors ends only the handler\n");
    EXPECT_EQ(after("cannot read 4 bytes of user memory at 0x55a2104e0004"),
              "ERROR: cannot read 4 bytes of user memory at 0x55a2104e0004\n"
              "WARNING: that ended the session: the page may not be in memory, and a handler "
              "cannot wait for it: " +
                  caught);
    for (const char* const other :
         {"cannot read a string of user memory at 0xffff0, which is a kernel address",
          "cannot write 4 bytes of user memory at 0x55a2104e0004",
          "cannot read a string of kernel memory at 0xffffffffffff0000"})
        EXPECT_EQ(after(other),
                  std::string("ERROR: ") + other + "\nWARNING: that ended the session: " + caught);
    EXPECT_EQ(after("what the script says"), "ERROR: what the script says\n");
}

TEST_F(SessionTest, DamagedRecordsAreItsStatus) {
    exit_at_once();
    module.write(77, 1);
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(messages,
              "WARNING: a record of unknown kind 77 was dropped; further ones are only counted\n"
              "WARNING: 1 damaged record was dropped\n");
    module.write(77, 2);
    module.write(77, 3);
    run();
    EXPECT_TRUE(messages.ends_with("WARNING: 2 damaged records were dropped\n")) << messages;
}

TEST_F(SessionTest, ADamagedBufferIsItsStatus) {
    exit_at_once();
    module.write(0, 1, FakeModule::number(7));
    reinterpret_cast<djs_record*>(module.ring_data(0))->size = 12;
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(messages, "ERROR: the buffer of CPU 0 is damaged; the rest of it is not read\n");
}

TEST_F(SessionTest, RecordsThatWereNeverFinishedAreLost) {
    exit_at_once();
    module.counts->lost_records = 2;
    reinterpret_cast<djs_record*>(module.ring_data(0))->time = 1;
    EXPECT_EQ(run().counts.lost_records, 3u);
    EXPECT_EQ(messages, "WARNING: 3 records were lost because a buffer was full: try a larger one "
                        "with -s\n");
    EXPECT_EQ(outcome.status, 0);
}

TEST_F(SessionTest, CountsThatCannotBeHadAreNone) {
    exit_at_once();
    module.counts.reset();
    EXPECT_EQ(run().counts.lost_records, 0u);
    EXPECT_EQ(outcome.status, 0);
}

TEST_F(SessionTest, ShowsMechanismsWhenAskedOnly) {
    exit_at_once();
    run();
    EXPECT_EQ(messages, "");
    options.verbose = 1;
    run();
    EXPECT_EQ(messages, "kernel.function(\"a\"): djprobe\n");
}

TEST_F(SessionTest, ACallThatHasNotReturnedKeepsTheModule) {
    exit_at_once();
    module.counts->inside = 2;
    module.files["/sys/module/demo/parameters/reader"] = std::to_string(getpid()) + "\n";
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(messages, "WARNING: module demo stays loaded, detached from everything, until they "
                        "have returned; then it is unloaded\n");
    while (waitpid(-1, nullptr, 0) > 0)
        ; // the process that removes it
    EXPECT_EQ(module.deletes(), 1);
}

TEST_F(SessionTest, AProbeThatCannotBeTakenOutKeepsTheModuleForEver) {
    exit_at_once();
    module.counts->pinned = 1;
    module.counts->inside = 1;
    run();
    EXPECT_EQ(messages, "WARNING: module demo stays loaded until the machine is restarted: not all "
                        "of its probes could be detached (see the kernel log)\n");
    EXPECT_EQ(module.deletes(), 0);
}

TEST_F(SessionTest, AModuleThatCannotBeUnloadedIsNamed) {
    exit_at_once();
    module.answer_deletes({EPERM});
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(messages, "WARNING: module demo cannot be unloaded: Operation not permitted\n");
}

TEST_F(SessionTest, WhatCannotBeReadFromIsUnloadedAgain) {
    module.open_errors["/proc/djstap-demo"] = EIO;
    EXPECT_EQ(failure().message, "/proc/djstap-demo: Input/output error");
    EXPECT_EQ(module.loads.size(), 1u);
    EXPECT_EQ(module.deletes(), 1);
}

TEST_F(SessionTest, WhatSomebodyElseLoadedStaysWhenItCannotBeReadFrom) {
    module.open_errors["/proc/djstap-demo"] = EIO;
    options.attach = true;
    options.module = "demo";
    EXPECT_EQ(failure().message, "/proc/djstap-demo: Input/output error");
    EXPECT_EQ(module.deletes(), 0);
}

TEST_F(SessionTest, AModuleThatCannotBeLoadedIsNotUnloaded) {
    module.load_error = EEXIST;
    EXPECT_EQ(failure().message,
              "module demo cannot be loaded: a module of this name is already loaded");
    EXPECT_EQ(module.deletes(), 0);
    EXPECT_EQ(module.calls, Words{});
}

TEST_F(SessionTest, AMachineThatLoadsNoModulesIsAskedForNothing) {
    module.files["/proc/sys/kernel/modules_disabled"] = "1\n";
    EXPECT_EQ(failure().message,
              "module loading is disabled until the next boot (kernel.modules_disabled is 1)");
    EXPECT_EQ(module.loads, Words{});
}

// A begin probe is not cut short, and what ends the session reaches the thread that reads.
TEST_F(SessionTest, SignalsThatEndItDoNotInterruptTheModule) {
    const auto blocked = [] {
        sigset_t now;
        pthread_sigmask(SIG_BLOCK, nullptr, &now);
        std::string all;
        for (const int signal : {SIGHUP, SIGINT, SIGTERM})
            all += sigismember(&now, signal) == 1 ? "blocked " : "free ";
        return all;
    };
    const std::string before = blocked();
    std::string starting, stopping;
    module.on_start = [&](const djs_start&) {
        starting = blocked();
        exit_at_once();
        return 0;
    };
    module.on_stop = [&] {
        stopping = blocked();
        return 0;
    };
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(starting, "blocked blocked blocked ");
    EXPECT_EQ(stopping, "blocked blocked blocked ");
    EXPECT_EQ(blocked(), before);
}

TEST_F(SessionTest, ItsOutputIsNotItsModule) {
    const std::string whole = *read_file(options.module);
    options.outputs.file = options.module;
    EXPECT_EQ(failure().message, options.module + ": it is read, too, and would be overwritten");
    EXPECT_EQ(*read_file(options.module), whole);
    EXPECT_EQ(module.loads, Words{});
}

// An output that keeps when each event was.
class TimesOutput : public Output {
  public:
    explicit TimesOutput(const OutputStreams& streams) : writer_(streams.writer) {}
    void print(const Event& event) override { seen.push_back(event.monotonic_ns()); }
    void error(std::string_view, std::string_view) override {}
    void warning(std::string_view) override {}
    void probes(const std::vector<AttachedProbe>&) override {}
    void counts(const djs_counts&) override {}
    Writer& writer() override { return writer_; }

    static std::vector<uint64_t> seen;

  private:
    Writer& writer_;
};
std::vector<uint64_t> TimesOutput::seen;
const OutputKind times_kind{"times", "", "", [](const OutputStreams& streams) {
                                return std::unique_ptr<Output>(new TimesOutput(streams));
                            }};

TEST_F(SessionTest, TimesComeFromMomentsOfTheSession) {
    options.outputs.requests = {{&times_kind, ""}};
    module.page().clock.cycles = 1;
    module.page().clock.monotonic_ns = 1;
    module.on_start = [&](const djs_start&) {
        module.write(0, 1'000'000'001, FakeModule::number(7));
        module.write(DJS_RECORD_EXIT, 1'000'000'002);
        return 0;
    };
    TimesOutput::seen.clear();
    run();
    ASSERT_EQ(TimesOutput::seen.size(), 1u);
    EXPECT_GT(TimesOutput::seen[0], 1u) << "the module's own clock alone tells no rate";
}

// Records written after the last sweep still lie between two moments. After the last moment, times
// would be extrapolated by the rate since the module was loaded, which this test makes far too
// high.
TEST_F(SessionTest, TimesOfTheLastRecordsComeFromAMomentBehindThem) {
    options.outputs.requests = {{&times_kind, ""}};
    exit_at_once();
    const djs_clock loaded = read_clock();
    module.page().clock.cycles = loaded.cycles;
    module.page().clock.monotonic_ns = 1;
    djs_clock written{};
    module.on_stop = [&] {
        // Another thread reads meanwhile. It rests for a millisecond once it has taken this.
        module.write(0, loaded.cycles, FakeModule::number(7));
        const auto taken = [&] {
            return __atomic_load_n(&module.ring_page(0).tail, __ATOMIC_ACQUIRE) != 0;
        };
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!taken() && std::chrono::steady_clock::now() < limit)
            std::this_thread::yield();
        EXPECT_TRUE(taken());
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        written = read_clock();
        module.write(0, written.cycles, FakeModule::number(8));
        return 0;
    };
    TimesOutput::seen.clear();
    run();
    ASSERT_EQ(TimesOutput::seen.size(), 2u);
    // Tolerates five milliseconds, for a busy machine.
    EXPECT_NEAR(static_cast<double>(TimesOutput::seen[1]),
                static_cast<double>(written.monotonic_ns), 5e6);
}

} // namespace
} // namespace djstap
