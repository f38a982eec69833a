// SPDX-License-Identifier: GPL-2.0-or-later
// What each format makes of events, as the independent readers of testsuite/outputs/ see it.
#include "formats.h"
#include "session/flame_graph.h"
#include "session/kernel_symbols.h"
#include "session/output_group.h"
#include "session/outputs.h"
#include "session/printed_values.h"
#include "session/printer.h"
#include "session/session_output.h"
#include "session/stack_samples.h"
#include "session/svg_text.h"
#include "system/file.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <unistd.h>

namespace djstap {
namespace {

namespace fs = std::filesystem;

constexpr const char* in_lines = "\"\\n\".join(map(str, r))";

TEST_F(Formats, ReadersTellWhatTheModuleDoesNotRecord) {
    meta_.fields = DJS_EVENT_PID;
    const uint32_t any = format("x\n", "");
    open({"perfetto:t", "ctf:c", "csv:v"});
    record(any, 1100, number(5), 2);
    EXPECT_EQ(close(),
              "WARNING: the module does not record these fields of events: probe, tid; events "
              "without them are shown on the track of their CPU, and never as slices or counters. "
              "djstap -p4 --output=perfetto makes a module that records them\n"
              "WARNING: the module does not record these fields of events: probe, tid; the trace "
              "lacks them. djstap -p4 --output=ctf makes a module that records them\n"
              "WARNING: " +
                  path("v") +
                  ": the script has neither globals that are printed at the end, which it never "
                  "reads, nor histograms: the table stays empty\n");
    EXPECT_EQ(read("perfetto", "t", "[e[\"track\"] for e in r]"), "['CPU 2']\n");
    EXPECT_EQ(read("ctf", "c", in_lines), "x: { cpu_id = 2, pid = 5 }, { }\n");
}

TEST_F(Formats, StacksAreCountedByAllFormatsAlike) {
    const uint32_t element = format("found[%s,%s]=%d\n", "skl", "found", 2),
                   printed = format("%s %s %d\n", "skl"), only = format("%s\n", "k"),
                   statistic = format("", "klllll", "t", 1), none = format("%d\n", "l");
    open({"folded:f", "svg:s", "pprof:p"});
    record(element, 1100, text("a;b\n") + stack({0x30, 0x20, 0x10}) + number(4));
    record(printed, 1200, text("c") + stack({0x20, 0x10}) + number(5));
    record(only, 1300, stack({0x20, 0x10}));
    record(only, 1400, stack({0x20, 0x10}));
    record(statistic, 1500,
           stack({0x10}) + number(2) + number(1) + number(9) + number(10) + number(5));
    record(none, 1600, number(1));
    record(printed, 1700, text("zero") + stack({0x10}) + number(0));
    const std::string told = close();
    for (const char* file : {"f", "s", "p"}) {
        EXPECT_NE(told.find(path(file) + ": 1 stack was omitted: its count is not positive"),
                  std::string::npos);
        EXPECT_NE(told.find(path(file) + ": functions are shown as addresses"), std::string::npos);
        EXPECT_EQ(told.find(path(file) + ": no call stack was printed"), std::string::npos);
    }
    const std::string expected = "{'0x10': 10, '0x10;0x20': 2, 'a:b ;0x10;0x20;0x30': 4, "
                                 "'c;0x10;0x20': 5}\n";
    EXPECT_EQ(read("folded", "f", "dict(sorted(r.items()))"), expected);
    EXPECT_EQ(read("pprof", "p", "dict(sorted(r.items()))"), expected);
    EXPECT_EQ(read("svg", "s", "sorted((d, b, n, c) for (n, d, b), c in r.items())"),
              "[(0, 0, 'all', 21), (1, 0, '0x10', 12), (1, 12, 'a:b ', 4), (1, 16, 'c', 5), "
              "(2, 10, '0x20', 2), (2, 12, '0x10', 4), (2, 16, '0x10', 5), (3, 12, '0x20', 4), "
              "(3, 16, '0x20', 5), (4, 12, '0x30', 4)]\n");
}

// The graph is 1180 points wide; a character takes 7, the margins 6.
TEST(FlameGraph, ANameIsCutToTheRoomOfItsBar) {
    const std::string graph =
        flame_graph({{"short", 41}, {"three", 27}, {"two", 26}, {"wide", 1086}}, "cut");
    for (const char* label : {"short", "t..", "", "wide"})
        EXPECT_NE(graph.find(">" + std::string(label) + "</text>"), std::string::npos) << label;
    EXPECT_EQ(graph.find(">..</text>"), std::string::npos);
}

TEST(FlameGraph, TellsWhatIsTooNarrow) {
    // 0.1 points of 1180 are 1 of 11,800.
    EXPECT_NE(flame_graph({{"a", 1}, {"b", 3}}, "parts").find("<title>a: 1 (25.00 %)</title>"),
              std::string::npos);
    const std::string all = flame_graph({{"a", 1}, {"b", 11799}}, "all"),
                      two = flame_graph({{"a", 1}, {"b;c", 30000}, {"d", 2}}, "two"),
                      one = flame_graph({{"a", 1}, {"b", 30000}}, "one"),
                      none = flame_graph({}, "none");
    EXPECT_NE(all.find("data-name=\"a\""), std::string::npos);
    EXPECT_EQ(all.find("too narrow"), std::string::npos);
    EXPECT_EQ(two.find("data-name=\"a\""), std::string::npos);
    EXPECT_NE(two.find(">2 functions are too narrow to be shown<"), std::string::npos);
    EXPECT_NE(one.find(">1 function is too narrow to be shown<"), std::string::npos);
    EXPECT_NE(none.find(">no samples<"), std::string::npos);
}

TEST(Svg, HasNoSignsThatXmlDoesNotAllow) {
    EXPECT_EQ(svg_escaped("a&b<c>d\"e'~ \x1f\x7f\xc3\xa4"), "a&amp;b&lt;c&gt;d&quot;e'~ ????");
    EXPECT_EQ(svg_number(1.5), "1.50");
    EXPECT_EQ(svg_number(-2.6, "%.0f"), "-3");
}

TEST_F(Formats, PprofHasTheTimesOfItsFirstAndLastStack) {
    const uint32_t only = format("%s\n", "k");
    open({"pprof:p"});
    record(only, 1300, stack({0x10}));
    record(only, 1400, stack({0x20}));
    record(only, 1900, stack({0x20}));
    close();
    EXPECT_EQ(read("pprof-times", "p", "r"), "(1700000000000000300, 600)\n");
}

TEST_F(Formats, PrintedBacktracesAreStacks) {
    meta_.formats.push_back({"%s|%d\n", "Bl"});
    open({"folded:f", "text:t"});
    // Without a table the symbols are addresses.
    record(DJS_RECORD_STACK, 1100, stack({9, 8}));
    record(0, 1200, stack({7}) + number(3));
    close();
    EXPECT_EQ(read("folded", "f", "r"), "{'0x0': 3, '0x0;0x0': 1}\n");
    EXPECT_EQ(*read_file(path("t")), " 0x0 : 0x0\n 0x0 : 0x0\n0x0\n|3\n");
}

TEST_F(Formats, WithoutStacksTheFilesAreEmptyButValid) {
    open({"folded:f", "svg:s", "pprof:p"});
    const std::string told = close();
    EXPECT_NE(told.find(path("s") + ": no call stack was printed"), std::string::npos) << told;
    EXPECT_EQ(read("folded", "f", "r") + read("svg", "s", "r") + read("pprof", "p", "r"),
              "{}\n{}\n{}\n");
}

TEST_F(Formats, CsvIsOneTable) {
    const uint32_t scalar = format("n=%d\n", "l", "n"),
                   element = format("a[%s,%d]=%s\n", "sls", "a", 2),
                   statistic = format("", "llllll", "s", 1), any = format("%d\n", "l");
    open({"csv:v"});
    record(scalar, 1100, number(-3));
    record(any, 1150, number(99));
    record(element, 1200, text("x,\"y\"\n") + number(1) + text(" one"));
    record(statistic, 1300, number(7) + number(2) + number(4) + number(6) + number(10) + number(5));
    EXPECT_EQ(close(), "");
    EXPECT_EQ(read("csv", "v", "\"\\n\".join(str([v for v in each.values()]) for each in r)"),
              "['map', 'n', '', '', '-3', '', '', '', '', '']\n"
              "['map', 'a', 'x,\"y\"\\n', '1', ' one', '', '', '', '', '']\n"
              "['stats', 's', '7', '', '', '2', '4', '6', '10', '5']\n");
    EXPECT_EQ(read("csv", "v", "list(r[0])"),
              "['kind', 'name', 'key1', 'key2', 'value', 'count', 'min', 'max', 'total', "
              "'average']\n");
}

TEST_F(Formats, JsonShowsCpuAndTimeOnRequest) {
    meta_.fields = DJS_EVENT_CPU | DJS_EVENT_TIME;
    const uint32_t any = format("x\n", ""), element = format("", "ll", "a", 1);
    open({"json:j"});
    record(any, 1100, "", 3);
    record(DJS_RECORD_TEXT, 1200, text("y"), 2);
    record(element, 1300, number(1) + number(2), 1);
    record(element, 1400, number(3) + number(4), 1);
    close();
    EXPECT_EQ(*read_file(path("j")),
              R"({"type":"printf","cpu":3,"time":1700000000000000100,"data":"x\n"})"
              "\n"
              R"({"type":"printf","cpu":2,"time":1700000000000000200,"data":"y"})"
              "\n"
              R"({"type":"map","cpu":1,"time":1700000000000000300,"data":{"a":{"1":2,"3":4}}})"
              "\n");
    EXPECT_EQ(read("json", "j", "len(r)"), "3\n");
}

// The elements of an array are one object, which ends where anything else follows.
TEST_F(Formats, JsonEndsAnArrayBeforeWhatFollows) {
    const uint32_t element = format("", "ll", "a", 1), any = format("x\n", ""),
                   scalar = format("", "l", "n");
    open({"json:j"});
    record(element, 1000, number(9) + number(9));
    record(scalar, 1050, number(3));
    record(element, 1100, number(1) + number(2));
    record(DJS_RECORD_ERROR, 1200, text("bad") + number(-1));
    record(element, 1300, number(3) + number(4));
    record(any, 1400, "");
    record(element, 1500, number(5) + number(6));
    record(DJS_RECORD_TEXT, 1600, text("y"));
    record(element, 1700, number(7) + number(8));
    close();
    EXPECT_EQ(read("json", "j", "[e[\"type\"] for e in r]"),
              "['map', 'map', 'map', 'runtime_error', 'map', 'printf', 'map', 'printf', 'map']\n");
    EXPECT_EQ(read("json", "j", "[e[\"data\"] for e in r[:3]]"),
              "[{'a': {'9': 9}}, {'n': 3}, {'a': {'1': 2}}]\n");
}

TEST_F(Formats, ErrorsAndWarningsAreEventsOfTraces) {
    open({"perfetto:t", "ctf:c"});
    record(DJS_RECORD_ERROR, 1100, text("bad") + number(-1));
    record(DJS_RECORD_WARNING, 1200, text("careful\n"));
    const std::string told = close();
    EXPECT_NE(told.find("WARNING: careful\n"), std::string::npos) << told;
    EXPECT_EQ(
        read("perfetto", "t",
             "[e[\"name\"] for e in r if \"careful\" in e[\"name\"] or \"bad\" in e[\"name\"]]"),
        "['error: bad', 'warning: careful']\n");
    EXPECT_EQ(
        read("ctf", "c", "len([l for l in r if l.startswith(\"warning: \") and \"careful\" in l])"),
        "1\n");
}

TEST_F(Formats, JsonQuotesWhatItsStringsContain) {
    open({"json:j"});
    const std::vector<std::string> texts = {"\"",       "\\",     "a\"", "\"b", "c\\d\"e", "\n",
                                            "\t\"\x1b", "\"\xff", "ä\"", "",    " ~"};
    for (const std::string& each : texts)
        record(DJS_RECORD_TEXT, 1200, text(each), 2);
    close();
    EXPECT_EQ(read("json", "j", "[e[\"data\"] for e in r]"),
              "['\"', '\\\\', 'a\"', '\"b', 'c\\\\d\"e', '\\n', '\\t\"\\x1b', '\"\uFFFD', 'ä\"', "
              "'', ' ~']\n");
}

TEST(ArgumentNames, ComeFromTheFormat) {
    const auto names = [](const char* text, const char* types) {
        std::string all;
        for (const std::string& name : argument_names({text, types}))
            all += name + " ";
        return all;
    };
    EXPECT_EQ(names("fd=%d path: \"%s\" %d 5%%=%d\n", "lsll"), "fd path arg3 arg4 ");
    EXPECT_EQ(names("a=%d a=%d arg4=%d %d", "llll"), "a arg2 arg4 arg4_ ");
    EXPECT_EQ(names("n=%*d %-8.3s|", "lls"), "arg1 n arg3 ");
    EXPECT_EQ(names("%", "l"), "arg1 ");
    EXPECT_EQ(names("9x=%d", "l"), "arg1 ");
}

TEST(Utf8, ReplacesWhatIsNot) {
    const std::string mark = "\xef\xbf\xbd";
    EXPECT_EQ(utf8("plain"), "plain");
    EXPECT_EQ(utf8("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    EXPECT_EQ(utf8("a\xff\xc3"), "a" + mark + mark);
    EXPECT_EQ(utf8("\xe2\x82z\xc0\x80"), mark + mark + "z" + mark + mark);
}

TEST(ProbedFunction, IsInThePoint) {
    bool returns = false;
    EXPECT_EQ(probed_function("kernel.function(\"f@a.c:1\").return", returns), "f");
    EXPECT_TRUE(returns);
    EXPECT_EQ(probed_function("module(\"m\").function(\"g\").call", returns), "g");
    EXPECT_FALSE(returns);
    EXPECT_EQ(probed_function("kernel.function(\"h\").return.maxactive(5)", returns), "h");
    EXPECT_TRUE(returns);
    for (const char* other :
         {"begin", "kernel.function(\"f", "kernel.function(\"f\").inline", "kernel.trace(\"x\")"})
        EXPECT_EQ(probed_function(other, returns), "") << other;
}

TEST(FunctionOf, IsWithoutOffsetAndModule) {
    EXPECT_EQ(function_of(" 0xffffffff81234567 : vfs_read+0x10/0x120 [kernel]\n"), "vfs_read");
    EXPECT_EQ(function_of("ext4_map+0x1 [ext4]"), "ext4_map");
    EXPECT_EQ(function_of("0x12"), "0x12");
    const std::string name = "int shop::Till::operator+<long>(char const*, long) const";
    EXPECT_EQ(function_of(" 0x55d1c0de1234 : " + name + "+0x10/0x120 [/tmp/a+0xb]"), name);
    EXPECT_EQ(function_of(name + "+0x10 [/tmp/till]\n"), name);
    EXPECT_EQ(function_of(" 0x55d1c0de1234 : 0x55d1c0de1234 [/tmp/bare+0x1234]\n"),
              "[/tmp/bare+0x1234]");
    EXPECT_EQ(function_of(""), "");
}

TEST(KernelSymbols, NamesTheFunctionOfAnAddress) {
    const KernelSymbols symbols("ffffffff81000000 T first\n"
                                "ffffffff81000010 t second\t[mod]\n"
                                "ffffffff81000018 d data\n"
                                "ffffffff81000010 T alias\n"
                                "0000000000000000 A hidden\n"
                                "broken\n");
    EXPECT_EQ(symbols.name_of(0xffffffff81000000), "first");
    EXPECT_EQ(symbols.name_of(0xffffffff8100000f), "first");
    EXPECT_EQ(symbols.name_of(0xffffffff81000019), "second");
    EXPECT_EQ(symbols.name_of(0xffffffff80ffffff), "");
    EXPECT_EQ(symbols.name_of(0xffffffff82000000), "");
    // The last function is taken for a megabyte at most.
    EXPECT_EQ(symbols.name_of(0xffffffff81000010 + (1 << 20)), "second");
    EXPECT_EQ(symbols.name_of(0xffffffff81000011 + (1 << 20)), "");
    EXPECT_EQ(KernelSymbols().name_of(1), "");
}

TEST_F(Formats, AReaderThatIsGoneEndsOnlyItsOutput) {
    const uint32_t any = format("x\n", "");
    const auto pipe = Pipe::open();
    ASSERT_TRUE(pipe);
    std::vector<std::unique_ptr<Output>> outputs;
    const FileDescriptor kept(::open(path("kept").c_str(), O_WRONLY | O_CREAT, 0600));
    Writer gone(pipe->writer.get(), "gone"), stays(kept.get(), "kept"), messages(-1, "none");
    outputs.push_back(make_json_output({.writer = gone, .messages = messages}));
    outputs.push_back(make_text_output({.writer = stays, .messages = messages}));
    OutputGroup group(std::move(outputs));
    const_cast<FileDescriptor&>(pipe->reader).reset();
    const auto before = signal(SIGPIPE, SIG_IGN);
    const Event event{0, 1, clock_, meta_.formats[any], ""};
    group.print(event);
    group.flush();
    EXPECT_FALSE(group.is_closed());
    group.print(event);
    group.flush();
    EXPECT_EQ(*read_file(path("kept")), "x\nx\n");
    signal(SIGPIPE, before);
}

TEST_F(Formats, TwoNamesOfAFileAreOneFile) {
    ASSERT_TRUE(write_file(path("a"), "kept"));
    fs::create_symlink(path("a"), path("b"));
    OutputChoice choice;
    choice.requests = {*parse_output("json:" + path("a")), *parse_output("csv:" + path("b"))};
    const auto opened = open_outputs(choice);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.failure().message,
              "--output=csv:" + path("b") + ": another output writes to " + path("b") + ", too");
    EXPECT_EQ(*read_file(path("a")), "kept");
}

TEST(OutputRequests, SayWhatIsMissing) {
    const auto failure = [](const std::string& text) { return parse_output(text).failure(); };
    EXPECT_EQ(failure("json:").message, "--output=json:: the name of the file is missing");
    EXPECT_EQ(failure("json:").hint,
              "--output=json:FILE, or without the colon for standard output");
    EXPECT_EQ(failure("jsom").hint, "did you mean 'json'?");
    EXPECT_EQ(failure("x:y").hint, "the format comes first: --output=FORMAT:FILE");
    EXPECT_EQ(parse_output("json:a:b")->file, "a:b");
    EXPECT_EQ(parse_output("json")->file, "");
    OutputChoice choice;
    choice.requests = {*parse_output("ctf")};
    const Status folder = check_outputs(choice);
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.failure().hint, "name one: --output=ctf:FOLDER");
    choice.requests = {*parse_output("json:a"), *parse_output("csv:b")};
    EXPECT_TRUE(check_outputs(choice));
    choice.file = "c";
    EXPECT_EQ(check_outputs(choice).failure().message, "-o c: each output has a file of its own");
    choice.requests.push_back(*parse_output("text"));
    EXPECT_TRUE(check_outputs(choice));
    // Two outputs of one file, and of standard output.
    choice.requests = {*parse_output("json:c"), *parse_output("text")};
    EXPECT_FALSE(check_outputs(choice));
    choice.requests = {*parse_output("json"), *parse_output("text:d")};
    EXPECT_TRUE(check_outputs(choice));
    choice = {};
    choice.requests = {*parse_output("json:a"), *parse_output("csv:a")};
    EXPECT_FALSE(check_outputs(choice));
    choice.requests = {*parse_output("json"), *parse_output("text")};
    EXPECT_FALSE(check_outputs(choice));
}

TEST_F(Formats, PlacesThatCannotBeWrittenHaveHints) {
    ASSERT_TRUE(write_file(path("file"), ""));
    fs::create_directory(path("folder"));
    const auto hint = [&](const std::string& kind, const std::string& file) {
        OutputChoice choice;
        choice.requests = {*parse_output(kind + ":" + path(file))};
        const auto opened = open_outputs(choice);
        return opened ? "opened" : opened.failure().hint;
    };
    EXPECT_EQ(hint("json", "folder"), "name a file, not a folder");
    EXPECT_EQ(hint("json", "none/file"),
              "its folder does not exist: create it, or name another file");
    EXPECT_EQ(hint("ctf", "file"), "name a folder");
    EXPECT_EQ(hint("ctf", "none/folder"),
              "its folder does not exist: create it, or name another file");
    EXPECT_EQ(hint("ctf", "folder"), "opened");
}

TEST_F(Formats, FilesOfAnotherProcessAreWrittenInPieces) {
    const uint32_t any = format("x\n", "");
    SessionOptions options;
    options.outputs.channels = path("channels");
    options.outputs.requests = {{&text_kind(), "/nowhere/1"}, {&output_kinds()[1], "/nowhere/2"}};
    auto opened = SessionOutput::open(options);
    ASSERT_TRUE(opened);
    (*opened)->output().print({0, 1, clock_, meta_.formats[any], ""});
    ASSERT_TRUE((*opened)->end());
    const std::string json = "{\"type\":\"printf\",\"data\":\"x\\n\"}\n";
    const PieceHeader first{0, 2}, second{1, static_cast<uint32_t>(json.size())};
    EXPECT_EQ(*read_file(path("channels")),
              bytes_of(&first, sizeof first) + "x\n" + bytes_of(&second, sizeof second) + json);
}

// Which output it is, its reader knows from the options that it has given.
TEST_F(Formats, TheOnlyFileOfAnotherProcessIsText) {
    const uint32_t any = format("x\n", "");
    SessionOptions options;
    options.outputs.channels = path("channels");
    options.outputs.file = "/nowhere/1";
    auto opened = SessionOutput::open(options);
    ASSERT_TRUE(opened) << opened.failure().message;
    (*opened)->output().print({0, 1, clock_, meta_.formats[any], ""});
    ASSERT_TRUE((*opened)->end());
    const PieceHeader header{0, 2};
    EXPECT_EQ(*read_file(path("channels")), bytes_of(&header, sizeof header) + "x\n");
}

} // namespace
} // namespace djstap
