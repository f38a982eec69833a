// SPDX-License-Identifier: GPL-2.0-or-later
// Real guests under QEMU, for every kernel that was unpacked for guests.
#include "support.h"
#include "system/descriptor.h"
#include "system/file.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

namespace djstap {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::steady_clock;

// Each kernel's tests run in one process each (ctest starts one per test), so they share the user's
// cache: the first of them saves the guest, the others restore it.
class Guest : public testing::TestWithParam<GuestKernel> {
  protected:
    void SetUp() override {
        if (GetParam().release.empty())
            GTEST_SKIP() << "there is no kernel in " << kernels_folder()
                         << " (scripts/kernels fetches them)";
    }

    GuestJob shell(const std::string& script) { return shell_job(GetParam(), script); }
    GuestJob shell_with_input(const std::string& script, int fd) {
        GuestJob job = shell(script);
        job.input = fd;
        return job;
    }

    // Runs a job that must start.
    GuestOutcome run(const GuestJob& job, SignalMailbox* signals = nullptr) {
        Result<GuestOutcome> outcome = run_guest(job, seen.callbacks(), signals);
        if (!outcome) {
            ADD_FAILURE() << outcome.failure().message << "\n" << outcome.failure().hint;
            return {};
        }
        return *outcome;
    }

    Collected seen;
};

std::vector<GuestKernel> kernels_or_none() {
    std::vector<GuestKernel> kernels = test_kernels();
    return kernels.empty() ? std::vector<GuestKernel>(1) : kernels;
}

std::string test_name(const testing::TestParamInfo<GuestKernel>& info) {
    std::string name = info.param.release.empty() ? "none" : info.param.release;
    for (char& c : name)
        if (!isalnum(static_cast<unsigned char>(c)))
            c = '_';
    return name;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Guest, testing::ValuesIn(kernels_or_none()), test_name);

TEST_P(Guest, RunsTheKernelThatWasAskedFor) {
    GuestOutcome outcome = run(shell("uname -r; id -u; pwd"));
    EXPECT_EQ(outcome.state, GuestOutcome::Exited) << outcome.reason << outcome.kernel_log;
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(seen.output, GetParam().release + "\n0\n/root\n");
}

TEST_P(Guest, KeepsArgumentsAsTheyAre) {
    GuestJob job = shell("");
    job.command = {"printf", "%s|", "a b", "$HOME", "", "\"'", "\n*"};
    run(job);
    EXPECT_EQ(seen.output, "a b|$HOME||\"'|\n*|");
}

TEST_P(Guest, KeepsErrorsApartAndPassesTheExitCode) {
    GuestOutcome outcome = run(shell("echo out; echo err >&2; exit 42"));
    EXPECT_EQ(outcome.state, GuestOutcome::Exited);
    EXPECT_EQ(outcome.exit_code, 42);
    EXPECT_EQ(seen.output, "out\n");
    EXPECT_EQ(seen.errors, "err\n");
}

TEST_P(Guest, HasNoInput) {
    run(shell("cat; echo end"));
    EXPECT_EQ(seen.output, "end\n");
}

// A descriptor that provides `text`: the end of a pipe with a writer of its own, or a file.
class InputOf {
  public:
    InputOf(const std::string& text, bool pipe) {
        int ends[2];
        if (pipe && pipe2(ends, O_CLOEXEC) == 0) {
            fd = ends[0];
            writer_ = std::thread([text, end = ends[1]] {
                for (size_t at = 0; at < text.size();) {
                    const ssize_t n = write(end, text.data() + at, text.size() - at);
                    if (n <= 0)
                        break;
                    at += static_cast<size_t>(n);
                }
                close(end);
            });
        } else {
            fd = open((folder_.path + "/input").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
            EXPECT_EQ(pwrite(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
        }
    }
    ~InputOf() {
        close(fd);
        if (writer_.joinable())
            writer_.join();
    }
    int fd = -1;

  private:
    TestFolder folder_;
    std::thread writer_;
};

TEST_P(Guest, PassesItsInput) {
    const std::string text = "first line\n" + std::string(3'000'000, 'x') + "\nlast";
    for (bool pipe : {true, false}) {
        InputOf input(text, pipe);
        GuestJob job = shell("read line; echo $line; wc -c; read more || echo end");
        job.input = input.fd;
        seen = {};
        run(job);
        EXPECT_EQ(seen.output, "first line\n3000005\nend\n") << pipe;
    }
}

TEST_P(Guest, LeavesUnreadInputOfAFileToOthers) {
    InputOf input("one\ntwo\n" + std::string(500'000, 'x'), false);
    GuestJob job = shell("read line; echo $line"); // busybox' sh reads a byte at a time
    job.input = input.fd;
    run(job);
    EXPECT_EQ(seen.output, "one\n");
    EXPECT_EQ(lseek(input.fd, 0, SEEK_CUR), 4);
    // The command does not read: nothing is consumed, and nothing waits for it.
    run(shell_with_input("true", input.fd));
    EXPECT_EQ(lseek(input.fd, 0, SEEK_CUR), 4);
}

TEST_P(Guest, WaitsForNoInputThatNobodyReads) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(run(shell_with_input("echo done", ends[0])).exit_code, 0);
    EXPECT_EQ(seen.output, "done\n");
    close(ends[0]);
    close(ends[1]);
}

TEST_P(Guest, TellsTheCommandThatNobodyTakesItsOutput) {
    GuestCallbacks callbacks = seen.callbacks();
    callbacks.output = [](GuestStream stream, std::string_view) {
        return stream != GuestStream::Output;
    };
    Result<GuestOutcome> outcome = run_guest(shell("yes; echo $? >&2"), callbacks);
    ASSERT_TRUE(outcome && !outcome->lost());
    outcome = run_guest(shell("exec yes"), callbacks);
    ASSERT_TRUE(outcome && !outcome->lost());
    EXPECT_EQ(outcome->exit_code, 128 + SIGPIPE);
}

TEST_P(Guest, KeepsAThirdStreamApart) {
    run(shell(std::string("echo out; for i in 1 2 3; do echo $i > ") + guest_trace_file +
              "; sleep 0.1; done; echo err >&2"));
    EXPECT_EQ(seen.output, "out\n");
    EXPECT_EQ(seen.errors, "err\n");
    EXPECT_EQ(seen.trace, "1\n2\n3\n");
}

TEST_P(Guest, HasTheCallersMaskAndLimits) {
    {
        const Limit files(RLIMIT_NOFILE, 123);
        const mode_t mask = umask(027);
        run(shell("umask; ulimit -n"));
        umask(mask);
    }
    EXPECT_EQ(seen.output, "0027\n123\n");
}

TEST_P(Guest, TakesAnEnvironmentOfAnySize) {
    GuestJob job = shell("echo ${#LONG} $SHORT; env | grep -c ^V");
    job.environment = {"LONG=" + std::string(100'000, 'x'), "SHORT=a b"};
    for (int i = 0; i < 5'000; i++)
        job.environment.push_back("V" + std::to_string(i) + "=" + std::string(100, 'x'));
    run(job);
    EXPECT_EQ(seen.output, "100000 a b\n5000\n") << seen.errors;
}

TEST_P(Guest, WritesToADiskOfItsOwn) {
    run(shell("grep -c '^/dev/vda .* ext4 ' /proc/mounts;"
              "dd if=/dev/zero of=/tmp/x bs=1M count=40 2>/dev/null; sync;"
              "test $(awk '{print $7}' /sys/block/vda/stat) -gt 80000 && wc -c < /tmp/x"));
    EXPECT_EQ(seen.output, "2\n41943040\n") << seen.errors;
    seen = {};
    run(shell("ls /tmp")); // discarded
    EXPECT_EQ(seen.output, "");
}

TEST_P(Guest, ReportsAMissingProgram) {
    GuestJob job = shell("");
    job.command = {"/no/such/program"};
    EXPECT_EQ(run(job).exit_code, 127);
    EXPECT_NE(seen.errors.find("/no/such/program"), std::string::npos);
}

TEST_P(Guest, ReportsTheSignalThatEndedTheCommand) {
    EXPECT_EQ(run(shell("kill -SEGV $$")).exit_code, 128 + SIGSEGV);
}

TEST_P(Guest, HasTheTracingFileSystemsAndTwoCpus) {
    run(shell("nproc; grep -qm1 . /sys/kernel/tracing/available_filter_functions && echo tracing;"
              "test -d /sys/kernel/debug/kprobes && echo debug; dmesg | grep -c 'Linux version';"
              "echo text > /dev/stderr; touch /tmp/x && echo tmp"));
    EXPECT_EQ(seen.output, "2\ntracing\ndebug\n1\ntmp\n");
    EXPECT_EQ(seen.errors, "text\n");
}

TEST_P(Guest, HasTheHostsTime) {
    run(shell("date +%s"));
    EXPECT_NEAR(static_cast<double>(atoll(seen.output.c_str())), static_cast<double>(time(nullptr)),
                3.0);
}

// A command that is asked by a line of its input, whenever it has printed "ready".
class Asked {
  public:
    Asked() {
        auto made = Pipe::open();
        EXPECT_TRUE(made);
        input = std::move(made->reader);
        ours_ = std::move(made->writer);
    }
    GuestCallbacks callbacks() {
        GuestCallbacks made;
        made.output = [this](GuestStream, std::string_view data) {
            rest_ += data;
            for (size_t end; (end = rest_.find('\n')) != std::string::npos;) {
                take(rest_.substr(0, end));
                rest_.erase(0, end + 1);
            }
            return true;
        };
        return made;
    }

    FileDescriptor input;
    std::vector<Time::time_point> asked, answered;
    std::vector<std::string> answers;

  private:
    void take(const std::string& line) {
        if (line == "ready") {
            asked.push_back(Time::now());
            EXPECT_TRUE(write_all(ours_.get(), "\n"));
        } else {
            answered.push_back(Time::now());
            answers.push_back(line);
        }
    }

    FileDescriptor ours_;
    std::string rest_;
};

// However late a question or an answer arrives, the guest's time is that of a moment between them.
TEST_P(Guest, ItsClockRunsAtTheHostsRate) {
    Asked asked;
    const std::string tell = "echo ready; read x; cat /proc/uptime; ";
    Result<GuestOutcome> outcome = run_guest(
        shell_with_input(tell + "sleep 3; " + tell, asked.input.get()), asked.callbacks());
    ASSERT_TRUE(outcome && !outcome->lost());
    ASSERT_EQ(asked.asked.size(), 2U);
    ASSERT_EQ(asked.answers.size(), 2U);
    using Seconds = std::chrono::duration<double>;
    const double passed = atof(asked.answers[1].c_str()) - atof(asked.answers[0].c_str());
    EXPECT_GE(passed, Seconds(asked.asked[1] - asked.answered[0]).count() * 0.9 - 0.1);
    EXPECT_LE(passed, Seconds(asked.answered[1] - asked.asked[0]).count() * 1.1 + 0.1);
    EXPECT_GE(passed, 2.9);
}

TEST_P(Guest, DrawsOtherRandomNumbersEachTime) {
    run(shell("head -c 16 /dev/urandom | md5sum"));
    std::string first = std::move(seen.output);
    seen.output.clear();
    run(shell("head -c 16 /dev/urandom | md5sum"));
    EXPECT_EQ(first.size(), seen.output.size());
    EXPECT_NE(first, seen.output);
}

TEST_P(Guest, StreamsOutputWhileTheCommandRuns) {
    Asked asked; // goes on only when its first line has arrived
    Result<GuestOutcome> outcome = run_guest(
        shell_with_input("echo ready; read x; echo late", asked.input.get()), asked.callbacks());
    ASSERT_TRUE(outcome && !outcome->lost());
    EXPECT_EQ(asked.answers, std::vector<std::string>{"late"});
}

TEST_P(Guest, DeliversFilesIntact) {
    TestFolder folder;
    std::string big(20 << 20, 0);
    uint32_t state = 1;
    for (char& c : big)
        c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    GuestJob job =
        shell("cmp /tmp/a/big /tmp/copy && wc -c < /tmp/a/big && /opt/x/script && wc -c < /empty;"
              "readlink /opt/link; md5sum < /tmp/a/big");
    job.files = {
        {make_file(folder.path + "/big", big), "/tmp/a/big", 0, ""},
        {folder.path + "/big", "/tmp/copy", 0600, ""},
        {make_file(folder.path + "/script", "#!/bin/sh\necho script\n"), "/opt/x/script", 0755, ""},
        {make_file(folder.path + "/empty", ""), "/empty", 0, ""},
        {"", "/opt/link", 0, "/tmp/a/big"}};
    EXPECT_EQ(run(job).exit_code, 0) << seen.errors;
    std::string sum = folder.path + "/sum";
    ASSERT_EQ(system(("md5sum < " + folder.path + "/big > " + sum).c_str()), 0);
    std::stringstream expected;
    expected << "20971520\nscript\n0\n/tmp/a/big\n" << std::ifstream(sum).rdbuf();
    EXPECT_EQ(seen.output, expected.str());
}

TEST_P(Guest, SaysWhenFilesDoNotFit) {
    TestFolder folder;
    std::string path = make_file(folder.path + "/huge", "");
    std::filesystem::resize_file(path, 400 << 20);
    GuestJob job = shell("true");
    job.files = {{path, "/huge", 0, ""}};
    Result<GuestOutcome> outcome = run_guest(job);
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.failure().message.find("/huge: No space left"), std::string::npos)
        << outcome.failure().message;
    EXPECT_NE(outcome.failure().hint.find("memory"), std::string::npos);
}

TEST_P(Guest, PassesManyBytesOfOutput) {
    run(shell("dd if=/dev/zero bs=1M count=30 2>/dev/null | tr '\\0' x"));
    EXPECT_EQ(seen.output.size(), size_t(30) << 20);
    EXPECT_EQ(seen.output.find_first_not_of('x'), std::string::npos);
}

TEST_P(Guest, ForwardsSignals) {
    SignalMailbox signals;
    GuestJob job =
        shell("trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.1; done");
    job.command_timeout = 60s;
    GuestCallbacks callbacks = seen.callbacks();
    callbacks.output = [&](GuestStream, std::string_view data) {
        seen.output.append(data);
        if (data.find("ready") != std::string_view::npos)
            signals.post(SIGINT);
        return true;
    };
    Result<GuestOutcome> outcome = run_guest(job, callbacks, &signals);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->state, GuestOutcome::Exited) << outcome->reason;
    EXPECT_EQ(outcome->exit_code, 5);
    EXPECT_EQ(seen.output, "ready\ninterrupted\n");
}

TEST_P(Guest, IsLostWhenTheKernelPanics) {
    // Its output is delayed: it panics when "before" has arrived.
    SignalMailbox signals;
    GuestCallbacks callbacks = seen.callbacks();
    callbacks.output = [&](GuestStream, std::string_view data) {
        seen.output.append(data);
        signals.post(SIGINT);
        return true;
    };
    Result<GuestOutcome> result =
        run_guest(shell("trap 'echo c > /proc/sysrq-trigger' INT; echo before; while :; do sleep "
                        "0.1; done; echo after"),
                  callbacks, &signals);
    ASSERT_TRUE(result);
    const GuestOutcome& outcome = *result;
    EXPECT_TRUE(outcome.lost());
    EXPECT_EQ(seen.output, "before\n");
    EXPECT_NE(outcome.reason.find("panicked: sysrq triggered crash"), std::string::npos)
        << outcome.reason;
    EXPECT_NE(outcome.kernel_log.find("sysrq_handle_crash"), std::string::npos)
        << outcome.kernel_log;
}

TEST_P(Guest, IsLostWhenItTurnsItselfOff) {
    GuestOutcome outcome = run(shell("poweroff -f; sleep 10"));
    EXPECT_TRUE(outcome.lost());
    EXPECT_NE(outcome.reason.find("shut down"), std::string::npos) << outcome.reason;
}

TEST_P(Guest, IsLostWhenTheCommandHangs) {
    GuestJob job = shell("sleep 100");
    job.command_timeout = 1s;
    auto began = Time::now();
    GuestOutcome outcome = run(job);
    EXPECT_LT(Time::now() - began, 60s);
    EXPECT_TRUE(outcome.lost());
    EXPECT_NE(outcome.reason.find("within 1 s"), std::string::npos) << outcome.reason;
    // An interrupt on every CPU made it log its location.
    EXPECT_NE(outcome.kernel_log.find("NMI"), std::string::npos) << outcome.kernel_log;
}

TEST_P(Guest, IsLostWhenNothingInItAnswers) {
    // Stops the guest's virtual CPUs for good, like a kernel that spins with interrupts disabled.
    ASSERT_TRUE(prepare_guest(shell("true"))); // what is booted to be saved has other limits
    GuestJob job = shell("echo ready; sleep 100");
    job.silence_timeout = 10s;
    GuestCallbacks callbacks = seen.callbacks();
    callbacks.output = [this, take = callbacks.output](GuestStream stream, std::string_view data) {
        if (seen.output.empty()) {
            const std::string stop = "for p in $(ps -o pid= --ppid " + std::to_string(getpid()) +
                                     "); do grep -q qemu /proc/$p/comm && kill -STOP $p; done";
            [[maybe_unused]] int status = system(stop.c_str());
        }
        return take(stream, data);
    };
    Result<GuestOutcome> outcome = run_guest(job, callbacks);
    ASSERT_TRUE(outcome) << outcome.failure().message;
    EXPECT_EQ(seen.output, "ready\n");
    EXPECT_TRUE(outcome->lost());
    EXPECT_NE(outcome->reason.find("not answered"), std::string::npos) << outcome->reason;
}

TEST_P(Guest, TwoAtOnceDoNotMeet) {
    ASSERT_TRUE(prepare_guest(shell("true")));
    std::string outputs[2];
    std::thread threads[2];
    for (int i = 0; i < 2; ++i)
        threads[i] = std::thread([&, i] {
            GuestJob job = shell("echo " + std::to_string(i) + " > /who; sleep 1; cat /who");
            GuestCallbacks callbacks;
            callbacks.output = [&, i](GuestStream, std::string_view data) {
                outputs[i].append(data);
                return true;
            };
            Result<GuestOutcome> outcome = run_guest(job, callbacks);
            EXPECT_TRUE(outcome && !outcome->lost());
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(outputs[0], "0\n");
    EXPECT_EQ(outputs[1], "1\n");
}

TEST_P(Guest, EndsWithTheProcessThatRunsIt) {
    ASSERT_TRUE(prepare_guest(shell("true")));
    pid_t child = fork();
    if (child == 0) {
        GuestJob job = shell("sleep 1000");
        [[maybe_unused]] auto outcome = run_guest(job);
        _exit(0);
    }
    auto guests = [&] {
        std::string count = "ps -o comm= --ppid " + std::to_string(child) + " | grep -q qemu";
        return system(count.c_str()) == 0;
    };
    for (int i = 0; i < 200 && !guests(); ++i)
        std::this_thread::sleep_for(50ms);
    ASSERT_TRUE(guests());
    std::string find = "ps -o pid= --ppid " + std::to_string(child);
    FILE* pipe = popen(find.c_str(), "r");
    int qemu = 0;
    ASSERT_EQ(fscanf(pipe, "%d", &qemu), 1);
    pclose(pipe);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (int i = 0; i < 100 && std::filesystem::exists("/proc/" + std::to_string(qemu)); ++i)
        std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(std::filesystem::exists("/proc/" + std::to_string(qemu)));
}

// CPU time of this process's children that have ended, QEMU among them: unlike the time that
// passes, it does not depend on what else the machine does.
std::chrono::microseconds time_of_children() {
    rusage used = {};
    getrusage(RUSAGE_CHILDREN, &used);
    return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// A fourth, or half with the host's files, which are shared anew.
TEST_P(Guest, IsRestoredInAFractionOfABoot) {
    for (bool host_root : {false, true}) {
        SCOPED_TRACE(host_root ? "with the host's files" : "");
        const TestFolder cache;
        const Environment elsewhere("DJSTAP_CACHE", cache.path);
        GuestJob job = shell("echo done");
        job.host_root = host_root;
        const auto before = time_of_children();
        ASSERT_TRUE(prepare_guest(job));
        const auto saved = time_of_children();
        seen = {};
        run(job);
        EXPECT_EQ(seen.output, "done\n");
        const auto boot = saved - before, restored = time_of_children() - saved;
        EXPECT_GT(restored.count(), 0);
        EXPECT_LT(restored * (host_root ? 2 : 4), boot);
    }
}

TEST_P(Guest, DumpsWhatTheKernelSaysOfItself) {
    Result<GuestKernelFacts> facts = guest_kernel_facts(GetParam());
    ASSERT_TRUE(facts) << facts.failure().message;
    std::stringstream symbols, functions, version;
    symbols << std::ifstream(facts->kallsyms).rdbuf();
    functions << std::ifstream(facts->functions).rdbuf();
    version << std::ifstream(facts->version).rdbuf();
    EXPECT_NE(symbols.str().find("ffffffff81000000 T _text"), std::string::npos);
    EXPECT_NE(functions.str().find("\n__x64_sys_gettimeofday\n"), std::string::npos);
    EXPECT_NE(version.str().find(GetParam().release), std::string::npos);
    EXPECT_GT(std::filesystem::file_size(facts->btf), 1000000u);
    EXPECT_GT(std::filesystem::file_size(facts->notes), 30u);
}

} // namespace
} // namespace djstap
