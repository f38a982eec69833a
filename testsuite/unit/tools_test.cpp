// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/command_line.h"
#include "tools/header.h"

#include <array>
#include <gtest/gtest.h>

namespace djstap {
namespace {

constexpr const char* header_text = R"(// SPDX-License-Identifier: GPL-2.0-or-later
// @tool files: what is counted
// A paragraph of
// two lines.
//
// Another.
//
// @argument FUNCTION: the function
// @option interval seconds: the time
//     between two tables
# @option longer-than microseconds: the least
// @option rows integer: how many
// @option who text: a name
// @option process pid: a process
// @option failed flag: only failures
// @column US: microseconds
// @cost: little
// @example -c make -- vfs_read
// @example

// This is no longer read as prose.
global interval = 1
// @option late integer: behind the header
)";

class ToolTest : public testing::Test {
  protected:
    std::optional<ToolHeader> read(const std::string& text) {
        return read_header(sources, sources.add("x.stp", text), diagnostics);
    }
    std::optional<ToolRequest> request(std::vector<std::string> words) {
        const auto header = read(header_text);
        EXPECT_TRUE(header);
        return header ? parse_request(*header, "x", std::move(words), diagnostics) : std::nullopt;
    }
    // Returns what global the words set to, behind the argument that is needed.
    std::string value(std::vector<std::string> words) {
        words.insert(words.begin(), "vfs_read");
        const auto found = request(std::move(words));
        if (!found || found->global_values.size() != 1)
            return "";
        return found->global_values[0].first + "=" + found->global_values[0].second;
    }
    // Returns the last diagnostic: its place, message, tag and hint.
    std::string last() {
        if (diagnostics.all().empty())
            return "";
        const Diagnostic& each = diagnostics.all().back();
        return (each.range.valid() ? sources.where(each.range) + ": " : "") + each.message + " [" +
               std::string(info(each.kind).tag) + "] " + each.hint_text;
    }
    SourceManager sources;
    Diagnostics diagnostics{sources};
};

TEST_F(ToolTest, ReadsEveryPartOfAHeader) {
    const auto header = read(header_text);
    ASSERT_TRUE(header) << last();
    EXPECT_EQ(header->subject, "files");
    EXPECT_EQ(header->summary, "what is counted");
    EXPECT_EQ(header->description, "A paragraph of two lines.\n\nAnother.");
    ASSERT_EQ(header->options.size(), 6u);
    EXPECT_EQ(header->options[0].text, "the time between two tables");
    EXPECT_EQ(header->options[1].name, "longer-than");
    EXPECT_EQ(header->options[1].global(), "longer_than");
    EXPECT_EQ(header->options[1].type, ToolType::Microseconds);
    EXPECT_EQ(header->arguments.at(0).name, "FUNCTION");
    EXPECT_EQ(header->columns.at(0).text, "microseconds");
    EXPECT_EQ(header->cost, "little");
    EXPECT_EQ(header->examples, (std::vector<std::string>{"-c make -- vfs_read", ""}));
}

// Comments of both kinds, with a blank or without.
TEST_F(ToolTest, AHeaderIsMadeOfComments) {
    const auto header =
        read("#@tool disk: what\n//\n#The text\n//of it.\n#\n//@cost: much\nglobal x\n");
    ASSERT_TRUE(header) << last();
    EXPECT_EQ(header->subject, "disk");
    EXPECT_EQ(header->cost, "much");
    EXPECT_EQ(header->description, "The text of it.");
}

TEST_F(ToolTest, MalformedHeadersAreReportedAtTheirPlace) {
    const std::pair<const char*, const char*> cases[] = {
        {"probe begin {}\n", "x.stp:1:1: the script has no line // @tool SUBJECT: WHAT IT ANSWERS "
                             "[not-a-tool] without it, a script is run by its file name alone: "
                             "djstap FILE"},
        {"// @tool files\n",
         "x.stp:1:4: this line says nothing [tool-header] // @tool SUBJECT: WHAT IT ANSWERS"},
        {"// @optoin a integer: b\n", "x.stp:1:4: there is no '@optoin' in a script's header "
                                      "[tool-header] did you mean '@option'?"},
        {"// @option a intger: b\n",
         "x.stp:1:14: 'intger' is not a type [tool-header] did you mean 'integer'?"},
        {"// @option a: b\n",
         "x.stp:1:12: the option has no type [tool-header] the types are "
         "integer, text, pid, flag, output, nanoseconds, microseconds, milliseconds, "
         "seconds"},
        {"// @option A integer: b\n", "x.stp:1:12: 'A' is not a name of an option [tool-header] a "
                                      "name consists of small letters, digits and -"},
        {"// @option help flag: b\n",
         "x.stp:1:12: there are two options --help [tool-header] every tool has --help"},
        {"// @option a flag: b\n// @option a flag: c\n",
         "x.stp:2:12: there are two options --a [tool-header] "},
        {"// @cost:\n",
         "x.stp:1:4: this line says nothing [tool-header] // @cost: WHAT A HIT COSTS"},
        {"// @column X:\n",
         "x.stp:1:4: this line says nothing [tool-header] // @column NAME: WHAT IT IS"},
    };
    for (const auto& [text, expected] : cases) {
        EXPECT_FALSE(read(text)) << text;
        EXPECT_EQ(last(), expected) << text;
    }
}

TEST_F(ToolTest, ValuesAreConvertedByTheirTypes) {
    EXPECT_EQ(value({"--interval", "2"}), "interval=2");
    EXPECT_EQ(value({"--interval=2s"}), "interval=2");
    EXPECT_EQ(value({"--interval", "3min"}), "interval=180");
    EXPECT_EQ(value({"--interval", "1h"}), "interval=3600");
    EXPECT_EQ(value({"--interval", "4000ms"}), "interval=4");
    EXPECT_EQ(value({"--longer-than", "1.5s"}), "longer_than=1500000");
    EXPECT_EQ(value({"--longer-than", "0.25ms"}), "longer_than=250");
    EXPECT_EQ(value({"--longer-than", "2.0"}), "longer_than=2");
    EXPECT_EQ(value({"--longer-than", "2ms"}), "longer_than=2000");
    EXPECT_EQ(value({"--longer-than", "7000ns"}), "longer_than=7");
    EXPECT_EQ(value({"--rows", "-5"}), "rows=-5");
    EXPECT_EQ(value({"--rows", "1", "--rows", "2"}), "rows=2");
    EXPECT_EQ(value({"--who", "a b"}), "who=a b");
    EXPECT_EQ(value({"--who", ""}), "who=");
    EXPECT_EQ(value({"--who="}), "who=");
    EXPECT_EQ(value({"--process", "17"}), "process=17");
    EXPECT_EQ(value({"--process", "1"}), "process=1");
    EXPECT_EQ(value({"--process", "4194304"}), "process=4194304"); // the kernel's largest
    EXPECT_EQ(value({"--failed"}), "failed=1");
    EXPECT_EQ(value({"--failed=no"}), "failed=0");
    EXPECT_FALSE(diagnostics.has_errors()) << last();
}

TEST_F(ToolTest, FilesOfOutputsAreRequested) {
    const auto header =
        read("// @tool a: b\n// @option svg output: a graph\n// @option csv output: a table\n");
    ASSERT_TRUE(header);
    const auto found = parse_request(*header, "x", {"--svg", "a b.svg"}, diagnostics);
    ASSERT_TRUE(found) << last();
    EXPECT_EQ(found->outputs, std::vector<std::string>{"svg:a b.svg"});
    ASSERT_EQ(found->global_values.size(), 1u);
    EXPECT_EQ(found->global_values[0], std::pair(std::string("svg"), std::string("1")));
    EXPECT_NE(help_text(*header, "x").find("--svg FILE  a graph (output)"), std::string::npos);
    EXPECT_FALSE(parse_request(*header, "x", {"--csv="}, diagnostics));
    EXPECT_EQ(last(),
              "x.stp:3:12: --csv : the name of the file is missing [tool-value] --csv FILE");
}

TEST_F(ToolTest, ValuesThatDoNotFitAreReportedAtTheDeclaration) {
    const auto malformed = [](const std::string& text) {
        return "x.stp:9:12: --interval " + text +
               ": it is not a duration [tool-value] a duration is a number with ns, us, ms, s, min "
               "or h: 500ms";
    };
    const std::pair<const char*, std::string> cases[] = {
        {"--interval=x", malformed("x")},
        {"--interval=2m", malformed("2m")},
        {"--interval=.5s", malformed(".5s")},
        {"--interval=1.s", malformed("1.s")},
        {"--interval=1.2.3s", malformed("1.2.3s")},
        {"--interval=1.00000000000000000000s", malformed("1.00000000000000000000s")},
        {"--interval=1.1234567890123h", malformed("1.1234567890123h")},
        {"--longer-than=1.0000001ms", "x.stp:11:11: --longer-than 1.0000001ms: it is not a whole "
                                      "number of microseconds [tool-value] "},
        {"--interval=1500ms", "x.stp:9:12: --interval 1500ms: it is not a whole number of seconds "
                              "[tool-value] "},
        {"--interval=9999999h",
         "x.stp:9:12: --interval 9999999h: it is longer than 292 years [tool-value] "},
        {"--rows=1k", "x.stp:12:12: --rows 1k: it is not a whole number [tool-value] such as 10"},
        {"--process=0", "x.stp:14:12: --process 0: it is not a process ID [tool-value] pgrep NAME "
                        "prints that of a program"},
        {"--process=4194305", "x.stp:14:12: --process 4194305: it is not a process ID [tool-value] "
                              "pgrep NAME prints that of a program"},
        {"--failed=maybe", "x.stp:15:12: --failed maybe: it is neither yes nor no [tool-value] "
                           "--failed alone means yes"},
        {"--intervall=1", "x has no option --intervall [tool-option] did you mean '--interval'?"},
        {"--zzzzzz",
         "x has no option --zzzzzz [tool-option] djstap --example x -- --help lists its "
         "options"},
        {"more", "x: 'more' is more than the arguments that it takes [tool-option] djstap "
                 "--example x -- --help lists its options"},
    };
    for (const auto& [word, expected] : cases) {
        EXPECT_FALSE(request({"vfs_read", word})) << word;
        EXPECT_EQ(last(), expected) << word;
    }
    EXPECT_FALSE(request({"--rows=3"}));
    EXPECT_EQ(last(), "x needs an argument FUNCTION: the function [tool-option] djstap --example x "
                      "-- --help lists its options");
    EXPECT_FALSE(request({"vfs_read", "--rows"}));
    EXPECT_NE(last().find("--rows"), std::string::npos);
}

TEST_F(ToolTest, HelpNeedsNoArguments) {
    const auto found = request({"--help", "--rows=x"});
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->help);
}

TEST_F(ToolTest, InitialValuesComeFromTheGlobals) {
    auto header = read("// @tool a: b\n// @option interval seconds: c\n// @option who text: d\n"
                       "// @option failed flag: e\n");
    ASSERT_TRUE(header);
    ast::File script;
    auto add = [&](const char* name, ast::ExpressionPtr initial) {
        ast::Global& global = script.globals.emplace_back();
        global.name = name;
        global.initial = std::move(initial);
    };
    auto two = std::make_unique<ast::NumberLiteral>(SourceRange());
    two->value = 2;
    add("interval", std::move(two));
    add("who", std::make_unique<ast::StringLiteral>(SourceRange()));
    add("failed", std::make_unique<ast::StringLiteral>(SourceRange()));
    EXPECT_FALSE(take_globals(*header, script, diagnostics));
    EXPECT_EQ(last(), "x.stp:4:12: the option --failed has no global variable 'failed' with a "
                      "number as initial value [tool-header] declare it in the script: global "
                      "failed = 0");
    script.globals.back().initial = std::make_unique<ast::NumberLiteral>(SourceRange());
    EXPECT_TRUE(take_globals(*header, script, diagnostics));
    EXPECT_EQ(header->options[0].initial, "2s");
    EXPECT_EQ(header->options[1].initial, "\"\"");
    // Without a unit where that says nothing.
    for (const auto& [number, shown] : {std::pair{0, "0"}, {1, "1s"}}) {
        auto literal = std::make_unique<ast::NumberLiteral>(SourceRange());
        literal->value = number;
        script.globals[0].initial = std::move(literal);
        EXPECT_TRUE(take_globals(*header, script, diagnostics));
        EXPECT_EQ(header->options[0].initial, shown);
    }
    script.globals.pop_back();
    EXPECT_FALSE(take_globals(*header, script, diagnostics));
}

TEST_F(ToolTest, HelpFitsAHundredColumns) {
    const std::string half(49, 'x'), more(50, 'y'), cost(46, 'c'), last(47, 'd');
    auto header = read("// @tool a: b\n// " + half + "\n// " + more + "\n//\n// " + half +
                       "\n// y" + more + "\n// @cost: " + cost + "\n//   " + last + "\n");
    ASSERT_TRUE(header);
    const std::string help = help_text(*header, "x");
    EXPECT_NE(help.find("\n" + half + " " + more + "\n"), std::string::npos) << help;
    EXPECT_NE(help.find("\n" + half + "\ny" + more + "\n"), std::string::npos) << help;
    EXPECT_NE(help.find("\nCost: " + cost + " " + last + "\n"), std::string::npos) << help;
    header->cost = cost + " d" + last;
    EXPECT_NE(help_text(*header, "x").find("\nCost: " + cost + "\nd" + last + "\n"),
              std::string::npos);
}

TEST_F(ToolTest, HelpNamesEverything) {
    auto header = read(header_text);
    ASSERT_TRUE(header);
    for (size_t i = 0; i < 6; i++)
        header->options[i].initial = std::array{"1s", "0", "10", "\"\"", "7", "1"}[i];
    EXPECT_EQ(help_text(*header, "djstap --example x"), R"(what is counted

Usage: djstap --example x [OPTIONS of djstap] -- FUNCTION [OPTIONS]

A paragraph of two lines.

Another.

Arguments:
  FUNCTION  the function

Options:
  --interval DURATION     the time between two tables (seconds, default: 1s)
  --longer-than DURATION  the least (microseconds, default: 0)
  --rows NUMBER           how many (integer, default: 10)
  --who TEXT              a name (text, default: "")
  --process PID           a process (pid, default: 7)
  --failed                only failures (flag, default: yes)

Output:
  US  microseconds

Cost: little

Examples:
  djstap --example x -c make -- vfs_read
  djstap --example x
)");
    header->options[5].initial = "0";
    EXPECT_NE(help_text(*header, "x").find("  only failures (flag)\n"), std::string::npos);
    // What a script does not have is left out.
    auto bare = read("// @tool files: what is counted\n");
    ASSERT_TRUE(bare);
    EXPECT_EQ(help_text(*bare, "x"), "what is counted\n\nUsage: x [OPTIONS of djstap]\n");
    bare->arguments.push_back({"A", "one"});
    EXPECT_EQ(help_text(*bare, "x"), "what is counted\n\nUsage: x [OPTIONS of djstap] -- A\n\n"
                                     "Arguments:\n  A  one\n");
}

} // namespace
} // namespace djstap
