// SPDX-License-Identifier: GPL-2.0-or-later
#include "offered/client.h"

#include "offered/frames.h"
#include "system/descriptor.h"
#include "system/file.h"
#include "system/temporary.h"

#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap::offered {
namespace {

// djstap-run in a process of its own; the test is the service.
class Client : public testing::Test {
  protected:
    void SetUp() override {
        auto made = TemporaryFolder::create("/tmp");
        ASSERT_TRUE(made);
        folder = std::move(*made);
        before_start();
        const std::string path = folder.file("socket");
        const FileDescriptor listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        ASSERT_EQ(bind(listening.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        ASSERT_EQ(listen(listening.get(), 1), 0);
        client = fork();
        if (client == 0)
            _exit(ask(path));
        connection = FileDescriptor(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
        char request[] = "opens";
        ASSERT_EQ(recv(connection.get(), request, 6, MSG_WAITALL), 6);
        EXPECT_EQ(std::string(request, 6), "opens\n");
    }
    virtual void before_start() {}
    // What main() makes of the result, with the output in a file.
    int ask(const std::string& path) {
        if (!freopen(folder.file("output").c_str(), "w", stdout) ||
            !freopen(folder.file("errors").c_str(), "w", stderr))
            return 99;
        const auto status = request(path, "opens");
        if (!status && status.failure().message.ends_with("takes nothing"))
            return 97;
        if (!status && status.failure().message == "cannot write the script's output: No space "
                                                   "left on device")
            return 96;
        if (!status)
            write_all(STDOUT_FILENO, status.failure().message + "\n");
        return status ? *status : 98;
    }
    int status() const {
        int status = 0;
        waitpid(client, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::string output() const { return *read_file(folder.file("output")); }

    TemporaryFolder folder;
    FileDescriptor connection;
    pid_t client = 0;
};

TEST_F(Client, ReturnsTheStatusOfTheScript) {
    send(connection.get(), Stream::Output, "opened\n");
    send(connection.get(), Stream::Status, "\xc8");
    EXPECT_EQ(status(), 200);
    EXPECT_EQ(output(), "opened\n");
}

TEST_F(Client, KeepsTheStreamsApart) {
    send(connection.get(), Stream::Errors, "wrong\n");
    send(connection.get(), Stream::Output, "right\n");
    send(connection.get(), Stream::Errors, "again\n");
    send(connection.get(), Stream::Status, std::string(1, '\0'));
    EXPECT_EQ(status(), 0);
    EXPECT_EQ(output(), "right\n");
    EXPECT_EQ(*read_file(folder.file("errors")), "wrong\nagain\n");
}

// More than a pipe takes, in frames of every size.
TEST_F(Client, PassesLargeOutputOn) {
    std::string all;
    for (int i = 0; i < 40; i++) {
        const std::string part(static_cast<size_t>(i) * 1000, static_cast<char>('a' + i % 26));
        send(connection.get(), Stream::Output, part);
        all += part;
    }
    send(connection.get(), Stream::Status, "\1");
    EXPECT_EQ(status(), 1);
    EXPECT_EQ(output(), all);
}

class ClientOfFullDisk : public Client {
  protected:
    void before_start() override {
        ASSERT_EQ(symlink("/dev/full", folder.file("output").c_str()), 0);
    }
};

TEST_F(ClientOfFullDisk, SaysThatItCannotWrite) {
    send(connection.get(), Stream::Output, "lost\n");
    EXPECT_EQ(status(), 96);
}

TEST_F(Client, ASignalStopsTheScriptWhoseLastOutputArrives) {
    kill(client, SIGINT);
    char byte = 0;
    EXPECT_EQ(read_some(connection.get(), &byte, 1), 0); // "stop"
    send(connection.get(), Stream::Output, "end\n");
    send(connection.get(), Stream::Status, "\4");
    EXPECT_EQ(status(), 4);
    EXPECT_EQ(output(), "end\n");
}

class ClientOfStalledReader : public Client {
  protected:
    void before_start() override {
        const std::string fifo = folder.file("output");
        ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
        unread = FileDescriptor(open(fifo.c_str(), O_RDWR | O_CLOEXEC));
    }
    FileDescriptor unread;
};

TEST_F(ClientOfStalledReader, EndsAtASecondSignal) {
    for (int i = 0; i < 20; i++)
        send(connection.get(), Stream::Output, std::string(8000, 'x'));
    kill(client, SIGINT);
    char byte = 0;
    EXPECT_EQ(read_some(connection.get(), &byte, 1), 0); // "stop"
    kill(client, SIGTERM);
    EXPECT_EQ(status(), 97);
}

class ClientOfNohup : public Client {
  protected:
    void SetUp() override {
        const auto before = signal(SIGHUP, SIG_IGN);
        Client::SetUp();
        signal(SIGHUP, before);
    }
};

TEST_F(ClientOfNohup, OutlivesItsTerminal) {
    kill(client, SIGHUP);
    send(connection.get(), Stream::Output, "goes on\n");
    while (output().empty())
        usleep(1000);
    char byte = 0;
    EXPECT_EQ(recv(connection.get(), &byte, 1, MSG_DONTWAIT), -1)
        << "it has told the script to stop";
    send(connection.get(), Stream::Status, "\4");
    EXPECT_EQ(status(), 4);
}

TEST_F(Client, SaysThatTheServiceEnded) {
    send(connection.get(), Stream::Output, "opened\n");
    connection.reset();
    EXPECT_EQ(status(), 98);
    EXPECT_EQ(output(), "opened\nthe service ended before the script did\n");
}

TEST_F(Client, BelievesNothingThatIsNoFrame) {
    write_all(connection.get(), std::string("\7\1\0\0\0x", 6));
    EXPECT_EQ(status(), 98);
    EXPECT_EQ(output(), "the service ended before the script did\n");
}

TEST(WithoutService, SaysWhatIsMissing) {
    const auto absent = request("/nowhere/run.socket", "opens");
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.failure().hint, "as root: systemctl enable --now djstap-run.socket");
    // unix(7): a path has 107 characters, and then its end.
    const std::string longest = "/nowhere/" + std::string(98, 'a');
    EXPECT_EQ(request(longest, "opens").failure().message,
              "the service that runs scripts is not active (" + longest + ")");
    EXPECT_EQ(request(longest + "a", "opens").failure().message, longest + "a: File name too long");
}

// A socket that is left of a service.
TEST(WithoutService, NobodyListens) {
    const auto folder = TemporaryFolder::create("/tmp");
    ASSERT_TRUE(folder);
    const std::string path = folder->file("socket");
    const FileDescriptor left(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(left.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(request(path, "opens").failure().message,
              "the service that runs scripts is not active (" + path + ")");
    EXPECT_EQ(request("/proc/self/status", "opens").failure().message,
              "the service that runs scripts is not active (/proc/self/status)");
    EXPECT_EQ(request("/proc/self/status/x", "opens").failure().message,
              "/proc/self/status/x: Not a directory");
}

} // namespace
} // namespace djstap::offered
