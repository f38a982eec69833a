// SPDX-License-Identifier: GPL-2.0-or-later
// What of a command's words is taken for a program or a file, and how a guest's archive is made.
#include "guest/archive.h"
#include "guest/closure.h"
#include "guest/modules.h"
#include "support.h"
#include "system/file.h"

#include <algorithm>
#include <sys/stat.h>

namespace djstap {
namespace {

using Names = std::vector<std::string>;

// Commands that are scripts of one folder, so that nothing but them and sh is taken.
class CommandFiles : public testing::Test {
  protected:
    CommandFiles() {
        for (const char* name : {"one", "two", "three", "seq", "2", "34"})
            make_file(folder.path + "/" + name, "text", true);
    }
    // The programs of a shell's command line, in their order.
    Names programs(const std::string& command) {
        const auto files = command_closure(command);
        EXPECT_TRUE(files) << files.failure().message;
        Names names;
        if (files)
            for (const FileToCopy& file : *files)
                if (file.host_path.starts_with(folder.path))
                    names.push_back(file.host_path.substr(folder.path.size() + 1));
        return names;
    }
    std::string failure(const std::string& command) {
        const auto files = command_closure(command);
        EXPECT_FALSE(files);
        return files ? "" : files.failure().message;
    }

    TestFolder folder;
    Environment path{"PATH", folder.path};
};

TEST_F(CommandFiles, ProgramsStandWhereACommandBegins) {
    EXPECT_EQ(programs("one two; true"), Names{"one"});
    for (const char* between : {"|", ";", "&&", "||", "&", "\n", "|&", ";(", "; {", "; !"})
        EXPECT_EQ(programs("one " + std::string(between) + " two three"), (Names{"one", "two"}))
            << between;
    EXPECT_EQ(programs("true `two three`"), Names{"two"});
}

TEST_F(CommandFiles, ProgramsFollowTheShellsOwnWords) {
    EXPECT_EQ(programs("if one; then two; else three; fi"), (Names{"one", "two", "three"}));
    EXPECT_EQ(programs("while one; do two; done"), (Names{"one", "two"}));
    EXPECT_EQ(programs("until one; do exec two; done"), (Names{"one", "two"}));
    EXPECT_EQ(programs("if one; then two; elif three; then time seq; fi"),
              (Names{"one", "two", "three", "seq"}));
    EXPECT_EQ(programs("command one; echo two"), Names{"one"});
}

TEST_F(CommandFiles, RedirectionsNameFiles) {
    EXPECT_EQ(programs("one 2>&1 two; true"), Names{"one"});
    EXPECT_EQ(programs("one >&2 & two"), (Names{"one", "two"}));
    EXPECT_EQ(programs("one>two"), Names{"one"});
    EXPECT_EQ(programs("> two one"), Names{"one"});
    EXPECT_EQ(programs("< two one; three"), (Names{"one", "three"}));
    EXPECT_EQ(programs("one <two | three >> seq"), (Names{"one", "three"}));
    EXPECT_EQ(programs("2> two one"), Names{"one"});
    EXPECT_EQ(programs("one</dev/null; true"), Names{"one"});
    EXPECT_EQ(programs("2>/dev/null one"), Names{"one"});
    EXPECT_EQ(programs("34</dev/null 2>&1 one two"), Names{"one"});
}

TEST_F(CommandFiles, AssignmentsAndCommentsAreNoPrograms) {
    EXPECT_EQ(programs("A=1 B=two one"), Names{"one"});
    EXPECT_EQ(programs("A=/one two"), Names{"two"});
    EXPECT_EQ(programs("one # ; two\nthree"), (Names{"one", "three"}));
    EXPECT_EQ(programs("one # ; two"), Names{"one"});
    EXPECT_EQ(programs("'' ; one"), Names{"one"});
    EXPECT_EQ(programs("$one; two"), Names{"two"});
}

TEST_F(CommandFiles, AProgramWithASignInItsPathIsNoAssignment) {
    std::filesystem::create_directories(folder.path + "/a=b");
    make_file(folder.path + "/a=b/c", "text", true);
    EXPECT_EQ(programs(folder.path + "/a=b/c; true"), Names{"a=b/c"});
    make_file(folder.path + "/d=e", "text", true);
    EXPECT_EQ(programs(folder.path + "/d=e; true"), Names{"d=e"});
}

TEST_F(CommandFiles, TheFirstProgramHasToBeThere) {
    EXPECT_EQ(failure("nine; one"), "program 'nine' was not found in $PATH");
    EXPECT_EQ(programs("one; nine; two"), (Names{"one", "two"}));
    EXPECT_EQ(failure("nine one"), "program 'nine' was not found in $PATH");
    EXPECT_EQ(failure("/nowhere/nine"), "/nowhere/nine does not exist");
    EXPECT_EQ(failure(" \t"), "the command is empty");
}

TEST_F(CommandFiles, OnlyTheFirstWordOfAPlainCommandIsAProgram) {
    EXPECT_EQ(programs("one two three"), Names{"one"});
}

TEST_F(CommandFiles, AProgramOfTheCurrentFolderIsHintedAt) {
    const auto before = std::filesystem::current_path();
    TestFolder here;
    make_file(here.path + "/zzzzzzzz", "text", true);
    std::filesystem::current_path(here.path);
    const auto files = command_closure("zzzzzzzz");
    std::filesystem::current_path(before);
    ASSERT_FALSE(files);
    EXPECT_EQ(files.failure().hint, "it is in the current folder: ./zzzzzzzz");
}

TEST_F(CommandFiles, AFileThatMayNotBeExecutedIsHintedAt) {
    make_file(folder.path + "/plain", "text");
    const auto files = program_closure(folder.path + "/plain");
    ASSERT_FALSE(files);
    EXPECT_EQ(files.failure().message, folder.path + "/plain is not an executable file");
    EXPECT_EQ(files.failure().hint, "chmod +x makes it one");
}

TEST_F(CommandFiles, InterpretersAreFollowedThroughEnv) {
    const std::string env = "/usr/bin/env";
    make_file(folder.path + "/script", "#!" + env + " one\n", true);
    EXPECT_EQ(programs("script"), (Names{"script", "one"}));
    make_file(folder.path + "/script", "#! " + env + " -S two -x\n", true);
    EXPECT_EQ(programs("script"), (Names{"script", "two"}));
    make_file(folder.path + "/script", "#!" + env + "\n", true);
    EXPECT_EQ(programs("script"), Names{"script"});
    make_file(folder.path + "/script", "#!" + env + " nine\n", true);
    EXPECT_EQ(failure("script"),
              folder.path + "/script is a script for nine, which is not in $PATH");
    make_file(folder.path + "/script", "#!/no/interpreter x\n", true);
    EXPECT_EQ(failure("script"),
              folder.path + "/script is a script for /no/interpreter, which does not exist");
    make_file(folder.path + "/script", "#!" + folder.path + "/two three\n", true);
    EXPECT_EQ(programs("script"), (Names{"script", "two"})) << "an argument of no env";
    make_file(folder.path + "/script", "#!\n", true);
    EXPECT_EQ(programs("script"), Names{"script"});
}

TEST_F(CommandFiles, DataFilesAreThoseThatAreNamed) {
    for (const char* name : {"a", "b c", "d", "e"})
        make_file(folder.path + "/" + name, "data");
    std::filesystem::create_directories(folder.path + "/sub");
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path);
    std::filesystem::resize_file("d", 64 << 20);
    std::filesystem::resize_file("e", (64 << 20) + 1);
    const auto named = [&](const std::string& command) {
        Names names;
        for (const FileToCopy& file : data_files(command))
            if (file.host_path.starts_with(folder.path))
                names.push_back(file.guest_path.substr(folder.path.size() + 1));
        return names;
    };
    EXPECT_EQ(named("cat a 'b c' nothing sub"), (Names{"a", "b c"}));
    EXPECT_EQ(named("cat <a|cat \"b c\";d"), (Names{"a", "b c", "d"}));
    EXPECT_EQ(named("cat sub/../a"), Names{"a"});
    EXPECT_EQ(named("cat " + folder.path + "/a"), Names{"a"});
    EXPECT_EQ(named("cat e"), Names{}) << "too large";
    std::filesystem::current_path(before);
}

TEST_F(CommandFiles, DataFilesHaveTheTerminalsDescription) {
    const auto has = [](const std::string& end) {
        const auto files = data_files("");
        return std::any_of(files.begin(), files.end(),
                           [&](const FileToCopy& file) { return file.guest_path.ends_with(end); });
    };
    {
        const Environment terminal("TERM", "linux");
        EXPECT_EQ(has("/terminfo/l/linux"),
                  std::filesystem::exists("/lib/terminfo/l/linux") ||
                      std::filesystem::exists("/usr/share/terminfo/l/linux"));
    }
    const Environment terminal("TERM", "../x");
    EXPECT_FALSE(has("/x"));
    EXPECT_TRUE(has("/etc/passwd"));
}

// Archives.

std::string all_of(guest::Archive& archive, size_t piece = 1 << 20) {
    std::string bytes;
    for (;;) {
        const auto more = archive.next(bytes, piece);
        EXPECT_TRUE(more) << more.failure().message;
        if (!more || !*more)
            return bytes;
    }
}

TEST(Archive, HasTheFormatOfNewc) {
    guest::Archive archive;
    archive.add_folder("/a", 0755);
    archive.add_text("/b", "12345", 0640);
    archive.add_link("/c", "xyz");
    const std::string zero = "00000000";
    const auto entry = [&](const std::string& inode, const std::string& mode,
                           const std::string& size, const std::string& name) {
        char length[9];
        snprintf(length, sizeof length, "%08X", static_cast<unsigned>(name.size() + 1));
        std::string text = "070701" + inode + mode + zero + zero + "00000001" + zero + size + zero +
                           zero + zero + zero + length + zero + name + '\0';
        text.resize((text.size() + 3) / 4 * 4);
        return text;
    };
    const std::string expected = entry("00000001", "000041ED", zero, "/a") +
                                 entry("00000002", "000081A0", "00000005", "/b") + "12345" +
                                 std::string(3, '\0') +
                                 entry("00000003", "0000A1FF", "00000003", "/c") + "xyz" +
                                 std::string(1, '\0') + entry("00000004", zero, zero, "TRAILER!!!");
    EXPECT_EQ(all_of(archive), expected);
    std::string more;
    EXPECT_FALSE(*archive.next(more, 1000)) << "it has ended";
    EXPECT_EQ(more, "");
}

TEST(Archive, ComesInPiecesOfAboutTheSizeThatIsAskedFor) {
    TestFolder folder;
    const std::string path = make_file(folder.path + "/file", std::string(200'000, 'x'));
    guest::Archive whole, pieces;
    ASSERT_TRUE(whole.add({path, "/file", 0600, ""}));
    ASSERT_TRUE(pieces.add({path, "/file", 0600, ""}));
    std::string first;
    EXPECT_TRUE(*pieces.next(first, 1));
    EXPECT_EQ(first.size(), 116u + 64 * 1024) << "a header and a block";
    EXPECT_TRUE(first + all_of(pieces, 1) == all_of(whole));
}

TEST(Archive, TakesLinksAndModesAsTheyAreGiven) {
    TestFolder folder;
    const std::string path = make_file(folder.path + "/file", "x", true);
    guest::Archive archive;
    ASSERT_TRUE(archive.add({path, "/own", 0, ""}));
    ASSERT_TRUE(archive.add({path, "/given", 0600, ""}));
    ASSERT_TRUE(archive.add({"", "/link", 0, "own"}));
    const std::string all = all_of(archive);
    EXPECT_NE(all.find("00000001000081ED"), std::string::npos);
    EXPECT_NE(all.find("0000000200008180"), std::string::npos);
    EXPECT_NE(all.find("000000030000A1FF"), std::string::npos);
}

TEST(Archive, NamesWhatItDoesNotTake) {
    guest::Archive archive;
    EXPECT_EQ(archive.add({"/bin/sh", "/", 0, ""}).failure().message,
              "'/' is not an absolute path for a file in the guest");
    EXPECT_EQ(archive.add({"/bin/sh", "", 0, ""}).failure().message,
              "'' is not an absolute path for a file in the guest");
    EXPECT_EQ(archive.add({"/tmp", "/x", 0, ""}).failure().message, "/tmp is not a regular file");
    TestFolder folder;
    const std::string path = make_file(folder.path + "/large", "");
    std::filesystem::resize_file(path, 0x7fffffff);
    EXPECT_EQ(archive.add({path, "/x", 0, ""}).failure().message,
              path + " is too large to copy into a guest");
    std::filesystem::resize_file(path, 0x7ffffffe);
    EXPECT_TRUE(archive.add({path, "/x", 0, ""}));
}

// Modules for a guest's modprobe.

TEST(Modprobe, HasTheModulesAndTheirTable) {
    TestFolder folder;
    make_file(folder.path + "/modules.dep", "a/first.ko: b/second.ko b/third-one.ko c/own.ko\n"
                                            "b/second.ko: b/third-one.ko\n"
                                            "b/third-one.ko:\n"
                                            "# a comment: x.ko\n"
                                            "not a module: x\n"
                                            "first: of another table\n"
                                            "b/other.ko:\n");
    make_file(folder.path + "/modules.builtin", "c/own.ko\n");
    for (const char* name : {"a", "b"})
        std::filesystem::create_directories(folder.path + "/" + name);
    make_file(folder.path + "/a/first.ko", "1");
    make_file(folder.path + "/b/second.ko", "2");
    make_file(folder.path + "/b/third-one.ko", "3");
    const GuestKernel kernel{"6.1", "", folder.path};
    const auto modules = guest::modules_with_dependencies(kernel, {"first", "own"});
    ASSERT_TRUE(modules) << modules.failure().message;
    Names names;
    for (const auto& module : *modules)
        names.push_back(module.name + "=" + module.bytes);
    EXPECT_EQ(names, (Names{"third_one=3", "second=2", "first=1"}));
    EXPECT_EQ(modules->back().needs, (Names{"second", "third_one"}));
    guest::Archive archive;
    ASSERT_TRUE(guest::add_for_modprobe(kernel, {"first"}, archive));
    const std::string all = all_of(archive);
    EXPECT_NE(
        all.find("third_one.ko:\nsecond.ko: third_one.ko\nfirst.ko: second.ko third_one.ko\n"),
        std::string::npos);
    EXPECT_NE(all.find("/lib/modules/6.1/first.ko"), std::string::npos);
    EXPECT_NE(all.find("/lib/modules/6.1/modules.dep"), std::string::npos);
    EXPECT_EQ(guest::add_for_modprobe(kernel, {"nine"}, archive).failure().message,
              "kernel 6.1 has no module nine, which a guest needs");
    EXPECT_FALSE(guest::modules_with_dependencies(kernel, {"other"})) << "its file is not there";
}

// What is shown of a log.

TEST(KernelLog, OfALossReachesBackAHundredAndFiftyLines) {
    const auto lines = [](int count) {
        std::string text;
        for (int i = 0; i < count; i++)
            text += "\nfine " + std::to_string(i);
        return text;
    };
    EXPECT_EQ(log_of_loss("BUG: x" + lines(149)), "BUG: x" + lines(149));
    EXPECT_EQ(log_of_loss("BUG: x" + lines(150)), log_tail(lines(150), 40));
    EXPECT_EQ(log_of_loss("sysrq: x" + lines(100)), "sysrq: x" + lines(100));
    EXPECT_EQ(log_of_loss("BUG: x" + lines(10)), "BUG: x" + lines(10));
}

TEST(Log, TailsEndAtTheirLines) {
    EXPECT_EQ(log_tail("a\nb\nc", 3), "a\nb\nc");
    EXPECT_EQ(log_tail("a\nb\nc", 1), "c");
    EXPECT_EQ(log_tail("\n\na\n\n\n", 5), "\n\na");
    EXPECT_EQ(log_tail("\na", 1), "a");
    EXPECT_EQ(log_tail("\na", 2), "\na");
    EXPECT_EQ(log_tail("a\nb", 0), "");
}

} // namespace
} // namespace djstap
