// SPDX-License-Identifier: GPL-2.0-or-later
// Flight recorders with a module that is made up: what starts, what stays, what is read of one that
// runs.
#include "session_fixture.h"

#include "session/recorder.h"

namespace djstap {
namespace {

TEST_F(SessionTest, ARecorderStays) {
    options.recorder = true;
    options.traced_pid = getpid();
    int told = 0;
    module.on_start = [&](const djs_start& start) {
        told = start.traced_pid;
        module.write(0, 1, FakeModule::number(7));
        return 0;
    };
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(output, "demo\n");
    EXPECT_EQ(told, getpid());
    EXPECT_EQ(module.loads, Words{"hold=1 overwrite=1 " + reader()});
    EXPECT_EQ(module.calls, Words{"start"});
    EXPECT_EQ(module.deletes(), 0);
}

TEST_F(SessionTest, ARecorderTellsWhichProbesWereNotAttached) {
    options.recorder = true;
    options.verbose = true;
    module.sites[0].error = ENOENT;
    EXPECT_EQ(run().status, 0);
    EXPECT_NE(messages.find("kernel.function(\"a\"): not attached"), std::string::npos) << messages;
}

TEST_F(SessionTest, ARecorderThatEndsAtOnceIsReadAndUnloaded) {
    options.recorder = true;
    exit_at_once();
    module.on_start = [&](const djs_start&) {
        module.write(0, 1, FakeModule::number(7));
        return 0;
    };
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(output, "n=7\n");
    EXPECT_EQ(outcome.records, 1u);
    EXPECT_EQ(module.calls, (Words{"start", "stop"}));
    EXPECT_EQ(module.deletes(), 1);
}

TEST_F(SessionTest, ARecorderThatCannotBeStartedIsAFailureAndUnloaded) {
    options.recorder = true;
    module.on_start = [](const djs_start&) { return EINVAL; };
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(output, "");
    EXPECT_EQ(messages, "ERROR: the probes could not be started: Invalid argument\n");
    EXPECT_EQ(module.deletes(), 1);
}

class RecorderTest : public SessionTest {
  protected:
    void SetUp() override {
        SessionTest::SetUp();
        module.page().overwrite = 1;
        module.page().state = DJS_STATE_RUNNING;
        options.attach = true;
        options.module = "demo";
        module.write(0, 1, FakeModule::number(7));
    }
};

TEST_F(RecorderTest, IsReadAndStays) {
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(output, "n=7\n");
    EXPECT_EQ(outcome.records, 1u);
    EXPECT_EQ(module.calls, Words{});
    EXPECT_EQ(module.deletes(), 0);
}

TEST_F(RecorderTest, IsStoppedReadAndUnloaded) {
    options.stop = true;
    module.on_stop = [&] {
        module.write(0, 2, FakeModule::number(8));
        module.page().state = DJS_STATE_STOPPED;
        return 0;
    };
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(output, "n=7\nn=8\n");
    EXPECT_EQ(module.calls, Words{"stop"});
    EXPECT_EQ(module.deletes(), 1);
}

// Its records exist nowhere else.
TEST_F(RecorderTest, StaysIfWhatItRecordedCannotBeWritten) {
    options.stop = true;
    options.outputs.file = "/dev/full";
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(module.calls, Words{"stop"});
    EXPECT_EQ(module.deletes(), 0);
    EXPECT_EQ(messages,
              "ERROR: /dev/full: No space left on device; what was written before is kept; name a "
              "file where there is more room\n"
              "WARNING: the recorder demo is stopped and stays loaded with its records: djrun "
              "--attach demo --stop reads them and unloads it\n");
}

TEST_F(RecorderTest, ThatCannotBeStoppedIsReadAllTheSame) {
    options.stop = true;
    module.on_stop = [] { return EIO; };
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(output, "n=7\n");
    EXPECT_EQ(messages, "ERROR: the probes could not be stopped: Input/output error\n");
}

TEST_F(RecorderTest, TellsItsCounts) {
    module.counts->skipped_busy = 5;
    EXPECT_EQ(run().counts.skipped_busy, 5u);
    EXPECT_EQ(messages, "WARNING: 5 hits were skipped because another handler was active on their "
                        "CPU\n");
}

// Where hits were missed inside other kprobes: only these count their own.
TEST_F(RecorderTest, TellsWhichProbesMissedHits) {
    module.files["/proc/djstap-demo"] = R"json({"version":1,"name":"demo",
        "formats":[{"text":"n=%d\n","types":"l"}],
        "probes":[{"point":"first","mechanism":"kprobe"},{"point":"second","mechanism":"kprobe"}]})json";
    module.sites.push_back(module.sites[0]);
    for (uint32_t i = 0; i < 2; i++) {
        module.sites[i].index = i;
        module.sites[i].mechanism = DJS_MECHANISM_KPROBE_INT3;
        module.sites[i].missed = 2 + i;
    }
    run();
    EXPECT_EQ(messages.find("missed at"), std::string::npos) << messages;
    module.counts->skipped_kprobe = 5;
    run();
    EXPECT_NE(messages.find("missed at second: 3, first: 2"), std::string::npos) << messages;
    module.counts->skipped_kprobe = 0;
    module.counts->skipped_kretprobe = 5;
    run();
    EXPECT_NE(messages.find("missed at second: 3, first: 2"), std::string::npos) << messages;
}

TEST_F(RecorderTest, ThatFailedIsItsStatus) {
    module.page().error = 1;
    EXPECT_EQ(run().status, 1);
}

TEST_F(RecorderTest, ErrorsOfTheScriptAreItsStatus) {
    module.write(DJS_RECORD_ERROR, 2, FakeModule::text("bad") + FakeModule::number(-1));
    EXPECT_EQ(run().status, 1);
    EXPECT_EQ(outcome.errors, 1u);
    EXPECT_EQ(messages, "ERROR: bad\n");
}

TEST_F(RecorderTest, SaysHowManyPlacesAreDamaged) {
    module.write(77, 2);
    EXPECT_EQ(run().status, 1);
    const std::string first =
        "WARNING: a record of unknown kind 77 was dropped; further ones are only counted\n";
    EXPECT_EQ(messages,
              first + "WARNING: damage was found in 1 place; the damaged records are omitted\n");
    module.write(78, 3);
    run();
    EXPECT_EQ(messages,
              first + "WARNING: damage was found in 2 places; the damaged records are omitted\n");
}

// They were meant for the machine and the moment of the session.
TEST_F(RecorderTest, RunsNoCommandsOfTheScript) {
    const std::string file = options.outputs.file + ".made";
    module.write(DJS_RECORD_SYSTEM, 2, FakeModule::text("echo > " + file));
    module.write(0, 3, FakeModule::number(8));
    EXPECT_EQ(run().status, 0);
    EXPECT_EQ(output, "n=7\nn=8\n");
    EXPECT_EQ(messages, "WARNING: the command 'echo > " + file +
                            "' of system() is not run: no session reads it\n");
    EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(RecorderTest, TakesNoCommand) {
    options.command = "true";
    const Failure refused = failure();
    EXPECT_EQ(refused.message, "demo is a flight recorder that is already running");
    EXPECT_EQ(refused.hint, "djrun --attach demo prints its records");
    EXPECT_EQ(module.deletes(), 0);
}

} // namespace
} // namespace djstap
