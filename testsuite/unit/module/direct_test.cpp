// SPDX-License-Identifier: GPL-2.0-or-later
// Kits that are built beside Kbuild, and what makes Kbuild build them alone.
#include "arch/arch.h"
#include "common.h"
#include "module/kit_build.h"
#include "module/option_tries.h"
#include "module/units.h"
#include "module/versions.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

using namespace djstap;
using namespace djstap::module;
using namespace djstap::module::test;
namespace fs = std::filesystem;

namespace {

// Programs that take the place of others while it exists.
class Programs {
  public:
    void add(const std::string& name, const std::string& script) {
        const std::string file = folder_.path + "/" + name;
        std::ofstream(file) << "#!/bin/sh\n" << script;
        fs::permissions(file, fs::perms::owner_all);
    }

  private:
    const TestFolder folder_;
    const Environment path_{"PATH", folder_.path + ":" + getenv("PATH")};
};

std::unique_ptr<Kernel> opened_kernel(const KernelFiles& files) {
    auto kernel = Kernel::open(files);
    EXPECT_TRUE(kernel) << kernel.failure().message;
    return kernel ? std::move(*kernel) : nullptr;
}

RuntimeKit build(const Kernel& kernel, const RuntimeSources& sources) {
    CacheFolder cache;
    auto kit = open_runtime_kit(kernel, sources);
    EXPECT_TRUE(kit) << kit.failure().message;
    return kit ? *kit : RuntimeKit();
}

// A folder with a Makefile that asks a compiler for options as Kbuild does.
struct AskingFolder : TestFolder {
    explicit AskingFolder(const std::string& questions) {
        std::ofstream(path + "/Makefile")
            << "CC = " << path << "/cc\n"
            << "try-run = $(shell if ($(1)) >/dev/null 2>&1; then echo '$(2)'; else echo '$(3)'; "
               "fi)\n"
               "cc-option = $(call try-run,$(CC) -Werror $(flags) $(1) -c -x c /dev/null -o "
               "\"$$TMP\",$(1),$(2))\n"
               "flags := -DX\n"
            << questions << "all:\n\tuse $(flags)\n";
    }
    void compiler(const std::string& script) {
        std::ofstream(path + "/cc") << "#!/bin/sh\n" << script;
        fs::permissions(path + "/cc", fs::perms::owner_all);
    }
    std::optional<OptionTries> ask() const {
        return answer_option_tries({"make", "-C", path, "-s", "all"}, path, path);
    }
};

// Rejects options that contain "bad", as gcc does.
constexpr const char* choosy_compiler = "s=0\nfor w; do case $w in *bad*) echo \"cc: error: "
                                        "unrecognized command-line option '$w'\"; s=1;; "
                                        "esac; done\nexit $s\n";

} // namespace

TEST(OptionTries, AreAnsweredAsTheCompilerWould) {
    AskingFolder folder("flags += $(call cc-option,-fgood)\n"
                        "flags += $(call cc-option,-fbad-one,-finstead)\n"
                        "flags += $(call cc-option,-fbad-two)\n"
                        "flags += $(call cc-option,-fgood-two)\n"
                        "flags += $(call try-run,echo x | grep -q x,-Dyes,-Dno)\n"
                        "flags += $(call try-run,echo x | grep -q y,-Dmaybe,-Dno)\n");
    folder.compiler(choosy_compiler);
    const auto tries = folder.ask();
    ASSERT_TRUE(tries);
    EXPECT_EQ(tries->questions.size(), 6u);
    EXPECT_NE(tries->commands.find("use -DX -fgood -finstead -fgood-two -Dyes -Dno"),
              std::string::npos)
        << tries->commands;
    // The same make, when it runs: its questions are known, and others are noticed.
    std::vector<std::string> words{"make", "-C", folder.path, "-s", "-n", "all"};
    words.insert(words.end(), tries->variables.begin(), tries->variables.end());
    auto outcome = run_tool(words);
    ASSERT_TRUE(outcome);
    std::string output = outcome->output;
    EXPECT_TRUE(asked_nothing_else(*tries, output));
    EXPECT_EQ(output.find("djs-try"), std::string::npos) << output;
    words.push_back("CC=" + folder.path + "/cc -DOTHER");
    outcome = run_tool(words);
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(asked_nothing_else(*tries, outcome->output));
}

// Others contain options that the compiler does not have, until it is known which these are. Blanks
// may follow a question.
TEST(OptionTries, OfOptionsAreAnsweredFirst) {
    AskingFolder folder("flags += $(call try-run,$(CC) -Werror $(flags) -fbad -c -x c /dev/null -o "
                        "\"$$TMP\"  ,-fbad,-finstead)\n"
                        "flags += $(call try-run,echo $(flags) >>asked,-Dyes,-Dno)\n");
    folder.compiler(choosy_compiler);
    const auto tries = folder.ask();
    ASSERT_TRUE(tries);
    EXPECT_NE(tries->commands.find("use -DX -finstead -Dyes\n"), std::string::npos)
        << tries->commands;
    EXPECT_EQ(*read_file(folder.path + "/asked"), "-DX -finstead\n");
}

// Each question's answer is what was assumed until that of the question before it proves wrong: so
// many rounds find one wrong answer each, and the last one none.
TEST(OptionTries, AreRepeatedSixTimes) {
    const auto ask = [](int questions) {
        std::string text = "flags += $(call try-run,false,-Dyes-1,-Dno)\n";
        for (int i = 2; i <= questions; i++)
            text += "flags += $(call try-run,echo $(flags) | grep -q -e -Dyes,-Dyes-" +
                    std::to_string(i) + ",-Dno)\n";
        const AskingFolder folder(text);
        return folder.ask();
    };
    const auto tries = ask(5);
    ASSERT_TRUE(tries);
    EXPECT_EQ(tries->questions.size(), 5u);
    EXPECT_NE(tries->commands.find("use -DX -Dno -Dno -Dno -Dno -Dno\n"), std::string::npos)
        << tries->commands;
    EXPECT_FALSE(ask(6));
}

TEST(OptionTries, WithoutCertainAnswersAreLeftToKbuild) {
    // The compiler fails and does not say which option is at fault.
    AskingFolder folder("flags += $(call cc-option,-fgood)\nflags += $(call cc-option,-fbad)\n");
    folder.compiler("case \"$*\" in *bad*) echo 'cc: error: no'; exit 1;; esac\n");
    EXPECT_FALSE(folder.ask());
    // No compiler at all.
    fs::remove(folder.path + "/cc");
    EXPECT_FALSE(folder.ask());
    // Kbuild asks in another way, or nothing.
    AskingFolder silent("");
    silent.compiler(choosy_compiler);
    EXPECT_FALSE(silent.ask());
    // Make itself fails.
    EXPECT_FALSE(answer_option_tries({"make", "-C", "/no/such/folder"}, "/", folder.path));
}

TEST(OptionTries, NeedMakeAndAShell) {
    AskingFolder folder("flags += $(call cc-option,-fgood)\n");
    folder.compiler(choosy_compiler);
    const std::string tools = folder.path + "/tools", make = find_program("make");
    ASSERT_NE(make, "");
    fs::create_directory(tools);
    const auto is_answered = [&] {
        const Environment path("PATH", tools);
        return folder.ask().has_value();
    };
    EXPECT_FALSE(is_answered());
    fs::create_symlink(make, tools + "/make");
    EXPECT_FALSE(is_answered());
    fs::create_symlink("/bin/sh", tools + "/sh");
    EXPECT_TRUE(is_answered());
}

TEST(Units, CommandsAreThoseOfKbuild) {
    const std::string printed =
        "set -e;  echo '  CC [M]  /x/stub.o';  trap 'rm -f /x/stub.o' INT; gcc "
        "-Wp,-MMD,/x/.stub.o.d "
        "-O2 -I./include -I/x -DKBUILD_BASENAME='\"stub\"' -c -o /x/stub.o /x/stub.c  ; "
        "./tools/objtool/objtool "
        "--orc /x/stub.o ; scripts/basic/fixdep /x/.stub.o.d /x/stub.o 'gcc' > /x/.stub.o.cmd\n";
    const std::string command = compile_command(printed, "/x", "stub");
    EXPECT_EQ(command,
              "gcc -O2 -I./include -I/x -DKBUILD_BASENAME='\"stub\"' -c -o /x/stub.o /x/stub.c ; "
              "./tools/objtool/objtool --orc /x/stub.o");
    EXPECT_EQ(command_for(command, "stub", "unit", false),
              "gcc -O2 -I./include -I/x -DKBUILD_BASENAME='\"unit\"' -c -o /x/unit.o /x/unit.c ; "
              "./tools/objtool/objtool --orc /x/unit.o");
    EXPECT_TRUE(command_for(command, "stub", "unit", true).starts_with("gcc -O1 -I./include "));
    EXPECT_EQ(compiler_of(command, "/x"), "gcc -O2 -I./include -DKBUILD_BASENAME='\"stub\"'");
    // Since 6.13 Kbuild runs the compiler in the module's folder.
    const std::string relative =
        "set -e;  echo '  CC [M]  stub.o';  trap 'rm -f stub.o' INT; gcc -Wp,-MMD,./.stub.o.d "
        "-O2 -I. -I./include -DKBUILD_BASENAME='\"stub\"' -c -o stub.o stub.c  ; "
        "/k/tools/objtool/objtool "
        "--orc stub.o ; /k/scripts/basic/fixdep ./.stub.o.d stub.o 'gcc' > ./.stub.o.cmd\n";
    const std::string moved = compile_command(relative, "/x", "stub");
    EXPECT_EQ(moved,
              "gcc -O2 -I/x -I/x/include -DKBUILD_BASENAME='\"stub\"' -c -o /x/stub.o /x/stub.c "
              "; /k/tools/objtool/objtool --orc /x/stub.o");
    EXPECT_EQ(compiler_of("gcc -O2 -I. -I./include -DX -c -o stub.o stub.c", "/x"), "gcc -O2 -DX");
    EXPECT_EQ(compile_command(printed, "/x", "other"), "");
    EXPECT_EQ(compile_command("gcc -c -o /x/stub.o /x/stub.c\n", "/x", "stub"), "");
}

TEST(Units, ObjtoolIsRunAsKbuildRunsIt) {
    using Words = std::vector<std::string>;
    TestFolder folder;
    const std::string tools = fs::canonical(folder.path).string() + "/tools/objtool",
                      program = tools + "/objtool";
    const auto found = [&](const Words& noted) {
        const auto objtool = find_objtool(noted, folder.path);
        EXPECT_TRUE(objtool) << objtool.failure().message;
        return objtool ? *objtool : Objtool();
    };
    // A kernel without it.
    EXPECT_EQ(found({}).command, Words());
    EXPECT_EQ(found({"", "cmd_stub.o := gcc -c -o stub.o stub.c\n"}).command, Words());
    EXPECT_FALSE(found({""}).is_delayed);
    const std::string of_object =
        "cmd_stub.o := gcc -c -o stub.o stub.c ; ./tools/objtool/objtool --orc --retpoline "
        "stub.o\n\nsource_stub.o := /tools/objtool/objtool other\n";
    const auto missing = find_objtool({of_object}, folder.path);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.failure().message, "./tools/objtool/objtool: No such file or directory");
    fs::create_directories(tools);
    std::ofstream(program) << "program";
    EXPECT_EQ(found({"", of_object}).command, (Words{program, "--orc", "--retpoline"}));
    EXPECT_FALSE(found({of_object}).is_delayed);
    // The module's command is asked for first, and may be all that there is.
    const std::string of_module = program + " --link --ibt module.o";
    EXPECT_EQ(found({of_module, of_object}).command, (Words{program, "--link", "--ibt"}));
    EXPECT_TRUE(found({of_module, of_object}).is_delayed);
    EXPECT_EQ(found({"a;" + of_module}).command, (Words{program, "--link", "--ibt"}));
    EXPECT_EQ(found({"a\t" + of_module}).command, (Words{program, "--link", "--ibt"}));
    // Debian's program chooses another one.
    const std::string own = program + ".real-" + arch::names().kernel;
    std::ofstream(own) << "program";
    EXPECT_EQ(found({of_object}).command, (Words{own, "--orc", "--retpoline"}));
}

// What make prints for one source, between what it prints for others.
TEST(Units, CommandsAreFoundBetweenOthers) {
    const std::string files = " -c -o /x/a.o /x/a.c", fixdep = " ; scripts/basic/fixdep /x/.a.o.d";
    const std::string command = "gcc -O2 -c -o /x/a.o /x/a.c";
    const auto found = [&](const std::string& printed) {
        return compile_command(printed, "/x", "a");
    };
    EXPECT_EQ(found("gcc -O2" + files + fixdep), command);
    EXPECT_EQ(found("set -e; gcc -O2" + files + fixdep), command);
    EXPECT_EQ(found("one; two\ngcc -O2" + files + fixdep), command);
    EXPECT_EQ(found("one\nset -e; gcc -O2" + files + fixdep), command);
    EXPECT_EQ(found("gcc -c -o /x/b.o /x/b.c ; scripts/basic/fixdep /x/.b.o.d\nset -e; gcc -O2" +
                    files + fixdep + "\ngcc -c -o /x/c.o /x/c.c ; scripts/basic/fixdep /x/.c.o.d"),
              command);
    EXPECT_EQ(found("gcc -O2" + files + " ; check /x/a.o" + fixdep), command + " ; check /x/a.o");
    // Without the note of how it was made, or with that of another source, it is not Kbuild's.
    EXPECT_EQ(found("gcc -O2" + files + " ; echo"), "");
    EXPECT_EQ(found("scripts/basic/fixdep /x/.b.o.d\ngcc -O2" + files + "\n"), "");
    EXPECT_EQ(found("gcc -O2" + files + "\ngcc -c -o /x/b.o /x/b.c" + fixdep), "");
    // Folders of a folder are others.
    EXPECT_EQ(compile_command("gcc -I. -I./b -I../c -I.d -include x.h -c -o a.o a.c ; "
                              "scripts/basic/fixdep .a.o.d",
                              "/x", "a"),
              "gcc -I/x -I/x/b -I../c -I.d -include x.h -c -o /x/a.o /x/a.c");
    EXPECT_EQ(
        compiler_of("gcc -O2 -Wp,-MMD,/x/.a.o.d -I/x/b -DX -c -o /x/a.o /x/a.c ; check", "/x"),
        "gcc -O2 -DX");
    EXPECT_EQ(compiler_of("gcc -O2 -I./b -c -o /x/a.o /x/a.c", "/x"), "gcc -O2 -I./b");
    EXPECT_EQ(compiler_of("gcc -O2 -o /x/a /x/a.c", "/x"), "");
    EXPECT_EQ(compiler_for("gcc -O2 -g", true), "gcc -O1 -g");
    EXPECT_EQ(compiler_for("gcc -O2 -g", false), "gcc -O2 -g");
}

// Jobs that only succeed if so many run at the same time.
TEST(Units, AsManyJobsRunAtOnceAsAreAllowed) {
    std::mutex mutex;
    std::condition_variable changed;
    const auto meet = [&](size_t jobs, unsigned threads, std::chrono::milliseconds patience) {
        size_t here = 0;
        const auto job = [&] {
            std::unique_lock lock(mutex);
            here++;
            changed.notify_all();
            return changed.wait_for(lock, patience, [&] { return here >= jobs; });
        };
        return run_jobs(std::vector<std::function<bool()>>(jobs, job), threads);
    };
    constexpr std::chrono::seconds long_enough(20);
    EXPECT_TRUE(meet(1, 0, long_enough)) << "the caller is one of them";
    EXPECT_TRUE(meet(2, 2, long_enough));
    EXPECT_TRUE(meet(3, 3, long_enough));
    EXPECT_TRUE(meet(3, 8, long_enough));
    constexpr std::chrono::milliseconds moment(30);
    EXPECT_FALSE(meet(2, 1, moment));
    EXPECT_FALSE(meet(3, 2, moment));
}

TEST(Units, JobsRunUntilOneFails) {
    std::atomic<int> ran = 0;
    const auto good = [&] { return ++ran > 0; };
    const auto bad = [] { return false; };
    EXPECT_TRUE(run_jobs({good, good, good}, 2));
    EXPECT_EQ(ran, 3);
    EXPECT_FALSE(run_jobs({good, bad, good, good}, 1));
    EXPECT_EQ(ran, 4);
    EXPECT_FALSE(run_jobs({bad}, 8));
    EXPECT_TRUE(run_jobs({}, 2));
}

TEST(Units, HoldEverySourceOnce) {
    auto sources = read_sources({std::string(DJSTAP_SOURCE_DIR) + "/runtime"});
    ASSERT_TRUE(sources);
    std::string all;
    for (const SourceFile& file : combine_sources(*sources, 1))
        all += file.text;
    const std::vector<Unit> units = divide_sources(*sources);
    ASSERT_EQ(units.size(), 3u);
    size_t size = 0, cold = 0;
    for (const Unit& unit : units) {
        size += unit.source.text.size();
        cold += unit.cold;
        std::istringstream lines(unit.source.text);
        for (std::string line; std::getline(lines, line);)
            EXPECT_NE(all.find(line + "\n"), std::string::npos) << line;
    }
    EXPECT_EQ(size, all.size());
    EXPECT_EQ(cold, 1u);
    // Without such lists.
    auto tiny = read_sources(tiny_runtime());
    ASSERT_TRUE(tiny);
    EXPECT_EQ(divide_sources(*tiny).size(), 2u);
    EXPECT_TRUE(divide_sources({}).empty());
}

TEST(Versions, OnlyPlainExportsAreEnough) {
    TestFolder folder;
    std::ofstream(folder.path + "/Module.symvers")
        << "0x00000001\tplain\tvmlinux\tEXPORT_SYMBOL\t\n"
           "0x00000002\told_format\tvmlinux\tEXPORT_SYMBOL_GPL\n"
           "0x00000003\tof_module\tdrivers/x\tEXPORT_SYMBOL\t\n"
           "0x00000004\tin_namespace\tvmlinux\tEXPORT_SYMBOL\tSPACE\n"
           "0x00000005\tknown\tvmlinux\tEXPORT_SYMBOL\t\n";
    auto rows = version_rows(folder.path,
                             {"plain", "old_format", "of_module", "in_namespace", "known", "none"},
                             {"known"});
    ASSERT_TRUE(rows);
    EXPECT_EQ(rows->unknown, std::set<std::string>{"none"});
    EXPECT_EQ(rows->special, (std::set<std::string>{"in_namespace", "of_module"}));
    EXPECT_NE(rows->text.find("{0x00000001, \"plain\"}"), std::string::npos);
    EXPECT_EQ(rows->text.find("known\""), std::string::npos);
    // A row has room for 55 characters, and the last line may have no end.
    const std::string fits(55, 'x'), too_long(56, 'y');
    std::ofstream(folder.path + "/Module.symvers") << "0x6\t" + too_long +
                                                          "\tvmlinux\tEXPORT_SYMBOL\t\n0x7\t" +
                                                          fits + "\tvmlinux\tEXPORT_SYMBOL\t";
    rows = version_rows(folder.path, {fits, too_long}, {});
    ASSERT_TRUE(rows);
    EXPECT_TRUE(rows->unknown.empty());
    EXPECT_EQ(rows->special, std::set<std::string>{too_long});
    EXPECT_EQ(rows->text, "{0x7, \"" + fits + "\"},\n");
    EXPECT_EQ(version_source({}), "");
    EXPECT_FALSE(version_rows("/no/such/folder", {}, {}));
}

// Whatever is not as expected, Kbuild builds the kit alone, and the kit is the same.
TEST(Kit, IsTheSameIfKbuildBuildsItAlone) {
    const auto kernels = buildable_kernels();
    if (kernels.empty())
        GTEST_SKIP() << "no kernel with headers and vmlinux is installed";
    for (const KernelFiles& files : kernels) {
        SCOPED_TRACE(files.release);
        auto kernel = opened_kernel(files);
        ASSERT_TRUE(kernel);
        const RuntimeKit direct = build(*kernel, tiny_runtime());
        EXPECT_EQ(direct.indirect_because, "");
        Programs programs;
        programs.add("make",
                     "case \" $* \" in *' -n '*) exit 2;; esac\nexec /usr/bin/make \"$@\"\n");
        const RuntimeKit alone = build(*kernel, tiny_runtime());
        EXPECT_EQ(alone.indirect_because, "Kbuild's tries of options have no certain answers");
        EXPECT_TRUE(alone.combined);
        EXPECT_EQ(direct.compiler, alone.compiler);
        EXPECT_EQ(direct.linker, alone.linker);
        EXPECT_EQ(direct.objtool, alone.objtool);
        EXPECT_EQ(direct.runtime_symbols, alone.runtime_symbols);
        EXPECT_EQ(direct.runtime_functions, alone.runtime_functions);
        EXPECT_EQ(direct.kernel_symbols, alone.kernel_symbols);
        EXPECT_EQ(direct.versioned_symbols, alone.versioned_symbols);
        ASSERT_EQ(direct.offsets.size(), alone.offsets.size());
    }
}

TEST(Kit, WrongAnswersAreNoticed) {
    auto kernels = buildable_kernels();
    if (kernels.empty())
        GTEST_SKIP() << "no kernel with headers and vmlinux is installed";
    auto kernel = opened_kernel(kernels.front());
    ASSERT_TRUE(kernel);
    const auto because = [&](const std::string& make) {
        Programs programs;
        programs.add("make", make);
        const RuntimeKit kit = build(*kernel, tiny_runtime());
        EXPECT_TRUE(kit.has_runtime_symbol("djs_double"));
        return kit.indirect_because;
    };
    // (What make says on standard error would get into sed's lines.)
    // Kbuild compiles with an option that it had not printed.
    EXPECT_EQ(because("case \" $* \" in *' -n '*) ;; *djs-refused*) set -- \"$@\" 'KCFLAGS=-g0 "
                      "-DOTHER';; esac\nexec /usr/bin/make \"$@\"\n"),
              "Kbuild compiles with another command");
    // It asks what it had not asked.
    EXPECT_EQ(because("case \" $* \" in *' -n '*) /usr/bin/make \"$@\" 2>/dev/null | sed "
                      "'/mskip-rax-setup -c/d'; "
                      "exit 2;; esac\nexec /usr/bin/make \"$@\"\n"),
              "Kbuild tries other options");
    // It prints no command.
    EXPECT_EQ(
        because("case \" $* \" in *' -n '*) /usr/bin/make \"$@\" 2>/dev/null | sed '/-c -o/d'; "
                "exit 2;; esac\nexec /usr/bin/make \"$@\"\n"),
        "Kbuild's command for a source is not known");
    // It fails.
    EXPECT_TRUE(because("case \" $* \" in *' -n '*) ;; *djs-refused*) echo broken; exit 2;; esac\n"
                        "exec /usr/bin/make \"$@\"\n")
                    .starts_with("Kbuild fails:\n  broken"));
}
