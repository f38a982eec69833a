// SPDX-License-Identifier: GPL-2.0-or-later
// Macros, conditionals and script arguments.
#include "parsing.h"

using namespace djstap;
using namespace djstap::test;

namespace {

std::string chosen(const std::string& condition, Parsing parsing = {}) {
    auto parsed = parsing.parse("%( " + condition + " %? global yes %: global no %)");
    return parsed.file ? parsed.text : parsed.diagnostics;
}
constexpr const char* yes = "global yes\n";
constexpr const char* no = "global no\n";

} // namespace

TEST(Conditionals, KernelVersions) {
    EXPECT_EQ(chosen("kernel_v >= \"2.6.32\""), yes);
    EXPECT_EQ(chosen("kernel_v < \"6.1\""), no);
    EXPECT_EQ(chosen("kernel_v == \"6.1.0\""), yes);
    EXPECT_EQ(chosen("kernel_v < \"6.12\""), yes);
    EXPECT_EQ(chosen("kernel_vr == \"6.1.0-*-cloud-amd64\""), yes);
    EXPECT_EQ(chosen("kernel_vr != \"6.[23]*\""), yes);
    EXPECT_EQ(chosen("kernel_vr > \"6.1.0-9\""), yes);
}

TEST(Conditionals, WhatElseCanBeAsked) {
    EXPECT_EQ(chosen("arch == \"x86_64\""), yes);
    EXPECT_EQ(chosen("arch != \"x86*\""), no);
    EXPECT_EQ(chosen("CONFIG_SMP == \"y\""), yes);
    EXPECT_EQ(chosen("CONFIG_NONE == \"\""), yes);
    EXPECT_EQ(chosen("CONFIG_HZ >= 100"), yes);
    EXPECT_EQ(chosen("CONFIG_HZ >= CONFIG_NONE"), yes);
    EXPECT_EQ(chosen("systemtap_v >= \"2.10\""), yes);
    EXPECT_EQ(chosen("systemtap_privilege == \"stapdev\""), yes);
    EXPECT_EQ(chosen("guru_mode == 0"), yes);
    EXPECT_EQ(chosen("runtime == \"kernel\""), yes);
}

// As numbers if both are.
TEST(Conditionals, TwoOptions) {
    auto compared = [](const std::string& a, const std::string& op, const std::string& b) {
        Parsing parsing;
        parsing.context.kernel_config = [&](const std::string& name) {
            return name == "CONFIG_A" ? a : name == "CONFIG_B" ? b : "";
        };
        return chosen("CONFIG_A " + op + " CONFIG_B", parsing);
    };
    EXPECT_EQ(compared("9", "<", "10"), yes);
    EXPECT_EQ(compared("10", "<", "10"), no);
    EXPECT_EQ(compared("10", "<=", "10"), yes);
    EXPECT_EQ(compared("010", "==", "10"), yes);
    EXPECT_EQ(compared("9000000000000000000", "<", "9100000000000000000"), yes);
    EXPECT_EQ(compared("x9", "<", "x10"), no);
    EXPECT_EQ(compared("9", "<", "1x"), no);
    EXPECT_EQ(compared("y", "==", "y"), yes);
    EXPECT_EQ(compared("y", "!=", "m"), yes);
    EXPECT_EQ(compared("m", "<", "y"), yes);
    EXPECT_EQ(compared("", "<", "1"), yes);
    EXPECT_EQ(compared("", "==", ""), yes);
}

TEST(Conditionals, EachComparison) {
    for (const auto& [op, results] : {std::pair("<", "ynn"),
                                      {"<=", "yyn"},
                                      {">", "nny"},
                                      {">=", "nyy"},
                                      {"==", "nyn"},
                                      {"!=", "yny"}})
        for (const char* quote : {"", "\""}) {
            const std::string two = std::string(quote) + "2" + quote;
            const char* numbers[] = {"3", "2", "1"};
            for (int i = 0; i < 3; i++)
                EXPECT_EQ(chosen(two + " " + op + " " + quote + numbers[i] + quote),
                          results[i] == 'y' ? yes : no)
                    << op << numbers[i];
        }
    for (const auto& [op, results] : {std::pair("<", "nny"),
                                      {"<=", "nyy"},
                                      {">", "ynn"},
                                      {">=", "yyn"},
                                      {"==", "nyn"},
                                      {"!=", "yny"}}) {
        const char* versions[] = {"6.0.9", "6.1.0", "6.1.1"};
        for (int i = 0; i < 3; i++)
            EXPECT_EQ(chosen("kernel_v " + std::string(op) + " \"" + versions[i] + "\""),
                      results[i] == 'y' ? yes : no)
                << op << versions[i];
    }
}

TEST(Conditionals, LiteralsAndConnectives) {
    EXPECT_EQ(chosen("1 < 2"), yes);
    EXPECT_EQ(chosen("2 < 1"), no);
    EXPECT_EQ(chosen("\"a\" < \"b\""), yes);
    EXPECT_EQ(chosen("1 == 2 && 1 == 1 || 3 == 3"), yes);
    EXPECT_EQ(chosen("3 == 3 || 1 == 1 && 1 == 2"), yes);
    EXPECT_EQ(chosen("1 == 1 && 1 == 2"), no);
}

TEST(Conditionals, BranchesNestAndMayHoldAnything) {
    Parsing parsing;
    EXPECT_EQ(parsing.parse("%( 1 == 2 %? **ERROR** ' @nothing $7 %)global a").text, "global a\n");
    EXPECT_EQ(parsing.parse("global a = %( 1 == 1 %? %( 1 == 2 %? 5 %: 6 %) %: 7 %)").text,
              "global a = 6\n");
    EXPECT_EQ(
        parsing.parse("probe kernel.function(%( arch == \"i?86\" %? \"a\" %: \"b\" %)) {}").text,
        "probe kernel.function(\"b\") {}\n");
    EXPECT_EQ(parsing.parse("%( 1 == 2 %? global a %)").text, "");
}

TEST(Arguments, AreWordsOrStrings) {
    Parsing parsing;
    parsing.context.arguments = {"5", "a \"b\" \\n", "kernel.function(\"f\")", "-3"};
    EXPECT_EQ(parsing.parse("global a = $1, b = @1, c = $#, d = @#, e = $4").text,
              "global a = 5\nglobal b = \"5\"\nglobal c = 4\nglobal d = \"4\"\nglobal e = -3\n");
    EXPECT_EQ(parsing.parse("global a = @2").text, "global a = \"a \\\"b\\\" \\\\n\"\n");
    EXPECT_EQ(parsing.parse("global a = \"<\" @1 \">\"").text, "global a = \"<5>\"\n");
    EXPECT_EQ(parsing.parse("probe $3.return {}").text, "probe kernel.function(\"f\").return {}\n");
    EXPECT_EQ(parsing.parse("%( $# > 3 && $1 == 5 && @1 == \"5\" %? global a %)").text,
              "global a\n");
    EXPECT_EQ(parsing.parse("%( $# > 5 %? global a = $6 %: global b %)").text, "global b\n");
}

TEST(Arguments, ThatAreNotGivenAreErrors) {
    Parsing parsing;
    parsing.context.arguments = {"5"};
    EXPECT_EQ(parsing.parse("global a = $0000000001").text, "global a = 5\n");
    const std::string none = "hint: arguments are numbered from 1";
    const std::string few =
        "hint: arguments follow the script; -- stands before those that begin with -";
    for (const auto& [argument, hint] :
         {std::pair("$0", none), std::pair("@0000000", none), std::pair("$2", few),
          std::pair("@999999", few), std::pair("$1000000", few),
          std::pair("@99999999999999999999999999999999", few)}) {
        const Parsed parsed = parsing.parse("global a = " + std::string(argument));
        EXPECT_EQ(parsed.errors, 1u) << argument;
        EXPECT_NE(parsed.diagnostics.find(argument + std::string(" refers to a script argument")),
                  std::string::npos)
            << parsed.diagnostics;
        EXPECT_NE(parsed.diagnostics.find("there is 1"), std::string::npos) << parsed.diagnostics;
        EXPECT_NE(parsed.diagnostics.find(hint), std::string::npos) << parsed.diagnostics;
    }
}

// However many words it has.
TEST(Arguments, HaveThePlaceOfTheirUse) {
    Parsing parsing;
    parsing.context.arguments = {"1 + (2 + 3) )", "abc . def", "\"a\\qb\""};
    EXPECT_NE(diagnostics_of("probe x { y = $1 }", 1, parsing).find("t.stp:1:15: error"),
              std::string::npos);
    const Parsed good = parsing.parse("probe x { y = $2 }");
    ASSERT_TRUE(good.file);
    const auto& value = ast::as<ast::Binary>(
        *ast::as<ast::Assignment>(
             *ast::as<ast::ExpressionStatement>(*good.file->probes[0].body->statements[0])
                  .expression)
             .value);
    for (const SourceRange range :
         {value.range, value.op_range, value.left->range, value.right->range})
        EXPECT_EQ(parsing.sources.text(range), "$2");
    EXPECT_NE(parsing.parse("probe x { y = $3 }").diagnostics.find("t.stp:1:15: warning"),
              std::string::npos);
}

TEST(Macros, ExpandWithAndWithoutParameters) {
    EXPECT_EQ(canonical("@define one %( 1 %) global a = @one"), "global a = 1\n");
    EXPECT_EQ(canonical("@define none() %( 2 %) global a = @none()"), "global a = 2\n");
    EXPECT_EQ(canonical("@define add(a, b) %( ((@a) + (@b)) %)\nprobe x { y = @add(1, f(2, 3)) * "
                        "@add(@add(1, 2), z) }"),
              "probe x {\n    y = (1 + f(2, 3)) * (1 + 2 + z);\n}\n");
    EXPECT_EQ(canonical("@define if_one(x) %( %( @x == 1 %? 10 %: 20 %) %)\nglobal a = @if_one(1), "
                        "b = @if_one(2)"),
              "global a = 10\nglobal b = 20\n");
    // A parameter has precedence over an operator of the same name.
    EXPECT_EQ(canonical("@define m(count) %( @count + 1 %) probe x { y = @m(5) @count(z) }"),
              "probe x {\n    y = 5 + 1;\n    @count(z);\n}\n");
    EXPECT_EQ(canonical("@define put(a) %( if (1) { @a } %) probe x { @put(y = 1 z[1, 2] = 3) }"),
              "probe x {\n    if (1) {\n        y = 1;\n        z[1, 2] = 3;\n    }\n}\n");
}

TEST(Macros, PublicOnesComeFromFilesOfTheirOwn) {
    Parsing parsing;
    ASSERT_TRUE(parsing.parse_macros(
        "@define two %( 2 %)\n%( kernel_v >= \"3\" %? @define v %( 3 %) %: @define v %( 4 %) %)"));
    EXPECT_EQ(parsing.parse("global a = @two, b = @v").text, "global a = 2\nglobal b = 3\n");
    // The file's own definition has precedence.
    EXPECT_EQ(parsing.parse("@define two %( 22 %) global a = @two").text, "global a = 22\n");
}

TEST(Macros, RangesNameTheUse) {
    Parsing parsing;
    auto parsed = parsing.parse("@define m(a) %( f(@a) + 1 %)\nprobe x { y = @m(abc) }");
    ASSERT_TRUE(parsed.file);
    const auto& statement =
        ast::as<ast::ExpressionStatement>(*parsed.file->probes[0].body->statements[0]);
    EXPECT_EQ(parsing.sources.text(statement.expression->range), "y = @m(abc)");
    const auto& sum = ast::as<ast::Binary>(*ast::as<ast::Assignment>(*statement.expression).value);
    ASSERT_NE(sum.range.expansion, 0u);
    EXPECT_EQ(parsing.sources.expansion(sum.range.expansion).macro, "m");
    EXPECT_EQ(parsing.sources.text(parsing.sources.expansion(sum.range.expansion).use), "@m(abc)");
    const auto& argument = *ast::as<ast::Call>(*sum.left).arguments[0];
    EXPECT_EQ(argument.range.expansion, 0u);
    EXPECT_EQ(parsing.sources.position(argument.range).line, 2u);
}

TEST(Macros, ExpansionIsBounded) {
    std::string script = "@define m0 %( 1 + %)\n";
    for (int i = 1; i < 40; i++)
        script += "@define m" + std::to_string(i) + " %( @m" + std::to_string(i - 1) + " @m" +
                  std::to_string(i - 1) + " %)\n";
    std::string text = diagnostics_of(script + "probe x { y = @m39 1 }");
    EXPECT_NE(text.find("[macro-too-large]"), std::string::npos) << text;
}
