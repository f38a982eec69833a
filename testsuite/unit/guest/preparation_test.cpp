// SPDX-License-Identifier: GPL-2.0-or-later
// How a guest is prepared from files that are damaged or gone, or that lead to many others, and
// what is passed on of the standard input.
#include "guest/archive.h"
#include "guest/channel.h"
#include "guest/closure.h"
#include "guest/hostroot.h"
#include "guest/input.h"
#include "guest/modules.h"
#include "support.h"
#include "system/file.h"

#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <pty.h>
#include <sched.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

namespace djstap {
namespace {

// A 64-bit ELF file of one program header, which names an interpreter.
std::string with_interpreter(uint64_t headers_at, uint64_t name_at, const std::string& name) {
    Elf64_Ehdr header = {};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_phoff = headers_at;
    header.e_phnum = 1;
    Elf64_Phdr segment = {};
    segment.p_type = PT_INTERP;
    segment.p_offset = name_at;
    segment.p_filesz = name.size() + 1;
    std::string file(reinterpret_cast<const char*>(&header), sizeof header);
    file.append(reinterpret_cast<const char*>(&segment), sizeof segment);
    return file + name + '\0';
}

TEST(DamagedPrograms, AreCopiedAlone) {
    const TestFolder folder;
    const auto names = [&](const std::string& bytes) {
        const auto files = program_closure(make_file(folder.path + "/program", bytes, true));
        std::string text = files ? "" : files.failure().message;
        if (files)
            for (const FileToCopy& file : *files)
                text += file.guest_path + " ";
        return text;
    };
    const std::string alone = folder.path + "/program ";
    constexpr size_t headers = sizeof(Elf64_Ehdr), end = headers + sizeof(Elf64_Phdr);
    const std::string loader = make_file(folder.path + "/loader", "#!/bin/sh\n", true);
    EXPECT_EQ(names(with_interpreter(headers, end, loader)), alone + loader + " ");
    // A header that is cut off, or far behind the end.
    EXPECT_EQ(names(with_interpreter(headers, end, loader).substr(0, headers)), alone);
    EXPECT_EQ(names(with_interpreter(headers, end, loader).substr(0, end - 1)), alone);
    EXPECT_EQ(names(with_interpreter(headers, end, loader).substr(0, headers - 1)), alone);
    EXPECT_EQ(names(with_interpreter(1'000'000, end, loader)), alone);
    EXPECT_EQ(names(with_interpreter(~uint64_t{0} - 20, end, loader)), alone);
    // The interpreter's name is behind the end.
    EXPECT_EQ(names(with_interpreter(headers, 1'000'000, loader)), alone);
}

TEST(DamagedPrograms, WhoseLibrariesAreUnknownAreNamed) {
    const TestFolder folder;
    const std::string loader = make_file(folder.path + "/loader", "#!/bin/sh\nexit 3\n", true);
    constexpr size_t headers = sizeof(Elf64_Ehdr), end = headers + sizeof(Elf64_Phdr);
    const std::string program =
        make_file(folder.path + "/program", with_interpreter(headers, end, loader), true);
    const auto files = program_closure(program);
    ASSERT_FALSE(files);
    EXPECT_TRUE(files.failure().message.starts_with("the libraries of " + program +
                                                    " could not be found: "))
        << files.failure().message;
}

// The scripts of a chain of which each is interpreted by the next, and the last by a shell.
std::vector<std::string> chain(const TestFolder& folder, int length, const std::string& begin) {
    std::vector<std::string> names;
    for (int i = 0; i < length; i++) {
        names.push_back(folder.path + "/s" + std::to_string(i));
        make_file(names.back(),
                  i + 1 < length ? begin + folder.path + "/s" + std::to_string(i + 1) + "\n"
                                 : "#!" + folder.path + "/shell\n",
                  true);
    }
    make_file(folder.path + "/shell", "text", true);
    names.push_back(folder.path + "/shell");
    return names;
}

std::vector<std::string> copied(const TestFolder& folder) {
    std::vector<std::string> names;
    const auto files = program_closure(folder.path + "/s0");
    EXPECT_TRUE(files) << files.failure().message;
    if (files)
        for (const FileToCopy& file : *files)
            if (file.guest_path.starts_with(folder.path))
                names.push_back(file.guest_path);
    return names;
}

// Linux executes five scripts of which each interprets the one before; of six it says ELOOP.
TEST(ChainsOfScripts, AreFollowedAsFarAsTheKernelFollowsThem) {
    const TestFolder five, six;
    const auto all = chain(five, 5, "#!");
    EXPECT_EQ(copied(five), all);
    chain(six, 6, "#!");
    EXPECT_EQ(copied(six).size(), 6u) << "and not the shell";
}

// env executes a program anew, so that its chain may be as long.
TEST(ChainsOfScripts, BeginAgainWithEnv) {
    const TestFolder folder;
    const auto all = chain(folder, 9, "#!/usr/bin/env ");
    EXPECT_EQ(copied(folder), all);
}

TEST(ShellCommands, HaveTheShellAndEndWithTheirText) {
    const TestFolder folder;
    const Environment path("PATH", folder.path + ":/usr/bin:/bin");
    make_file(folder.path + "/one", "text", true);
    make_file(folder.path + "/two", "text", true);
    const std::string text = "one; twofold";
    const auto files = command_closure(std::string_view(text).substr(0, 8));
    ASSERT_TRUE(files) << files.failure().message;
    std::vector<std::string> paths;
    for (const FileToCopy& file : *files) {
        EXPECT_EQ(file.mode, 0u) << "that of the host's file";
        if (!file.host_path.empty())
            paths.push_back(file.host_path);
    }
    ASSERT_GE(paths.size(), 3u);
    EXPECT_EQ(paths.front(), "/bin/sh");
    EXPECT_EQ(std::vector<std::string>(paths.end() - 2, paths.end()),
              (std::vector<std::string>{folder.path + "/one", folder.path + "/two"}));
    EXPECT_TRUE(command_closure("one; two >"));
    EXPECT_TRUE(command_closure("one; two > file"));
    // Without a shell's signs, none is needed.
    const auto plain = command_closure("one two");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->front().host_path, folder.path + "/one");
}

TEST(DataFiles, KeepTheirModes) {
    const TestFolder folder;
    const std::string file = make_file(folder.path + "/data", "text");
    bool found = false;
    for (const FileToCopy& each : data_files("cat " + file)) {
        EXPECT_EQ(each.mode, 0u) << each.guest_path;
        EXPECT_EQ(each.link_target, "");
        found |= each.host_path.ends_with(file);
    }
    EXPECT_TRUE(found);
}

// Of names that are equally near, the first of the alphabet, however the folder is ordered.
TEST(Programs, TheNearestIsAlwaysTheSame) {
    const TestFolder folder;
    for (const char* end : {"h", "c", "k", "b", "m", "a", "d", "l", "g"})
        make_file(folder.path + "/wanted" + end, "text", true);
    const auto files = program_closure(folder.path + "/wantedx");
    ASSERT_FALSE(files);
    EXPECT_EQ(files.failure().hint, "did you mean '" + folder.path + "/wanteda'?");
}

TEST(Archive, NamesAFileThatIsGone) {
    const TestFolder folder;
    const std::string path = make_file(folder.path + "/file", "text");
    guest::Archive archive;
    ASSERT_TRUE(archive.add({path, "/file", 0, ""}));
    std::filesystem::remove(path);
    std::string bytes;
    const auto next = archive.next(bytes, 1000);
    ASSERT_FALSE(next);
    EXPECT_EQ(next.failure().message, "cannot open " + path + ": No such file or directory");
}

TEST(Modules, WithoutATableAreAnError) {
    const TestFolder folder;
    const GuestKernel kernel{"6.1.0-none", "", folder.path + "/lib/modules/6.1.0-none"};
    const auto modules = guest::modules_with_dependencies(kernel, {"ext4"});
    ASSERT_FALSE(modules);
    EXPECT_TRUE(modules.failure().message.starts_with("missing " + kernel.modules +
                                                      "/modules.dep, which could not be created: "))
        << modules.failure().message;
}

// A log of more lines than are shown is shown from one place only, whether its beginning is reached
// or not.
TEST(KernelLog, OfALossEndsItsSearchAtTheBeginning) {
    std::string fine;
    for (int i = 0; i < 44; i++)
        fine += "fine " + std::to_string(i) + "\n";
    EXPECT_EQ(log_of_loss(fine + "BUG: x"), log_tail(fine + "BUG: x", 40));
    EXPECT_EQ(log_of_loss(fine + "Kernel panic"), log_tail(fine + "Kernel panic", 40));
    EXPECT_EQ(log_of_loss(fine + "sysrq: Trigger"), log_tail(fine + "sysrq: Trigger", 40));
}

TEST(Input, EndsWithItsEndAndNotBefore) {
    const FileDescriptor file(memfd_create("input", MFD_CLOEXEC));
    ASSERT_TRUE(write_all(file.get(), "x"));
    lseek(file.get(), 0, SEEK_SET);
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const FileDescriptor other(ends[1]);
    guest::Channel channel{FileDescriptor(ends[0])};
    guest::Input input(file.get());
    input.pass(channel);
    EXPECT_EQ(input.descriptor(), file.get());
    errno = EAGAIN; // of a former call: this one does not fail
    input.pass(channel);
    EXPECT_EQ(input.descriptor(), -1);
    EXPECT_EQ(channel.queued(), 1 + 2 * DJSTAP_GUEST_HEADER);
}

// Reading from the terminal of another session would stop djstap or take the input of its jobs.
TEST(Input, IsNotReadFromATerminalInTheBackground) {
    const FileDescriptor saved(dup(STDIN_FILENO));
    int leader = -1, follower = -1;
    ASSERT_EQ(openpty(&leader, &follower, nullptr, nullptr, nullptr), 0);
    const FileDescriptor one(leader), two(follower);
    EXPECT_EQ(guest::Input(follower).descriptor(), -1);
    ASSERT_EQ(dup2(follower, STDIN_FILENO), STDIN_FILENO);
    EXPECT_EQ(guest::Input(STDIN_FILENO).descriptor(), -1);
    ASSERT_EQ(dup2(saved.get(), STDIN_FILENO), STDIN_FILENO);
}

// A race of the kernel's own is no sign, but neither does it hide one in another line.
TEST(KernelLog, OfALossHasSignsBehindRacesOfTheKernel) {
    std::string fine;
    for (int i = 0; i < 60; i++)
        fine += "\nfine " + std::to_string(i);
    const std::string race = "BUG: KCSAN: data-race in one / other\n", real = "BUG: real" + fine;
    EXPECT_EQ(log_of_loss(race + real), real);
    EXPECT_EQ(log_of_loss(race + fine), log_tail(fine, 40));
}

// The standard input is the descriptor 0.
TEST(Input, MayBeTheStandardInput) {
    const FileDescriptor saved(dup(STDIN_FILENO));
    const FileDescriptor file(memfd_create("input", MFD_CLOEXEC));
    ASSERT_TRUE(write_all(file.get(), "0123456789"));
    lseek(file.get(), 0, SEEK_SET);
    ASSERT_EQ(dup2(file.get(), STDIN_FILENO), STDIN_FILENO);
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const FileDescriptor other(ends[1]);
    guest::Channel channel{FileDescriptor(ends[0])};
    guest::Input input(STDIN_FILENO);
    EXPECT_EQ(input.descriptor(), STDIN_FILENO);
    input.pass(channel);
    EXPECT_EQ(channel.queued(), 10u + DJSTAP_GUEST_HEADER);
    EXPECT_EQ(input.descriptor(), STDIN_FILENO);
    input.taken(3);
    input.give_back(0);
    EXPECT_EQ(lseek(file.get(), 0, SEEK_CUR), 3);
    ASSERT_EQ(dup2(saved.get(), STDIN_FILENO), STDIN_FILENO);
}

// virtiofsd reads every file that djstap may read: for whoever is connected to it.
TEST(HostFiles, AreSharedWithNobodyElse) {
    if (const Status can = guest::can_share_host_root(); !can)
        GTEST_SKIP() << can.failure().message;
    const auto shared = guest::share_host_root();
    ASSERT_TRUE(shared) << shared.failure().message;
    sockaddr_un address = {};
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(getpeername(shared->socket.get(), generic, &size), 0);
    const FileDescriptor other(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(other.get(), generic, size), -1);
    EXPECT_EQ(errno, ENOENT);
    EXPECT_NE(address.sun_path[0], '\0') << "a name in /proc/net/unix that anybody can connect to";
}

// Whether this user may make mounts of his own.
bool may_mount() {
    const pid_t child = fork();
    if (child == 0)
        _exit(unshare(CLONE_NEWNS) || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// Each mount, since a command in the guest is root there.
TEST(HostFiles, AreReadOnly) {
    const Status can = guest::can_share_host_root();
    if (!can && (can.failure().message == "virtiofsd is not installed" || !may_mount()))
        GTEST_SKIP() << can.failure().message;
    ASSERT_TRUE(can) << can.failure().message;
    const auto shared = guest::share_host_root();
    ASSERT_TRUE(shared) << shared.failure().message;
    std::ifstream mounts("/proc/" + std::to_string(shared->daemon.pid()) + "/mountinfo");
    size_t count = 0;
    for (std::string line; std::getline(mounts, line); count++) {
        // Its number, that of its parent, the device, a folder of it, the place, options.
        std::istringstream words(line);
        std::string options;
        for (int i = 0; i < 6; i++)
            words >> options;
        EXPECT_TRUE((options + ",").starts_with("ro,")) << line;
    }
    EXPECT_GT(count, 0U);
}

// Without a socket for virtiofsd, or without virtiofsd, no machine is started.
TEST(HostFiles, ThatCannotBeSharedAreAFailure) {
    const TestFolder folder;
    const Environment path("PATH", folder.path); // where no QEMU is
    GuestJob job;
    job.command = {"true"};
    job.kernel = {"6.1.0-made", make_file(folder.path + "/vmlinuz", "kernel"), folder.path};
    job.host_root = true;
    // One more may be open than now are.
    const int next = dup(STDERR_FILENO);
    ASSERT_GE(next, 0);
    close(next);
    const auto outcome = [&] {
        const Limit one(RLIMIT_NOFILE, static_cast<rlim_t>(next) + 1);
        return run_guest(job, {}, nullptr);
    }();
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.failure().message.find("virtiofsd"), std::string::npos)
        << outcome.failure().message;
}

} // namespace
} // namespace djstap
