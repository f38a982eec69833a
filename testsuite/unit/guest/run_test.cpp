// SPDX-License-Identifier: GPL-2.0-or-later
// What djstap tells a guest that is ready, and what becomes of its answers: a thread plays the
// guest's agent, a shell script QEMU.
#include "guest/run.h"

#include "guest/protocol.h"
#include "support.h"

#include <array>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <functional>
#include <map>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>

namespace djstap {
namespace {

using guest::Machine;
using std::chrono::milliseconds;

std::string number_bytes(uint32_t number) {
    return {reinterpret_cast<const char*>(&number), sizeof number};
}

// The agent's end of its port. After ten seconds without a frame, it gives up.
class PlayedAgent {
  public:
    explicit PlayedAgent(int socket) : socket_(socket) {
        timeval patience{10, 0};
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
    // The next frame; its type is 0 if there is none.
    guest::Frame next() {
        char header[DJSTAP_GUEST_HEADER];
        guest::Frame frame;
        if (!receive(header, sizeof header))
            return frame;
        uint32_t size = 0;
        memcpy(&size, header + 4, sizeof size);
        frame.data.resize(size);
        if (receive(frame.data.data(), size))
            frame.type = header[0];
        return frame;
    }
    // The data of the next frame, which must be of this type.
    std::string expect(char type) {
        const guest::Frame frame = next();
        EXPECT_EQ(frame.type, type);
        return frame.data;
    }
    // What frames of this type contain up to the empty one that ends them.
    std::string whole(char type) {
        std::string all;
        for (std::string piece = expect(type); !piece.empty(); piece = expect(type)) {
            EXPECT_LE(piece.size(), size_t{DJSTAP_GUEST_MAX_FRAME});
            all += piece;
            if (testing::Test::HasFailure())
                break;
        }
        return all;
    }
    void say(char type, const std::string& data = "") const {
        const std::string frame = std::string(1, type) + std::string(3, '\0') +
                                  number_bytes(static_cast<uint32_t>(data.size())) + data;
        EXPECT_EQ(write(socket_, frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
    }
    bool has_more() const {
        char byte = 0;
        return recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
    }
    // Up to where the command may begin.
    void unpack() {
        expect(GUEST_CLOCK);
        whole(GUEST_ARCHIVE);
        say(GUEST_DONE);
    }
    // Up to where the command runs; returns the frames that describe it.
    std::string begin() {
        unpack();
        return whole(GUEST_COMMAND);
    }
    void exit(uint32_t status, uint32_t unread = 0) const {
        say(GUEST_EXIT, number_bytes(status) + number_bytes(unread));
    }
    void hang_up() const { shutdown(socket_, SHUT_RDWR); }

  private:
    bool receive(char* to, size_t size) const {
        for (size_t got = 0; got < size;) {
            const ssize_t count = recv(socket_, to + got, size - got, 0);
            if (count <= 0)
                return false;
            got += static_cast<size_t>(count);
        }
        return true;
    }
    int socket_;
};

class RunInGuest : public testing::Test {
  protected:
    void SetUp() override {
        make_file(folder_.path + "/qemu-system-x86_64", R"(#!/bin/bash
for argument; do
    case $argument in
    socket,id=qmp,fd=*) qmp=${argument##*=} ;;
    file,id=console,path=*) console=${argument##*=} ;;
    esac
done
printf '%s' "$FAKE_CONSOLE" > $console
echo '{"QMP":{}}' >&$qmp
while read -r line <&$qmp; do
    case $line in *inject-nmi*) echo 'where it hangs' >> $console; exit 0 ;; esac
    echo '{"return":{}}' >&$qmp
done
)",
                  true);
        path_.emplace("PATH", folder_.path + ":/usr/bin:/bin");
        job_.command = {"/bin/true"};
    }
    // Runs the job against this agent. Both get the machine's process.
    Result<GuestOutcome> run(const std::function<void(PlayedAgent&, pid_t)>& play) {
        const FileDescriptor memory(memfd_create("memory", MFD_CLOEXEC)),
            initramfs(memfd_create("initramfs", MFD_CLOEXEC));
        guest::MachineFiles files;
        files.memory = memory.get();
        files.initramfs = initramfs.get();
        files.restored = true;
        auto machine = Machine::start(job_, files);
        if (!machine)
            return machine.failure();
        int ends[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
        const FileDescriptor theirs(ends[1]);
        fcntl(theirs.get(), F_SETFL, 0);
        machine->channel() = guest::Channel(FileDescriptor(ends[0]));
        std::thread agent([&] {
            PlayedAgent played(theirs.get());
            play(played, machine->process().pid());
        });
        auto outcome = guest::Run(*machine, job_, callbacks_, signals_).go();
        agent.join();
        return outcome;
    }

    TestFolder folder_;
    GuestJob job_;
    Collected collected_;
    GuestCallbacks callbacks_ = collected_.callbacks();
    SignalMailbox* signals_ = nullptr;
    std::optional<Environment> path_;
};

// The strings behind the head and the limits.
std::vector<std::string> strings_of(const std::string& command) {
    std::vector<std::string> strings;
    std::string_view rest = command;
    rest.remove_prefix(sizeof(djstap_guest_command) + RLIM_NLIMITS * 2 * sizeof(uint64_t));
    while (!rest.empty()) {
        strings.emplace_back(rest.substr(0, rest.find('\0')));
        rest.remove_prefix(std::min(rest.size(), strings.back().size() + 1));
    }
    return strings;
}

djstap_guest_command head_of(const std::string& command) {
    djstap_guest_command head{};
    EXPECT_GE(command.size(), sizeof head);
    memcpy(&head, command.data(), std::min(command.size(), sizeof head));
    return head;
}

TEST_F(RunInGuest, GivesTheCommandAndPassesItsOutput) {
    job_.command = {"/bin/echo", "two words", ""};
    job_.directory = "/some/where";
    const mode_t before = umask(027);
    std::string clock, command;
    const time_t now = time(nullptr);
    const auto outcome = run([&](PlayedAgent& agent, pid_t) {
        clock = agent.expect(GUEST_CLOCK);
        agent.whole(GUEST_ARCHIVE);
        EXPECT_FALSE(agent.has_more()); // the command waits for the files
        agent.say(GUEST_DONE);
        command = agent.whole(GUEST_COMMAND);
        EXPECT_EQ(agent.expect(GUEST_INPUT), ""); // there is none
        agent.say(GUEST_STDOUT, "out");
        agent.say(GUEST_STDERR, "err");
        agent.say(GUEST_TRACE, "trace");
        agent.say(GUEST_STDOUT, "put");
        agent.exit(3);
    });
    EXPECT_EQ(umask(before), 027u); // it is only read
    ASSERT_TRUE(outcome) << outcome.failure().message;
    EXPECT_EQ(outcome->state, GuestOutcome::Exited);
    EXPECT_EQ(outcome->exit_code, 3);
    EXPECT_EQ(outcome->complaint, "");
    EXPECT_EQ(collected_.output, "output");
    EXPECT_EQ(collected_.errors, "err");
    EXPECT_EQ(collected_.trace, "trace");
    // Seconds and nanoseconds since 1970, and what the kernel's random numbers begin with.
    ASSERT_EQ(clock.size(), 2 * sizeof(uint64_t) + 64);
    uint64_t seconds = 0, nanoseconds = 0;
    memcpy(&seconds, clock.data(), sizeof seconds);
    memcpy(&nanoseconds, clock.data() + sizeof seconds, sizeof nanoseconds);
    EXPECT_GE(seconds, static_cast<uint64_t>(now));
    EXPECT_LT(seconds, static_cast<uint64_t>(now) + 600);
    EXPECT_LT(nanoseconds, 1'000'000'000u);
    EXPECT_NE(clock.substr(16), std::string(64, '\0'));
    const djstap_guest_command head = head_of(command);
    EXPECT_EQ(head.words, 3u);
    EXPECT_EQ(head.variables, 4u);
    EXPECT_EQ(head.limits, static_cast<uint32_t>(RLIM_NLIMITS));
    EXPECT_EQ(head.umask, 027u);
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    uint64_t sent[2];
    memcpy(sent, command.data() + sizeof head + RLIMIT_NOFILE * sizeof sent, sizeof sent);
    EXPECT_EQ(sent[0], files.rlim_cur);
    EXPECT_EQ(sent[1], files.rlim_max);
    const auto strings = strings_of(command);
    ASSERT_EQ(strings.size(), 8u);
    EXPECT_EQ((std::vector<std::string>(strings.begin(), strings.begin() + 4)),
              (std::vector<std::string>{"/some/where", "/bin/echo", "two words", ""}));
    EXPECT_TRUE(strings[4].starts_with("PATH=")) << strings[4];
    EXPECT_EQ(strings[5], "HOME=/root");
}

// A saved guest would draw the same random numbers each time, even if one word were the same.
TEST_F(RunInGuest, RandomNumbersBeginWithOthersEachTime) {
    const auto words = [&] {
        std::string clock;
        const auto outcome = run([&](PlayedAgent& agent, pid_t) {
            clock = agent.expect(GUEST_CLOCK);
            agent.whole(GUEST_ARCHIVE);
            agent.say(GUEST_DONE);
            agent.whole(GUEST_COMMAND);
            agent.exit(0);
        });
        EXPECT_TRUE(outcome);
        std::array<uint64_t, 8> made{};
        EXPECT_EQ(clock.size(), 16 + sizeof made);
        if (clock.size() == 16 + sizeof made)
            memcpy(made.data(), clock.data() + 16, sizeof made);
        return made;
    };
    const auto first = words(), second = words();
    for (size_t i = 0; i < first.size(); i++)
        EXPECT_NE(first[i], second[i]) << i;
}

TEST_F(RunInGuest, AnEnvironmentOfAnySizeIsAllThatTheCommandHas) {
    const std::string large = "LARGE=" + std::string(300'000, 'x');
    job_.environment = {"A=1", large};
    std::string command;
    const auto outcome = run([&](PlayedAgent& agent, pid_t) {
        command = agent.begin();
        agent.exit(0);
    });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->exit_code, 0);
    EXPECT_EQ(head_of(command).variables, 2u);
    const auto strings = strings_of(command);
    ASSERT_EQ(strings.size(), 4u);
    EXPECT_EQ(strings[2], "A=1");
    EXPECT_EQ(strings[3], large);
}

TEST_F(RunInGuest, FilesComeFirst) {
    const std::string text(1 << 20, 'y'); // more than is queued at once
    job_.files = {{make_file(folder_.path + "/large", text), "/there/large", 0, ""}};
    std::string archive;
    const auto outcome = run([&](PlayedAgent& agent, pid_t) {
        agent.expect(GUEST_CLOCK);
        archive = agent.whole(GUEST_ARCHIVE);
        agent.say(GUEST_DONE);
        agent.whole(GUEST_COMMAND);
        agent.exit(0);
    });
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(archive.starts_with("070701")); // newc
    EXPECT_NE(archive.find("there/large"), std::string::npos);
    EXPECT_NE(archive.find(text), std::string::npos);
    EXPECT_NE(archive.find("TRAILER!!!"), std::string::npos);
}

TEST_F(RunInGuest, AFileThatIsMissingIsAFailure) {
    job_.files = {{folder_.path + "/none", "/none", 0, ""}};
    const auto outcome = run([](PlayedAgent&, pid_t) {});
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.failure().message.find("/none"), std::string::npos);
}

TEST_F(RunInGuest, FilesThatCannotBeUnpackedAreAFailure) {
    const auto refused_for = [&](const std::string& reason) {
        const auto outcome = run([&](PlayedAgent& agent, pid_t) {
            agent.expect(GUEST_CLOCK);
            agent.whole(GUEST_ARCHIVE);
            agent.say(GUEST_DONE, reason);
        });
        EXPECT_FALSE(outcome);
        return outcome ? Failure{} : outcome.failure();
    };
    const Failure damaged = refused_for("write: Input/output error");
    EXPECT_EQ(damaged.message, "cannot transfer files into the guest: write: Input/output error");
    EXPECT_EQ(damaged.hint, "");
    EXPECT_EQ(refused_for("write: No space left on device").hint,
              "the files exceed half of the guest's memory: use a larger --guest-memory");
}

// Both the root and the files must be there before the command.
TEST_F(RunInGuest, TheHostsRootComesBeforeTheCommand) {
    job_.host_root = true;
    job_.kernel.modules = "/lib/modules/6.1";
    job_.modules = {"not-copied"};
    std::string root;
    const auto outcome = run([&](PlayedAgent& agent, pid_t) {
        root = agent.expect(GUEST_ROOT);
        agent.expect(GUEST_CLOCK);
        agent.whole(GUEST_ARCHIVE);
        agent.say(GUEST_DONE);
        agent.say(GUEST_STDOUT, "between");
        usleep(20'000);
        EXPECT_FALSE(agent.has_more());
        agent.say(GUEST_DONE);
        agent.whole(GUEST_COMMAND);
        agent.exit(0);
    });
    ASSERT_TRUE(outcome) << outcome.failure().message;
    char name[65] = "";
    gethostname(name, sizeof name - 1);
    EXPECT_EQ(root, std::string("/lib/modules/6.1") + '\0' + name + '\0');
}

// The command's next write to it fails then, as to a pipe that nobody reads.
TEST_F(RunInGuest, TellsWhichOutputNobodyTakes) {
    callbacks_.output = [](GuestStream stream, std::string_view) {
        return stream != GuestStream::Errors;
    };
    const auto outcome = run([&](PlayedAgent& agent, pid_t) {
        agent.begin();
        agent.expect(GUEST_INPUT);
        agent.say(GUEST_STDOUT, "taken");
        agent.say(GUEST_STDERR, "not taken");
        EXPECT_EQ(agent.expect(GUEST_UNHEARD), std::string(1, GUEST_STDERR));
        agent.exit(0);
    });
    EXPECT_TRUE(outcome && outcome->state == GuestOutcome::Exited);
}

TEST_F(RunInGuest, SignalsWaitForTheCommand) {
    SignalMailbox mailbox;
    signals_ = &mailbox;
    mailbox.post(SIGINT);
    mailbox.post(SIGTERM);
    const auto outcome = run([&](PlayedAgent& agent, pid_t) {
        agent.begin();
        agent.expect(GUEST_INPUT);
        EXPECT_EQ(agent.expect(GUEST_SIGNAL), number_bytes(SIGINT));
        EXPECT_EQ(agent.expect(GUEST_SIGNAL), number_bytes(SIGTERM));
        mailbox.post(SIGHUP); // and nothing is between
        EXPECT_EQ(agent.expect(GUEST_SIGNAL), number_bytes(SIGHUP));
        agent.exit(128 + SIGTERM);
    });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->exit_code, 128 + SIGTERM);
}

// What the command has not read of a file is there for whoever reads next.
TEST_F(RunInGuest, InputThatWasNotReadIsGivenBack) {
    const FileDescriptor file(
        open(make_file(folder_.path + "/input", "abcdefgh").c_str(), O_RDONLY | O_CLOEXEC));
    job_.input = file.get();
    const auto outcome = run([&](PlayedAgent& agent, pid_t) {
        agent.begin();
        EXPECT_EQ(agent.expect(GUEST_INPUT), "abcdefgh");
        EXPECT_EQ(agent.expect(GUEST_INPUT), ""); // its end
        // Five bytes are in the command's pipe, of which it has left two; three are on their way.
        agent.say(GUEST_TAKEN, number_bytes(5));
        agent.exit(0, 2);
    });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(lseek(file.get(), 0, SEEK_CUR), 3);
}

TEST_F(RunInGuest, AnEmulatorThatIsKilledSaysNothingOfTheGuest) {
    const auto outcome = run([&](PlayedAgent& agent, pid_t machine) {
        agent.begin();
        agent.say(GUEST_STDOUT, "last words"); // they count
        kill(machine, SIGKILL);
        agent.hang_up();
    });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->state, GuestOutcome::EmulatorDied);
    EXPECT_EQ(outcome->reason, "QEMU was ended by signal 9");
    EXPECT_EQ(collected_.output, "last words");
}

TEST_F(RunInGuest, AKernelThatPanicsIsLostWithItsLog) {
    const Environment console("FAKE_CONSOLE", "first\nBUG: of this\nKernel panic - not syncing: "
                                              "of that\nend\n");
    const auto outcome = run([&](PlayedAgent& agent, pid_t machine) {
        agent.begin();
        kill(machine, SIGKILL);
        agent.hang_up();
    });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->state, GuestOutcome::Lost);
    EXPECT_EQ(outcome->reason, "the guest's kernel panicked: of that");
    EXPECT_NE(outcome->kernel_log.find("first\nBUG: of this"), std::string::npos);
    EXPECT_TRUE(outcome->complaint.starts_with("BUG: of this")) << outcome->complaint;
}

TEST_F(RunInGuest, WithoutItsAgentAGuestIsLost) {
    const auto outcome = run([&](PlayedAgent& agent, pid_t) {
        agent.begin();
        agent.say(GUEST_STDOUT, "last words");
        agent.hang_up();
    });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->state, GuestOutcome::Lost);
    EXPECT_EQ(outcome->reason, "the guest closed its connection");
    EXPECT_EQ(collected_.output, "last words");
}

// A kernel that complains is told of, although the command has ended as it should.
TEST_F(RunInGuest, ComplaintsOfTheKernelAreKept) {
    const Environment console("FAKE_CONSOLE", "first\nWARNING: CPU: 0 of this\nlast\n");
    const auto outcome = run([&](PlayedAgent& agent, pid_t) {
        agent.begin();
        agent.exit(0);
    });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->state, GuestOutcome::Exited);
    EXPECT_EQ(outcome->complaint, "WARNING: CPU: 0 of this\nlast");
    EXPECT_EQ(outcome->kernel_log, "first\nWARNING: CPU: 0 of this\nlast");
}

TEST_F(RunInGuest, ACommandThatTakesTooLongIsLost) {
    job_.command_timeout = milliseconds(50);
    // On a busy machine, it is over before the agent has the command.
    const auto outcome = run([&](PlayedAgent& agent, pid_t) { agent.unpack(); });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->state, GuestOutcome::Lost);
    EXPECT_EQ(outcome->reason, "the command did not end within 0.05 s");
    // Its kernel is asked where it is.
    EXPECT_EQ(outcome->kernel_log, "where it hangs");
}

// What it is asked is below.
TEST_F(RunInGuest, AGuestThatDoesNotAnswerIsLost) {
    job_.silence_timeout = milliseconds(1000);
    const auto outcome = run([&](PlayedAgent& agent, pid_t) { agent.unpack(); });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->state, GuestOutcome::Lost);
    EXPECT_EQ(outcome->reason, "the guest has not answered for 1 s");
}

// It is also lost while its files are unpacked, where nothing is asked.
TEST_F(RunInGuest, AGuestThatUnpacksNothingIsLost) {
    job_.silence_timeout = milliseconds(1000);
    const auto outcome = run([&](PlayedAgent& agent, pid_t) {
        agent.expect(GUEST_CLOCK);
        agent.whole(GUEST_ARCHIVE);
    });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->reason, "the guest has not answered for 1 s");
}

TEST_F(RunInGuest, AGuestThatAnswersMayBeSilent) {
    job_.silence_timeout = milliseconds(4000);
    const auto outcome = run([&](PlayedAgent& agent, pid_t) {
        agent.begin();
        agent.expect(GUEST_INPUT);
        for (int i = 0; i < 2; i++) { // each after half a second
            EXPECT_EQ(agent.expect(GUEST_PING), "");
            agent.say(GUEST_PONG);
        }
        agent.exit(4);
    });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->state, GuestOutcome::Exited);
    EXPECT_EQ(outcome->exit_code, 4);
}

} // namespace
} // namespace djstap
