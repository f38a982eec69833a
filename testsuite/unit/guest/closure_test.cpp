// SPDX-License-Identifier: GPL-2.0-or-later
// Determines the files that a command of the host needs, and tests the small parts that need no
// guest.
#include "guest/archive.h"
#include "guest/closure.h"
#include "support.h"

#include <algorithm>

namespace djstap {
namespace {

bool has(const std::vector<FileToCopy>& files, std::string_view end) {
    return std::any_of(files.begin(), files.end(),
                       [&](const FileToCopy& file) { return file.guest_path.ends_with(end); });
}

// Returns cpio's listing of an archive: the names, or its error.
std::string listed(guest::Archive& archive, const std::string& folder) {
    std::string bytes;
    for (;;) {
        Result<bool> more = archive.next(bytes, 1000);
        if (!more)
            return more.failure().message;
        if (!*more)
            break;
    }
    make_file(folder + "/archive", bytes);
    std::string command =
        "cd " + folder +
        " && mkdir -p out && cd out && cpio -idm --quiet --no-absolute-filenames"
        " < ../archive 2> /dev/null && find . -type f -o -type l | sort > ../names";
    if (system(command.c_str()) != 0)
        return "cpio failed";
    std::stringstream names;
    names << std::ifstream(folder + "/names").rdbuf();
    return names.str();
}

TEST(Closure, FollowsLibrariesOfADynamicProgram) {
    Result<std::vector<FileToCopy>> files = command_closure("ls -l /");
    ASSERT_TRUE(files) << files.failure().message;
    EXPECT_TRUE(has(*files, "/bin/ls"));
    EXPECT_TRUE(has(*files, "/libc.so.6"));
    EXPECT_TRUE(has(*files, "/ld-linux-x86-64.so.2"));
    for (const FileToCopy& file : *files)
        EXPECT_TRUE(std::filesystem::exists(file.host_path)) << file.host_path;
}

TEST(Closure, TakesAStaticProgramAlone) {
    Result<std::vector<FileToCopy>> files = command_closure("busybox true");
    ASSERT_TRUE(files) << files.failure().message;
    EXPECT_EQ(files->size(), 1u);
}

TEST(Closure, FollowsTheInterpreterOfAScript) {
    TestFolder folder;
    std::string direct = make_file(folder.path + "/direct", "#!/bin/bash\necho\n", true);
    std::string env = make_file(folder.path + "/env", "#!/usr/bin/env bash\necho\n", true);
    for (const std::string& script : {direct, env}) {
        Result<std::vector<FileToCopy>> files = command_closure(script + " x");
        ASSERT_TRUE(files) << files.failure().message;
        EXPECT_TRUE(has(*files, "/bash"));
        EXPECT_TRUE(has(*files, "/libc.so.6"));
        EXPECT_TRUE(has(*files, script));
    }
    std::string broken = make_file(folder.path + "/broken", "#!/no/such/interpreter\n", true);
    Result<std::vector<FileToCopy>> files = command_closure(broken);
    ASSERT_FALSE(files);
    EXPECT_NE(files.failure().message.find("/no/such/interpreter"), std::string::npos);
}

TEST(Closure, LinksAProgramOfAnUnusualFolderToItsName) {
    TestFolder folder;
    std::string program = make_file(folder.path + "/frobnicate", "#!/bin/sh\n", true);
    Environment path("PATH", folder.path + ":/usr/bin:/bin");
    Result<std::vector<FileToCopy>> files = command_closure("frobnicate 3");
    ASSERT_TRUE(files) << files.failure().message;
    auto link = std::find_if(files->begin(), files->end(), [](const FileToCopy& file) {
        return file.guest_path == "/usr/local/bin/frobnicate";
    });
    ASSERT_NE(link, files->end());
    EXPECT_EQ(link->link_target, program);
}

TEST(Closure, SuggestsTheNearestProgram) {
    TestFolder folder;
    make_file(folder.path + "/gtodbench", "#!/bin/sh\n", true);
    Result<std::vector<FileToCopy>> files = command_closure(folder.path + "/gtodbnch");
    ASSERT_FALSE(files);
    EXPECT_EQ(files.failure().hint, "did you mean '" + folder.path + "/gtodbench'?");
    Environment path("PATH", folder.path);
    files = command_closure("gtodbenhc 5");
    ASSERT_FALSE(files);
    EXPECT_EQ(files.failure().message, "program 'gtodbenhc' was not found in $PATH");
    EXPECT_EQ(files.failure().hint, "did you mean 'gtodbench'?");
    make_file(folder.path + "/plain", "text");
    files = command_closure(folder.path + "/plain");
    ASSERT_FALSE(files);
    EXPECT_NE(files.failure().message.find("not an executable"), std::string::npos);
    EXPECT_FALSE(command_closure("   "));
}

TEST(Closure, TakesEachProgramOfAShellCommand) {
    std::string command =
        "FOO=1 sort </etc/passwd 2>&1 | head -3 && (uniq; cd /) > /tmp/x; echo 'seq'";
    EXPECT_TRUE(needs_shell(command));
    EXPECT_EQ(command_words(command), (std::vector<std::string>{"/bin/sh", "-c", command}));
    Result<std::vector<FileToCopy>> files = command_closure(command);
    ASSERT_TRUE(files) << files.failure().message;
    EXPECT_TRUE(has(*files, "/sort"));
    EXPECT_TRUE(has(*files, "/head"));
    EXPECT_TRUE(has(*files, "/uniq"));
    EXPECT_FALSE(has(*files, "/seq"));
    EXPECT_FALSE(needs_shell("gtodbench -n 5 /a/b-c_d.e:f,g+h%i@j"));
    EXPECT_EQ(command_words(" a  b\tc "), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Closure, ReadsQuotesAndBackslashesAsTheShellDoes) {
    TestFolder folder;
    make_file(folder.path + "/one two", "#!/bin/sh\n", true);
    make_file(folder.path + "/it's", "#!/bin/sh\n", true);
    make_file(folder.path + "/a\\b", "#!/bin/sh\n", true);
    make_file(folder.path + "/ends ", "#!/bin/sh\n", true);
    Environment path("PATH", folder.path + ":/usr/bin:/bin");
    for (const auto& [command, name] :
         {std::pair("'one two' 3", "/one two"), std::pair("one\\ two; true", "/one two"),
          std::pair("\"it's\"", "/it's"), std::pair("it\\'s | cat", "/it's"),
          std::pair("'a\\b'", "/a\\b"), std::pair("a\\\\b", "/a\\b"),
          // The backslash and what it quotes end the command.
          std::pair("ends\\ ", "/ends "), std::pair("true && one\\ tw\\o", "/one two")}) {
        Result<std::vector<FileToCopy>> files = command_closure(command);
        ASSERT_TRUE(files) << command << ": " << files.failure().message;
        EXPECT_TRUE(has(*files, name)) << command;
    }
    EXPECT_EQ(command_closure("ends\\").failure().message,
              "program 'ends\\' was not found in $PATH");
}

TEST(Archive, IsReadByCpio) {
    TestFolder folder;
    guest::Archive archive;
    archive.add_folder("/a");
    archive.add_text("/a/text", "12345");
    archive.add_link("/a/link", "text");
    ASSERT_TRUE(archive.add(
        {make_file(folder.path + "/file", std::string(123457, 'x')), "/b/file", 0, ""}));
    ASSERT_TRUE(archive.add({make_file(folder.path + "/none", ""), "/c", 0700, ""}));
    EXPECT_EQ(listed(archive, folder.path), "./a/link\n./a/text\n./b/file\n./c\n");
    std::string out = folder.path + "/out";
    EXPECT_EQ(std::filesystem::file_size(out + "/b/file"), 123457u);
    EXPECT_EQ(std::filesystem::read_symlink(out + "/a/link"), "text");
    EXPECT_EQ(std::filesystem::status(out + "/c").permissions(), std::filesystem::perms(0700));
}

TEST(Archive, RefusesWhatIsNoPlainFile) {
    guest::Archive archive;
    EXPECT_FALSE(archive.add({"/tmp", "/x", 0, ""}));
    EXPECT_FALSE(archive.add({"/no/such", "/x", 0, ""}));
    EXPECT_FALSE(archive.add({"/bin/sh", "relative", 0, ""}));
}

TEST(Archive, NoticesAFileThatShrank) {
    TestFolder folder;
    std::string path = make_file(folder.path + "/file", std::string(10000, 'x'));
    guest::Archive archive;
    ASSERT_TRUE(archive.add({path, "/file", 0, ""}));
    std::filesystem::resize_file(path, 5000);
    std::string bytes;
    Result<bool> next = archive.next(bytes, 1 << 20);
    ASSERT_FALSE(next);
    EXPECT_NE(next.failure().message.find("shrank"), std::string::npos);
}

TEST(Log, ShowsTheLastLines) {
    EXPECT_EQ(log_tail("a\r\nb\r\nc\r\n\n", 2), "b\nc");
    EXPECT_EQ(log_tail("a\nb", 5), "a\nb");
    EXPECT_EQ(log_tail("", 5), "");
}

TEST(KernelLog, OfALostGuestReachesBackToWhereItBegan) {
    auto lines = [](int first, int count) {
        std::string text;
        for (int i = first; i < first + count; ++i)
            text += "[" + std::to_string(i) + "] fine\n";
        return text;
    };
    EXPECT_EQ(log_of_loss(""), "");
    EXPECT_EQ(log_of_loss(lines(0, 100)), log_tail(lines(60, 40)));
    const std::string trouble = "BUG: unable to handle page fault\n" + lines(1, 70) +
                                "Kernel panic - not syncing\n" + lines(2, 20);
    EXPECT_EQ(log_of_loss(lines(0, 100) + trouble), trouble.substr(0, trouble.size() - 1));
    // No more than people read.
    EXPECT_EQ(log_of_loss("BUG: x\n" + lines(0, 500)), log_tail(lines(460, 40)));
}

TEST(KernelLog, ComplaintsAreFoundWithWhatFollows) {
    EXPECT_EQ(complaints(""), "");
    EXPECT_EQ(complaints("[1] all is well\r\n[2] report a bug to nobody\r\n"), "");
    EXPECT_EQ(complaints("[1] fine\r\n[2] BUG: unable to handle page fault\r\n[3] RIP: x\r\n"),
              "[2] BUG: unable to handle page fault\n[3] RIP: x");
    EXPECT_EQ(complaints("[1] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:"),
              "[1] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:");
    for (const char* said :
         {"BUG: KASAN: slab-out-of-bounds in f+0x1/0x2 [m]",
          "UBSAN: array-index-out-of-bounds in f.c:1:2",
          "WARNING: possible recursive locking detected", "WARNING: suspicious RCU usage",
          "BUG: sleeping function called from invalid context at mm/slab.h:1",
          "ODEBUG: free active", "unreferenced object 0xffff888001234560 (size 64):",
          "BUG: KCSAN: data-race in vfs_read / djs_enter [m]", "BUG: KCSAN: data-race in f [m]",
          // As Linux 7.3 says it, with and without the place.
          "WARNING: kernel/a.c:1 at f+0x1/0x2, CPU#0: sh/1", "WARNING: at f+0x1/0x2, CPU#0: sh/1",
          "INFO: trying to register non-static key.",
          "WARNING: stack going in the wrong direction? at f+0x1",
          "WARNING: stack recursion on stack type 2", "WARNING: can't access registers at f+0x1",
          "WARNING: missing R10 value at f+0x1",
          "WARNING: unknown .orc_unwind entry type 3 at f+0x1",
          "WARNING: unknown SP base reg 3 at f+0x1",
          "rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: {"})
        EXPECT_EQ(complaints(std::string("fine\n") + said), said);
    // What kernels say of a configuration.
    for (const char* said : {"WARNING: Unprivileged eBPF is enabled with eIBRS+LFENCE mitigation",
                             "WARNING: BIOS bug: CPU MTRRs don't cover all of memory",
                             "WARNING: 'bootconfig' found on the kernel command line"})
        EXPECT_EQ(complaints(said), "");
    // A race without a module is the kernel's own.
    EXPECT_EQ(complaints("[1] BUG: KCSAN: data-race in tick_sched_timer / tick_do_update"), "");
    std::string long_log = "WARNING: CPU: 0 PID: 1\n";
    for (int i = 0; i < 100; i++)
        long_log += "line\n";
    const std::string found = complaints(long_log);
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 29);
}

} // namespace
} // namespace djstap
