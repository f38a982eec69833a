// SPDX-License-Identifier: GPL-2.0-or-later
// djrun's own part: its options, and what it says of a module without loading it.
#include "module_files.h"
#include "session/snapshot_frames.h"
#include "system/file.h"
#include "system/process.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <sstream>
#include <unistd.h>

namespace djstap {
namespace {

class Djrun : public testing::Test {
  protected:
    void SetUp() override {
        folder = testing::TempDir() + "djstap-djrun-" + std::to_string(getpid());
        std::filesystem::create_directories(folder);
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    struct Told {
        int status;
        std::string output;
        bool operator==(const Told&) const = default;
    };
    // Its status, and what it says on both of its outputs.
    static Told told(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), DJSTAP_BINARY_DIR "/bin/djrun");
        auto ran = run_program(arguments);
        EXPECT_TRUE(ran);
        return ran ? Told{ran->status, ran->output} : Told{-1, ""};
    }
    std::string put(const std::string& meta, const std::string& end = "") const {
        std::ofstream(folder + "/demo.ko", std::ios::binary)
            << elf({{".djstap.meta", meta}, {".modinfo", std::string("name=demo\0", 10)}}) << end;
        return folder + "/demo.ko";
    }
    friend void PrintTo(const Told& told, std::ostream* out) {
        *out << told.status << ": " << told.output;
    }

    std::string folder;
};

TEST_F(Djrun, DescribesAModule) {
    const std::string path = put(R"json({"version":1,"name":"x","release":"6.1.0","build_id":"ab12",
        "script":"a.stp","formats":[{"text":"%s \"\\\t%d\n","types":"sl"},{"text":"bye"}],
        "probes":[{"point":"kernel.function(\"x\")","mechanism":"djprobe"},
                  {"point":"begin","mechanism":"session"}]})json");
    EXPECT_EQ(told({"--describe", path}), (Told{0, R"text(module   demo
kernel   6.1.0
build-id ab12
signed   no
script   a.stp
probes   2
  djprobe        kernel.function("x")
  session        begin
formats  2
  sl             "%s \"\\\t%d\n"
  -              "bye"
)text"}));
}

// A module that somebody else made does not control the terminal.
TEST_F(Djrun, DescribesWithoutControls) {
    const std::string path = put(R"json({"version":1,"name":"x","script":"\u001b[2Ja.stp",
        "formats":[{"text":"\u001b[2J"}],
        "probes":[{"point":"a\n  kprobe         b\u001b[2J","mechanism":"\u0007"}]})json");
    EXPECT_EQ(told({"--describe", path}).output,
              "module   demo\nkernel   \nbuild-id \nsigned   no\n"
              "script   \\033[2Ja.stp\nprobes   1\n"
              "  \\007              a\\012  kprobe         b\\033[2J\n"
              "formats  1\n  -              \"\\033[2J\"\n");
}

TEST_F(Djrun, DescribesASignedModuleWithoutAScript) {
    const std::string path = put(R"({"version":1,"name":"x"})", "~Module signature appended~\n");
    EXPECT_EQ(
        told({"--describe", path}),
        (Told{0, "module   demo\nkernel   \nbuild-id \nsigned   yes\nprobes   0\nformats  0\n"}));
}

TEST_F(Djrun, DescribesTheFieldsOfEvents) {
    const std::string path = put(R"({"version":2,"name":"x","fields":["tid","probe"]})");
    EXPECT_EQ(told({"--describe", path}),
              (Told{0, "module   demo\nkernel   \nbuild-id \nsigned   no\nfields   probe tid\n"
                       "probes   0\nformats  0\n"}));
}

TEST_F(Djrun, SaysWhatIsWrongWithAModule) {
    const std::string path = put("{");
    EXPECT_EQ(told({"--describe", path}),
              (Told{1, "djrun: " + path +
                           ": the module's description cannot be read\n"
                           "  hint: rebuild the module with djstap -p4\n"}));
    EXPECT_EQ(told({"--describe", "/nowhere/x.ko"}),
              (Told{1, "djrun: /nowhere/x.ko: No such file or directory\n"}));
}

TEST_F(Djrun, HasAVersion) {
    const Told version = told({"--version"});
    EXPECT_EQ(version.status, 0);
    EXPECT_EQ(version.output.substr(0, 6), "djrun ");
    EXPECT_EQ(told({"-V"}), version);
}

// As djstap's: lower-case imperatives, and the values' names alone.
TEST_F(Djrun, HelpReadsLikeThatOfDjstap) {
    const Told help = told({"--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_TRUE(help.output.starts_with("djrun loads a module")) << help.output;
    std::istringstream lines(help.output);
    size_t options = 0;
    const std::regex row("  \\S+( [A-Z]+(\\.ko| \\.\\.\\.|\\[:FILE\\])?)? {2,}[a-z].*");
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("  "))
            continue;
        EXPECT_TRUE(std::regex_match(line, row)) << line;
        options++;
    }
    EXPECT_EQ(options, 21u);
}

TEST_F(Djrun, WantsAModuleFileOrAName) {
    const std::string hint = "\n  hint: djrun --help lists the options\n";
    EXPECT_EQ(told({}), (Told{2, "djrun: no module was given" + hint}));
    EXPECT_EQ(told({"--attach", "x", "y.ko"}),
              (Told{2, "djrun: a module file and --attach exclude each other" + hint}));
    EXPECT_EQ(told({"--attach", "x", "--describe"}),
              (Told{2, "djrun: --attach cannot be combined with --describe\n"
                       "  hint: --describe MODULE.ko prints what the file contains\n"}));
}

TEST_F(Djrun, NamesOptionsThatItDoesNotHave) {
    const std::string lists = "\n  hint: djrun --help lists the options\n";
    EXPECT_EQ(told({"--everything"}), (Told{2, "djrun: unknown option --everything" + lists}));
    EXPECT_EQ(told({"--atach=x"}),
              (Told{2, "djrun: unknown option --atach\n  hint: did you mean '--attach'?\n"}));
    const Told number = told({"-s", "many", "x.ko"});
    EXPECT_EQ(number.status, 2);
    EXPECT_TRUE(number.output.starts_with("djrun: ") && number.output.ends_with(lists))
        << number.output;
}

TEST_F(Djrun, RefusesOptionsThatDoNotGoTogether) {
    const Told recorder{2, "djrun: -F leaves the loaded module in the kernel and cannot be "
                           "combined with --attach, -c or -T\n"};
    EXPECT_EQ(told({"-F", "--attach", "x"}), recorder);
    EXPECT_EQ(told({"-F", "-c", "true", "x.ko"}), recorder);
    EXPECT_EQ(told({"-F", "-T", "1", "x.ko"}), recorder);
    EXPECT_EQ(told({"--stop", "x.ko"}), (Told{2, "djrun: --stop requires --attach\n"}));
    EXPECT_EQ(told({"-c", "true", "-x", "1", "x.ko"}),
              (Told{2, "djrun: -c and -x both set the traced process\n"
                       "  hint: give one of them\n"}));
    const Told folder = told({"--output=ctf", "x.ko"});
    EXPECT_EQ(folder.status, 2);
    EXPECT_TRUE(folder.output.ends_with("\n  hint: name one: --output=ctf:FOLDER\n"))
        << folder.output;
    // What would have no effect.
    for (const std::vector<std::string>& other : {std::vector<std::string>{"-T", "1"},
                                                  {"-c", "true"},
                                                  {"-F"},
                                                  {"--from-dump", "core"},
                                                  {"--json"}}) {
        std::vector<std::string> arguments{"--describe", "x.ko"};
        arguments.insert(arguments.end(), other.begin(), other.end());
        EXPECT_EQ(told(arguments),
                  (Told{2, "djrun: " + other.front() +
                               " cannot be combined with --describe\n"
                               "  hint: --describe MODULE.ko prints what the file contains\n"}));
    }
    for (const std::vector<std::string>& other : {std::vector<std::string>{"-T", "1", "x.ko"},
                                                  {"-x", "1", "x.ko"},
                                                  {"-s", "2", "x.ko"},
                                                  {"-F", "x.ko"},
                                                  {"--attach", "x"}}) {
        std::vector<std::string> arguments{"--from-dump", "core"};
        arguments.insert(arguments.end(), other.begin(), other.end());
        EXPECT_EQ(told(arguments),
                  (Told{2, "djrun: " + other.front() +
                               " cannot be combined with --from-dump\n"
                               "  hint: --from-dump VMCORE MODULE.ko prints what was recorded\n"}));
    }
    EXPECT_EQ(told({"--describe", "x.ko", "n=1"}).status, 2);
}

TEST_F(Djrun, PrintsFactsAndNothingElse) {
    const Told facts = told({"--facts"});
    EXPECT_EQ(facts.status, 0);
    EXPECT_TRUE(facts.output.starts_with("{\n  \"djstap_facts\": 1,\n  \"host\": \""))
        << facts.output;
    EXPECT_EQ(told({"--facts", "x.ko"}),
              (Told{2, "djrun: a module cannot be combined with --facts\n"
                       "  hint: --facts prints facts of this machine, and loads nothing\n"}));
    EXPECT_EQ(told({"--json", "--facts"}),
              (Told{2, "djrun: --json cannot be combined with --facts\n"
                       "  hint: --facts prints facts of this machine, and loads nothing\n"}));
}

TEST_F(Djrun, MergesFilesAndNothingElse) {
    const std::string hint =
        "\n  hint: --merge takes only files of --output=snapshots, and prints text\n";
    for (const std::string option : {"--json", "-w", "--stop", "--describe"})
        EXPECT_EQ(told({option, "--merge", "a.snapshots"}),
                  (Told{2, "djrun: " + option + " cannot be combined with --merge" + hint}));
    EXPECT_EQ(told({"-o", "x", "--merge", "a.snapshots"}),
              (Told{2, "djrun: -o cannot be combined with --merge" + hint}));
    EXPECT_EQ(told({"x.ko", "--merge", "a.snapshots"}),
              (Told{2, "djrun: a module cannot be combined with --merge" + hint}));
}

TEST_F(Djrun, MergesTextsThatContainAnything) {
    std::string bytes;
    put_frame(bytes, DescriptionFrame{});
    put_frame(bytes, PrintedFrame{1, std::string("a\0b\n", 4)});
    put_frame(bytes, PrintedFrame{2, "last\n"});
    put_frame(bytes, GlobalsFrame{});
    put_frame(bytes, EndFrame{});
    ASSERT_TRUE(write_file(folder + "/web.snapshots", bytes));
    EXPECT_EQ(told({"--merge", folder + "/web.snapshots"}), (Told{0, "web: a?b\nweb: last\n"}));
}

TEST_F(Djrun, OutputThatCannotBeWrittenIsAFailure) {
    const std::string module = put(R"({"version":1,"name":"x"})");
    std::string bytes;
    put_frame(bytes, PrintedFrame{1, "x"});
    ASSERT_TRUE(write_file(folder + "/web.snapshots", bytes));
    for (const std::string& arguments :
         std::vector<std::string>{"--version", "--help", "--facts", "--describe " + module,
                                  "--merge " + folder + "/web.snapshots"}) {
        auto ran =
            run_program({"sh", "-c", DJSTAP_BINARY_DIR "/bin/djrun " + arguments + " > /dev/full"});
        ASSERT_TRUE(ran);
        EXPECT_EQ(ran->status, 1) << arguments;
        EXPECT_TRUE(ran->output.starts_with("djrun: the output: No space left on device\n"))
            << arguments << ": " << ran->output;
    }
}

TEST_F(Djrun, RefusesValuesOutOfRange) {
    for (const std::vector<std::string>& wrong : {std::vector<std::string>{"-x", "0"},
                                                  {"-T", "0"},
                                                  {"-s", "0"},
                                                  {"-s", "1025"},
                                                  {"-T", "nan"},
                                                  {"-T", "1s"},
                                                  {"-T", "1000000001"},
                                                  {"-s", "0x10"},
                                                  {"-x", "2147483648"},
                                                  {"-o", ""},
                                                  {"-c", ""},
                                                  {"--from-dump", ""},
                                                  {"--nonsense"}}) {
        std::vector<std::string> arguments = wrong;
        arguments.emplace_back("/nowhere/x.ko");
        EXPECT_EQ(told(arguments).status, 2) << wrong.front();
    }
    for (const std::vector<std::string>& right : {std::vector<std::string>{"-T", "0.001"},
                                                  {"-T", "1e9"},
                                                  {"-s", "1"},
                                                  {"-s", "010"},
                                                  {"-s", "1024"},
                                                  {"-v"},
                                                  {"-w"},
                                                  {"--json"}}) {
        std::vector<std::string> arguments = right;
        arguments.emplace_back("/nowhere/x.ko");
        EXPECT_EQ(told(arguments), (Told{1, "djrun: /nowhere/x.ko: No such file or directory\n"}))
            << right.front();
    }
}

// Zeros in front do not change a number.
TEST_F(Djrun, NumbersAreDecimal) {
    EXPECT_EQ(
        told({"-x", "067108863", "/nowhere/x.ko"}),
        (Told{1, "djrun: there is no process 67108863\n  hint: see ps, or start it with -c\n"}));
}

TEST_F(Djrun, MakesTheOutputsFileFirst) {
    const std::string output = folder + "/out";
    EXPECT_EQ(told({"-o", output, "/nowhere/x.ko"}),
              (Told{1, "djrun: /nowhere/x.ko: No such file or directory\n"}));
    EXPECT_TRUE(std::filesystem::exists(output));
    EXPECT_EQ(told({"-o", "/nowhere/out", "/nowhere/x.ko"}),
              (Told{1, "djrun: /nowhere/out: No such file or directory\n  hint: its folder does "
                       "not exist: create it, or name another file\n"}));
}

TEST_F(Djrun, LooksForTheTracedProcessAndTheCommandBefore) {
    EXPECT_EQ(
        told({"-x", "67108863", "/nowhere/x.ko"}),
        (Told{1, "djrun: there is no process 67108863\n  hint: see ps, or start it with -c\n"}));
    EXPECT_EQ(told({"-c", "/nowhere/program", "/nowhere/x.ko"}),
              (Told{1, "djrun: command '/nowhere/program' not found\n"}));
}

TEST_F(Djrun, AttachesToWhatIsLoaded) {
    EXPECT_EQ(told({"--attach", "not_loaded"}),
              (Told{1, "djrun: no module 'not_loaded' of djstap is loaded\n"
                       "  hint: no module of djstap is loaded\n"}));
}

TEST_F(Djrun, ReadsADumpInsteadOfLoading) {
    const std::string path = put(R"({"version":1,"name":"x"})");
    std::ofstream(folder + "/vmcore") << "nothing";
    EXPECT_EQ(told({"--from-dump", folder + "/vmcore", path}),
              (Told{1, "djrun: " + folder +
                           "/vmcore: not a core file\n"
                           "  hint: use /proc/vmcore or a copy of it\n"}));
}

} // namespace
} // namespace djstap
