// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/demangle.h"
#include "system/file.h"
#include "system/hash.h"
#include "system/process.h"
#include "system/temporary.h"

#include "../surroundings.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <poll.h>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace djstap {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
  protected:
    void SetUp() override {
        auto made = TemporaryFolder::create(temporary_directory());
        ASSERT_TRUE(made);
        folder = std::move(*made);
    }
    TemporaryFolder folder;
};

bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

TEST_F(Files, DescriptorsAreClosedOnce) {
    int number = -1;
    {
        FileDescriptor first(open("/dev/null", O_RDONLY));
        number = first.get();
        FileDescriptor second = std::move(first);
        EXPECT_FALSE(first);
        first = std::move(second);
        EXPECT_EQ(first.get(), number);
        EXPECT_TRUE(is_open(number));
    }
    EXPECT_FALSE(is_open(number));
    FileDescriptor given_away(open("/dev/null", O_RDONLY));
    number = given_away.release();
    given_away.reset();
    EXPECT_TRUE(is_open(number));
    close(number);
}

TEST_F(Files, AreReadWhole) {
    const std::string large(300000, 'x');
    const std::string path = folder.file("large");
    ASSERT_TRUE(write_file(path, large));
    EXPECT_EQ(*read_file(path), large);
    ASSERT_TRUE(write_file(path, ""));
    EXPECT_EQ(*read_file(path), "");
    // Its size is reported as 0.
    EXPECT_NE(read_file("/proc/self/status")->find("Name:"), std::string::npos);
    const auto missing = read_file(folder.file("none"));
    EXPECT_EQ(errno, ENOENT);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.failure().message,
              folder.file("none") + ": cannot open: No such file or directory");
    EXPECT_EQ(read_file(folder.path()).failure().message,
              folder.path() + ": cannot read: Is a directory");
    EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
    EXPECT_EQ(trimmed("\n"), "");
}

TEST_F(Files, ReadingEndsBehindWhatIsWanted) {
    const std::string path = folder.file("large");
    ASSERT_TRUE(write_file(path, std::string(1 << 20, 'x')));
    const FileDescriptor zeros(open("/dev/zero", O_RDONLY | O_CLOEXEC));
    std::string text;
    EXPECT_TRUE(read_rest(zeros.get(), text, 1000));
    EXPECT_GT(text.size(), 1000u);
    EXPECT_LT(text.size(), 1u << 20);
    // It does not allocate more memory either.
    ASSERT_EQ(truncate(path.c_str(), off_t{1} << 40), 0);
    const FileDescriptor sparse(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    text.clear();
    EXPECT_TRUE(read_rest(sparse.get(), text, 1000));
    EXPECT_EQ(text.size(), 1001u);
}

TEST_F(Files, AreReadFromTheirStartWhereverTheyStand) {
    const std::string path = folder.file("large"), large = std::string(70'000, 'x') + "end";
    ASSERT_TRUE(write_file(path, large));
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(lseek(file.get(), 7, SEEK_SET), 7);
    std::string text;
    EXPECT_TRUE(read_from_start(file.get(), text));
    EXPECT_EQ(text, large);
    EXPECT_EQ(lseek(file.get(), 0, SEEK_CUR), 7);
    EXPECT_FALSE(read_from_start(-1, text));
}

TEST_F(Files, AreReplacedWhole) {
    const std::string path = folder.path() + "/a/b";
    ASSERT_TRUE(write_atomically(path, "one"));
    ASSERT_TRUE(write_atomically(path, "two"));
    EXPECT_EQ(*read_file(path), "two");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path() + "/a"), {}), 1);
    struct stat status = {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0644u);
    EXPECT_FALSE(write_atomically(path + "/below/a/file", "x"));
}

TEST_F(Files, AFullDiskIsSaidAndHinted) {
    if (access("/dev/full", W_OK) != 0)
        GTEST_SKIP() << "there is no /dev/full";
    Status full = write_file("/dev/full", "x");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.failure().message, "/dev/full: cannot write: No space left on device");
    EXPECT_EQ(full.failure().hint, "free some space and run djstap again");
    EXPECT_TRUE(fs::exists("/dev/full"));
}

// What can be written in part only is not left there.
TEST_F(Files, APartOfAFileIsRemoved) {
    const std::string path = folder.file("part");
    auto child = Process::fork([&] {
        signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{1000, 1000};
        setrlimit(RLIMIT_FSIZE, &limit);
        const std::string much(2000, 'x');
        const Status plain = write_file(path, much), whole = write_atomically(path, much);
        const bool are_failures =
            !plain && !whole &&
            plain.failure().message == path + ": cannot write: File too large" &&
            plain.failure().hint.empty();
        _exit(are_failures ? 0 : 1);
    });
    ASSERT_TRUE(child);
    EXPECT_EQ(exit_status(child->wait()), 0);
    EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST_F(Files, AreMapped) {
    const std::string path = folder.file("mapped");
    ASSERT_TRUE(write_file(path, "text"));
    EXPECT_EQ((*MappedFile::open(path))->bytes(), "text");
    ASSERT_TRUE(write_file(path, ""));
    EXPECT_EQ((*MappedFile::open(path))->bytes(), "");
    EXPECT_EQ(MappedFile::open(folder.path()).failure().message, folder.path() + ": is not a file");
    errno = EPERM;
    EXPECT_EQ(MappedFile::map({}, "it").failure().message,
              "it: cannot open: Operation not permitted");
}

TEST(Hash, TellsPartsAndDamageApart) {
    std::set<uint64_t> seen;
    for (const char* text : {"", "a", "b", "aa", "12345678", "123456789", "12345679"})
        EXPECT_TRUE(seen.insert(hash_bytes(text)).second) << text;
    EXPECT_TRUE(seen.insert(hash_bytes(std::string(1, '\0'))).second);
    // The upper bits of two words do not cancel each other out.
    std::string first(16, 'x'), second = first;
    second[7] = second[15] = static_cast<char>('x' ^ 0x80);
    EXPECT_NE(hash_bytes(first), hash_bytes(second));
    EXPECT_NE(hash_bytes("b", hash_bytes("a")), hash_bytes("", hash_bytes("ab")));
    EXPECT_EQ(hash_bytes("b", hash_bytes("a")), hash_bytes("b", hash_bytes("a")));
    EXPECT_EQ(hexadecimal(0x123456789abcdef), "0123456789abcdef");
}

TEST(Temporary, FoldersAreRemovedAndThoseOfDeadProcessesToo) {
    std::string path;
    {
        auto folder = TemporaryFolder::create_in_memory();
        ASSERT_TRUE(folder);
        path = folder->path();
        ASSERT_TRUE(write_file(folder->file("x"), "1"));
        remove_orphans_in_memory(); // the one of this process is in use
        EXPECT_TRUE(fs::exists(path));
        TemporaryFolder moved = std::move(*folder);
        EXPECT_EQ(moved.path(), path);
    }
    EXPECT_FALSE(fs::exists(path));
    auto child = Process::fork([] {
        auto folder = TemporaryFolder::create_in_memory();
        _exit(folder ? 0 : 1); // without destructors
    });
    ASSERT_TRUE(child);
    ASSERT_EQ(child->wait(), 0);
    auto left = [&] {
        for (std::string parent : {std::string("/dev/shm"), temporary_directory()})
            for (const auto& entry : fs::directory_iterator(parent))
                if (entry.path().filename().string().starts_with(
                        "djstap-" + std::to_string(child->pid()) + "-"))
                    return true;
        return false;
    };
    remove_orphans_in_memory(); // if another djstap has not done it already
    EXPECT_FALSE(left());
}

TEST_F(Files, OnlyOrphansAreRemoved) {
    auto gone = Process::fork([] {});
    ASSERT_TRUE(gone);
    gone->wait();
    const std::string dead = std::to_string(gone->pid());
    const std::string orphan = "djstap-" + dead + "-a1B2c3",
                      other = "djstap-" + dead + "-notes-of-mine",
                      alive = "djstap-" + std::to_string(getpid()) + "-a1B2c3",
                      kept = "djstap-a1B2c3";
    for (const std::string& name : {orphan, alive, kept, other})
        ASSERT_TRUE(write_atomically(folder.file(name) + "/djstap_1.ko", "x"));
    // Names that are almost those of orphans.
    const std::vector<std::string> similar = {"djstap-" + dead + "-a1B2c",
                                              "djstap-" + dead + "-a1B2c3d",
                                              "djstap-" + dead + "_a1B2c3",
                                              "djstap--" + dead + "-a1B2c3",
                                              "djstap-0-a1B2c3",
                                              "djstap--1-a1B2c3",
                                              "djstap-x-a1B2c3",
                                              "jstap-" + dead + "-a1B2c3"};
    for (const std::string& name : similar)
        fs::create_directory(folder.file(name));
    const std::string file = folder.file("djstap-" + dead + "-aFile1"),
                      link = folder.file("djstap-" + dead + "-aLink1");
    ASSERT_TRUE(write_file(file, "x"));
    fs::create_directory_symlink(folder.file(kept), link);
    EXPECT_EQ(remove_orphans(folder.path()), 1u);
    EXPECT_FALSE(fs::exists(folder.file(orphan)));
    for (const std::string& name : similar)
        EXPECT_TRUE(fs::exists(folder.file(name))) << name;
    EXPECT_TRUE(fs::exists(file));
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(remove_orphans(folder.file("none")), 0u);
    for (const std::string& name : {alive, kept, other})
        EXPECT_TRUE(fs::exists(folder.file(name))) << name;
}

TEST_F(Files, AFolderThatIsToStayStays) {
    std::string path;
    {
        auto stays = TemporaryFolder::create_to_stay(folder.path());
        ASSERT_TRUE(stays);
        path = stays->path();
    }
    EXPECT_TRUE(fs::exists(path));
    EXPECT_FALSE(TemporaryFolder::create(folder.file("none")));
    EXPECT_EQ(errno, ENOENT);
}

TEST(Programs, AreFoundAlongThePath) {
    EXPECT_TRUE(find_program("sh").ends_with("/sh"));
    EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
    EXPECT_EQ(find_program("no-such-program-here"), "");
    EXPECT_EQ(find_program("/tmp"), ""); // a folder
    const test::Environment variable("PATH", "/none::/none");
    EXPECT_EQ(search_path(), (std::vector<std::string>{"/none", ".", "/none"}));
    EXPECT_EQ(find_program("sh"), "");
    EXPECT_EQ(find_program("sh", {"/bin"}), "/bin/sh");
}

// A program that is found is the one that execvp() runs.
TEST_F(Files, ProgramsAreFoundWhereTheyAreRunFrom) {
    const std::string name = "djstap-test-program";
    const fs::path home = fs::current_path();
    ASSERT_TRUE(write_file(folder.file(name), "#!/bin/sh\necho ran\n"));
    fs::permissions(folder.file(name), fs::perms::owner_all);
    fs::current_path(folder.path());
    const test::Environment variable("PATH");
    constexpr const char* paths[] = {"", ".", ":/none", "/none:", "/none::/none", "/none", nullptr};
    for (const char* path : paths) {
        SCOPED_TRACE(path ? path : "none");
        variable.set(path ? std::optional<std::string>(path) : std::nullopt);
        EXPECT_EQ(!find_program(name).empty(), bool(run_program({name})));
        EXPECT_EQ(!find_program("env").empty(), bool(run_program({"env"})));
    }
    fs::current_path(home);
}

TEST(Programs, OutputStatusAndLines) {
    auto both = run_program({"sh", "-c", "echo out; echo err >&2; exit 3"});
    ASSERT_TRUE(both);
    EXPECT_EQ(both->status, 3);
    EXPECT_EQ(both->output, "out\nerr\n");
    OutputOptions wanted;
    wanted.errors = false;
    EXPECT_EQ(run_program({"sh", "-c", "echo out; echo >&2"}, wanted)->output, "out\n");
    std::vector<std::string> lines;
    wanted.line = [&](std::string_view line) { lines.emplace_back(line); };
    ASSERT_TRUE(run_program({"printf", "a\\nbc\\nd"}, wanted));
    EXPECT_EQ(lines, (std::vector<std::string>{"a", "bc"}));
    EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"})->status, 128 + 9);
    EXPECT_EQ(run_program({"cat"})->output, ""); // nothing to read
    EXPECT_EQ(run_program({"no-such-program-here"}).failure().message,
              "cannot run no-such-program-here: No such file or directory");
}

// Both ways of creating a child behave alike.
TEST(Programs, EnvironmentAndMissingOnesForBothKindsOfChildren) {
    for (const bool bound : {false, true}) {
        ProcessOptions options;
        options.bound = bound;
        EXPECT_EQ(run_program({"no-such-program-here"}, {}, options).failure().message,
                  "cannot run no-such-program-here: No such file or directory");
        options.environment = {"PATH=/usr/bin:/bin", "X=own"};
        EXPECT_EQ(run_program({"sh", "-c", "echo $X"}, {}, options)->output, "own\n") << bound;
    }
}

TEST(Programs, IgnoredSignalsAndMissingStreamsForBothKindsOfChildren) {
    constexpr int ignored[] = {SIGINT, SIGTERM, SIGQUIT, SIGPIPE, SIGHUP};
    std::map<int, void (*)(int)> before;
    for (const int signal : ignored)
        before[signal] = ::signal(signal, SIG_IGN);
    for (const bool bound : {false, true}) {
        SCOPED_TRACE(bound);
        ProcessOptions options;
        options.bound = bound;
        const auto status = run_program({"grep", "SigIgn", "/proc/self/status"}, {}, options);
        ASSERT_TRUE(status);
        const uint64_t mask = std::stoull(status->output.substr(status->output.find('\t')), {}, 16);
        for (const int signal : ignored)
            EXPECT_EQ(mask >> (signal - 1) & 1, signal == SIGHUP) << strsignal(signal);
        options.errors = 1000; // is not open
        const auto refused = Process::start({"true"}, options);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.failure().message, "cannot run true: Bad file descriptor");
    }
    for (const auto& [signal, handler] : before)
        ::signal(signal, handler);
}

TEST(Programs, ABoundOneIsWatchedAndEndsWithItsObject) {
    ProcessOptions options;
    options.bound = true;
    pid_t pid = -1;
    {
        auto process = Process::start({"sleep", "100"}, options);
        ASSERT_TRUE(process);
        pid = process->pid();
        EXPECT_EQ(getsid(pid), pid);
        pollfd ended = {process->descriptor(), POLLIN, 0};
        EXPECT_EQ(poll(&ended, 1, 0), 0);
        EXPECT_FALSE(process->poll_status());
        kill(pid, SIGTERM);
        EXPECT_EQ(poll(&ended, 1, 10000), 1);
        EXPECT_EQ(exit_status(process->wait()), 128 + SIGTERM);
        auto other = Process::start({"sleep", "100"}, options);
        ASSERT_TRUE(other);
        pid = other->pid();
    }
    EXPECT_EQ(kill(pid, 0), -1);
    EXPECT_EQ(errno, ESRCH);
}

TEST(Programs, WhatRunsInTheChildDecides) {
    ProcessOptions options;
    options.in_child = [] { return true; };
    auto goes_on = Process::start({"true"}, options);
    ASSERT_TRUE(goes_on);
    EXPECT_EQ(goes_on->wait(), 0);
    options.in_child = [] {
        errno = EPERM;
        return false;
    };
    EXPECT_EQ(Process::start({"true"}, options).failure().message,
              "cannot run true: Operation not permitted");
    // Without a reason it has not run either.
    options.in_child = [] {
        errno = 0;
        return false;
    };
    EXPECT_FALSE(Process::start({"true"}, options));
}

TEST_F(Files, AHeldProgramWaitsToBeReleased) {
    const std::string mark = folder.file("mark");
    auto held = Process::hold({"touch", mark});
    ASSERT_TRUE(held);
    EXPECT_FALSE(held->poll_status());
    EXPECT_FALSE(fs::exists(mark));
    EXPECT_EQ(held->release(), 0);
    EXPECT_EQ(held->wait(), 0);
    EXPECT_EQ(held->poll_status(), 0);
    EXPECT_TRUE(fs::exists(mark));
    fs::remove(mark);
    {
        auto dropped = Process::hold({"touch", mark});
        ASSERT_TRUE(dropped);
    }
    EXPECT_FALSE(fs::exists(mark));
    auto missing = Process::hold({"no-such-program-here"});
    ASSERT_TRUE(missing);
    EXPECT_EQ(missing->release(), ENOENT);
    EXPECT_FALSE(missing->running());
    EXPECT_EQ(kill(missing->pid(), 0), -1) << "it is a zombie";
    EXPECT_EQ(WEXITSTATUS(missing->wait()), 127);
}

TEST_F(Files, AProgramHasTheStreamsThatItIsGiven) {
    const std::string input = folder.path() + "/input", said = folder.path() + "/said";
    ASSERT_TRUE(write_file(input, "given\n"));
    const FileDescriptor in(open(input.c_str(), O_RDONLY | O_CLOEXEC)),
        out(open(said.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
        errors(open(said.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
    ProcessOptions options;
    options.input = in.get();
    options.output = out.get();
    options.errors = ProcessOptions::none;
    auto process = Process::start({"sh", "-c", "cat; echo lost >&2"}, options);
    ASSERT_TRUE(process);
    EXPECT_EQ(process->wait(), 0);
    EXPECT_EQ(*read_file(said), "given\n");
    options.input = options.output = ProcessOptions::none;
    options.errors = errors.get();
    process = Process::start({"sh", "-c", "cat; echo lost; echo kept >&2"}, options);
    ASSERT_TRUE(process);
    EXPECT_EQ(process->wait(), 0);
    EXPECT_EQ(*read_file(said), "given\nkept\n");
}

TEST_F(Files, InheritedDescriptorsKeepTheirNumbers) {
    const std::string path = folder.path() + "/file";
    const FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    const std::string write_there = "echo there >&" + std::to_string(file.get());
    ProcessOptions options;
    options.errors = ProcessOptions::none;
    auto process = Process::start({"bash", "-c", write_there}, options);
    ASSERT_TRUE(process);
    EXPECT_NE(process->wait(), 0) << "it was not given on";
    options.inherited = {file.get()};
    process = Process::start({"bash", "-c", write_there}, options);
    ASSERT_TRUE(process);
    EXPECT_EQ(process->wait(), 0);
    EXPECT_EQ(*read_file(path), "there\n");
}

std::string text_of(const std::string& symbol, size_t most = 768) {
    const Demangled found = demangle(symbol, most);
    return found.result == Demangling::Done      ? found.text
           : found.result == Demangling::TooLong ? "too long" + found.text
                                                 : "unknown" + found.text;
}

TEST(Demangling, SymbolsOfCxxAndRust) {
    EXPECT_EQ(text_of("_ZN4shop7throwerEi"), "shop::thrower(int)");
    EXPECT_EQ(text_of("_ZTVN4shop5orderE"), "vtable for shop::order");
    EXPECT_EQ(text_of("_ZN4shop7throwerEi.isra.0"), "shop::thrower(int) [clone .isra.0]");
    EXPECT_EQ(text_of("_ZN4shop5Order5total17h0123456789abcdefE"), "shop::Order::total");
    EXPECT_EQ(text_of("_RNvMNtCs1234_2rs4shopNtB2_5Order5total"), "<rs::shop::Order>::total");
    for (const char* symbol :
         {"", "main", "_Z", "_R", "_Ready", "_ZN", "__Z1fi", "i", "_GLOBAL__I_f"})
        EXPECT_EQ(text_of(symbol), "unknown") << symbol;
    EXPECT_EQ(text_of("_Z1f" + std::string(300000, 'P') + "i"), "unknown");
}

TEST(Demangling, EndsWhereThereIsNoRoom) {
    EXPECT_EQ(text_of("_Z1fi", 6), "f(int)");
    EXPECT_EQ(text_of("_Z1fi", 5), "too long");
    EXPECT_EQ(text_of("_Z1fi", 0), "too long");
    EXPECT_EQ(text_of("_RNvCs1234_1a1f", 4), "a::f");
    EXPECT_EQ(text_of("_RNvCs1234_1a1f", 3), "too long");
}

} // namespace
} // namespace djstap
