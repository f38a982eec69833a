// SPDX-License-Identifier: GPL-2.0-or-later
#include "offered/server.h"

#include "offered/frames.h"
#include "system/descriptor.h"
#include "system/file.h"
#include "system/temporary.h"

#include "../surroundings.h"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>

namespace djstap::offered {
namespace {

namespace fs = std::filesystem;

struct Answer {
    std::string output, errors;
    int status = -1; // none arrived
    bool broken = false;
};

// What is sent on a connection that the service answers on another thread.
class Service : public testing::Test {
  protected:
    void SetUp() override {
        if (geteuid() != 0)
            GTEST_SKIP() << "only files of root are run";
        auto made = TemporaryFolder::create("/tmp");
        ASSERT_TRUE(made);
        folder = std::move(*made);
        ASSERT_TRUE(write_file(folder.file("opens.ko"), "a module"));
        signal(SIGPIPE, SIG_DFL); // as systemd starts it
        program("echo \"$@\"");
        int ends[2];
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        ours = FileDescriptor(ends[0]);
        theirs = FileDescriptor(ends[1]);
    }
    // Stands for djrun.
    void program(const std::string& commands) {
        ASSERT_TRUE(write_file(folder.file("djrun"), "#!/bin/sh\n" + commands + "\n"));
        ASSERT_EQ(chmod(folder.file("djrun").c_str(), 0755), 0);
    }
    void begin() {
        service = std::jthread([this] {
            serve(theirs.get(), folder.path(), folder.file("djrun"));
            theirs.reset();
        });
    }
    // Receives until the status, or the end.
    Answer receive() {
        Answer answer;
        FrameReader frames;
        char bytes[256];
        for (;;) {
            while (const auto frame = frames.next()) {
                if (frame->stream == Stream::Status) {
                    answer.status = frame->bytes[0];
                    return answer;
                }
                (frame->stream == Stream::Output ? answer.output : answer.errors) += frame->bytes;
                if (answer.output.find("stop me") != std::string::npos && !stopped) {
                    stopped = true;
                    shutdown(ours.get(), SHUT_WR);
                }
            }
            answer.broken = frames.broken();
            const ssize_t got = read_some(ours.get(), bytes, sizeof bytes);
            if (got <= 0 || answer.broken)
                return answer;
            frames.add({bytes, static_cast<size_t>(got)});
        }
    }
    // The service waits then until some of what it sent is taken.
    void wait_until_nothing_more_arrives() {
        int before = 0, waiting = 0;
        for (int same = 0; same < 20; same = waiting > 0 && waiting == before ? same + 1 : 0) {
            before = waiting;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            ASSERT_EQ(ioctl(ours.get(), FIONREAD, &waiting), 0);
        }
    }
    Answer ask(const std::string& request) {
        begin();
        EXPECT_TRUE(write_all(ours.get(), request));
        return receive();
    }

    TemporaryFolder folder;
    FileDescriptor ours, theirs;
    bool stopped = false;
    std::jthread service; // ends before the others
};

TEST_F(Service, RunsTheModuleAndNothingElse) {
    const Answer answer = ask("opens\n");
    EXPECT_EQ(answer.output, folder.file("opens.ko") + "\n");
    EXPECT_EQ(answer.errors, "");
    EXPECT_EQ(answer.status, 0);
}

TEST_F(Service, TellsTheJournalWhoRunsWhat) {
    testing::internal::CaptureStderr();
    ask("opens\n");
    service.join();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "user 0 runs opens\n");
}

TEST_F(Service, TakesNoRequestThatIsLate) {
    ASSERT_TRUE(write_all(ours.get(), "opens\n"));
    serve(theirs.get(), folder.path(), folder.file("djrun"), std::chrono::milliseconds(0));
    theirs.reset();
    const Answer answer = receive();
    EXPECT_EQ(answer.output + answer.errors, "");
    EXPECT_EQ(answer.status, -1);
}

// The time is that of the whole request, which would become too long only after two seconds.
TEST_F(Service, AByteEveryNowAndThenDoesNotProlongTheTime) {
    std::atomic<bool> returned = false;
    size_t sent = 0;
    std::jthread sender([&] {
        while (!returned && write_all(ours.get(), "a")) {
            sent++;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    });
    serve(theirs.get(), folder.path(), folder.file("djrun"), std::chrono::milliseconds(100));
    returned = true;
    sender.join();
    EXPECT_LE(sent, 100U) << "it ended by its length";
    theirs.reset();
    const Answer answer = receive();
    EXPECT_EQ(answer.output + answer.errors, "");
    EXPECT_EQ(answer.status, -1);
}

TEST_F(Service, PassesBothStreamsAndTheStatusOn) {
    program("echo out; echo err >&2; exit 3");
    const Answer answer = ask("opens\n");
    EXPECT_EQ(answer.output, "out\n");
    EXPECT_EQ(answer.errors, "err\n");
    EXPECT_EQ(answer.status, 3);
}

TEST_F(Service, PassesLargeOutputOn) {
    program("head -c 300000 /dev/zero | tr '\\0' x");
    EXPECT_EQ(ask("opens\n").output, std::string(300000, 'x'));
}

TEST_F(Service, TheScriptGetsNothingOfTheUser) {
    const test::Environment of_user("DJSTAP_CACHE", "/somewhere");
    program("env | cut -d= -f1 | sort | grep -v -e ^PWD$ -e ^_$ -e ^SHLVL$ -e ^OLDPWD$; cat");
    const Answer answer = ask("opens\nmore input\n");
    EXPECT_EQ(answer.output, "LC_ALL\nPATH\n");
}

TEST_F(Service, RefusesOptionsParametersAndPaths) {
    for (const char* request : {"opens -o /etc/passwd\n", "-c id\n", "opens x=1\n", "../opens\n",
                                "/etc/djstap/opens\n", "opens.ko\n", "opens;id\n"}) {
        SetUp();
        const Answer answer = ask(request);
        EXPECT_EQ(answer.output, "") << request;
        EXPECT_EQ(answer.errors.find("djstap-run: this is not the name of a script"), 0U)
            << request;
        EXPECT_EQ(answer.status, 1) << request;
        service.join();
    }
}

TEST_F(Service, RefusesWhatAnotherUserCouldHaveWritten) {
    ASSERT_EQ(chown(folder.file("opens.ko").c_str(), 65534, 65534), 0);
    const Answer answer = ask("opens\n");
    EXPECT_EQ(answer.output, "");
    EXPECT_NE(answer.errors.find("changed by someone other than root"), std::string::npos);
    EXPECT_EQ(answer.status, 1);
}

TEST_F(Service, RefusesWhatDoesNotExist) {
    const Answer answer = ask("closes\n");
    EXPECT_EQ(answer.errors, "djstap-run: there is no script closes\n"
                             "  hint: djstap-run --list lists those that can be run\n");
    EXPECT_EQ(answer.status, 1);
}

TEST_F(Service, RefusesLongLines) {
    const Answer answer = ask(std::string(5000, 'a') + "\n");
    EXPECT_EQ(answer.output, "");
    EXPECT_EQ(answer.status, -1);
}

// The last that is answered, and the first that is not.
TEST_F(Service, ReadsAHundredCharacters) {
    Answer answer = ask(std::string(100, 'a') + "\n");
    EXPECT_EQ(answer.errors.find("djstap-run: this is not the name of a script"), 0U);
    EXPECT_EQ(answer.status, 1);
    service.join();
    SetUp();
    answer = ask(std::string(101, 'a') + "\n");
    EXPECT_EQ(answer.errors, "");
    EXPECT_EQ(answer.status, -1);
}

TEST_F(Service, AProgramThatDoesNotExist) {
    fs::remove(folder.file("djrun"));
    const Answer answer = ask("opens\n");
    EXPECT_NE(answer.errors.find("No such file or directory"), std::string::npos) << answer.errors;
    EXPECT_EQ(answer.status, 1);
}

TEST_F(Service, ListsWhatCanBeRun) {
    ASSERT_TRUE(write_file(folder.file("closes.ko"), "a module"));
    ASSERT_TRUE(write_file(folder.file("no-name.ko"), "a module"));
    ASSERT_TRUE(write_file(folder.file("others.ko"), "a module"));
    ASSERT_EQ(chmod(folder.file("others.ko").c_str(), 0666), 0);
    const Answer answer = ask("\n");
    EXPECT_EQ(answer.output, "closes\nopens\n");
    EXPECT_EQ(answer.status, 0);
}

// The program ends by itself if it is not interrupted, with another status.
constexpr const char* until_interrupted =
    "trap 'echo interrupted; exit 4' INT\necho stop me\n"
    "i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done; exit 5";

TEST_F(Service, StopsTheScriptWhenTheOtherSideStopsSending) {
    program(until_interrupted);
    const Answer answer = ask("opens\n");
    EXPECT_EQ(answer.output, "stop me\ninterrupted\n");
    EXPECT_EQ(answer.status, 4);
}

TEST_F(Service, StopsTheScriptWhoseOutputNobodyTakes) {
    const std::string trace = folder.file("trace");
    program("trap 'echo interrupted >>" + trace + "; kill $!; exit 4' INT\n" +
            "head -c 100000000 /dev/zero & wait; exit 5");
    begin();
    ASSERT_TRUE(write_all(ours.get(), "opens\n"));
    wait_until_nothing_more_arrives();
    shutdown(ours.get(), SHUT_WR);
    while (!fs::exists(trace)) // for ever, if it is not stopped
        std::this_thread::yield();
    EXPECT_EQ(receive().status, 4);
}

TEST_F(Service, StopsTheScriptWhenTheOtherSideIsGone) {
    const std::string trace = folder.file("trace");
    program("trap 'echo interrupted >>" + trace + "; exit 4' INT\necho begun\n" +
            "i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done; echo ended >>" + trace);
    begin();
    ASSERT_TRUE(write_all(ours.get(), "opens\n"));
    char byte = 0;
    ASSERT_EQ(read_some(ours.get(), &byte, 1), 1);
    ours.reset();
    service.join();
    EXPECT_EQ(*read_file(trace), "interrupted\n");
}

} // namespace
} // namespace djstap::offered
