// SPDX-License-Identifier: GPL-2.0-or-later
// What looks at a whole program gets to each of its parts.
#include "dumps.h"

#include "semantics/walk.h"

namespace djstap::test {
namespace {

using program::ExpressionKind;

// Each number 77 that a statement has is found, whatever is around it.
TEST(SemanticsWalks, ReachEachPart) {
    SemanticsOptions options;
    options.guru = options.keep_unused = true;
    for (const char* statement : {
             "n = 77",
             "n += 77",
             "n = -77",
             "n = !77",
             "n = 77 + 77",
             "n = 77 < 77",
             "n = 77 && 77",
             "n = 77 || 77",
             "n = 77 ? 77 : 77",
             "s = sprint(77) . sprint(77)",
             "n = sprint(77) =~ \"7\"",
             "a[77] = 77",
             "a[77]++",
             "h[77] <<< 77",
             "n = f(77, 77)",
             "printf(\"%d%*d\", 77, 77, 77)",
             "n = @count(h[77])",
             "n = @hist_log(h[77])[77]",
             "print(@hist_log(h[77]))",
             "n = 77 in @hist_log(h[1])",
             "n = $x->y[77]",
             "$x->y[77] = 77",
             "n = @cast(77, \"t\")->a[77]",
             "n = @defined($x[77])",
             "n = @kderef(8, 77)",
             "n = 77 in a",
             "n = [77, *] in b",
             "n = [*, 77] in b",
             "delete a[77]",
             "delete b[*, 77]",
             "if (77) n = 77; else n = 77",
             "while (77) n = 77",
             "for (n = 77; 77; n = 77) n = 77",
             "foreach (k in a limit 77) n = 77",
             "foreach ([k, l] in b[77, *]) n = 77",
             "foreach (k in @hist_log(h[77])) n = 77",
             "try { n = 77 } catch { n = 77 }",
             "{ n = 77; { n = 77 } }",
         }) {
        const Analysis analysis(
            std::string("global a, b, h, s, n function f(x, y) { if (x) return 77; return 77 } "
                        "probe kernel.function(\"f\") { ") +
                statement +
                " } probe timer.s(1) { n = f(1, 2); s = \"\"; a[1] = 2; b[1, 2] = 3; h[1] <<< 1 }",
            options);
        ASSERT_TRUE(analysis.program) << statement << "\n" << analysis.errors();
        const auto found_in = [](program::Statement& body) {
            size_t found = 0;
            program::walk_expressions(body, [&](program::Expression& node) {
                found += node.kind == ExpressionKind::Number &&
                         program::as<program::Number>(node).value == 77;
            });
            return found;
        };
        size_t written = 0;
        const std::string_view text = statement;
        for (size_t at = 0; (at = text.find("77", at)) != std::string_view::npos; at += 2)
            written++;
        EXPECT_EQ(found_in(*analysis.program->probes.at(0)->body), written) << statement;
        EXPECT_EQ(found_in(*analysis.program->functions.at(0)->body), 2U);
    }
}

// What C code reads is not left out.
TEST(SemanticsWalks, CodeInCUsesItsParameters) {
    SemanticsOptions options;
    options.guru = true;
    const auto keeps = [&](const std::string& rest) {
        const Analysis analysis(
            "function f(y) { y = 5; " + rest + " } probe begin { f(1); println(2) }", options);
        EXPECT_TRUE(analysis.program) << analysis.errors();
        return analysis.dump().find("    y = 5\n") != std::string::npos;
    };
    EXPECT_TRUE(keeps("return %{ STAP_ARG_y %}"));
    EXPECT_TRUE(keeps("%{ use(STAP_ARG_y); %}"));
    EXPECT_FALSE(keeps("return %{ 1 %}"));
    EXPECT_FALSE(keeps("%{ use(1); %}"));
}

TEST(SemanticsWalks, FunctionsAreKeptWhereverTheyAreCalled) {
    const auto keeps = [](const std::string& script) {
        const Analysis analysis("global a, b, h, n function one() { return n } " + script +
                                " probe timer.s(9) { n = 1; a[1] = 2; b[1, 2] = 3; h[1] <<< 1 }");
        EXPECT_TRUE(analysis.program) << script << "\n" << analysis.errors();
        return analysis.dump().find("function one()") != std::string::npos;
    };
    for (const char* script :
         {"probe timer.s(1) if (one()) { exit() }",
          "probe kernel.function(\"f\").return { println(@entry(one())) }",
          "probe kernel.function(\"f\").return { println($x->y[one()]) }",
          "probe kernel.function(\"f\") { println($x[one()]) }",
          "probe timer.s(1) { println(@cast(one(), \"t\")->a) }",
          "probe timer.s(1) { foreach ([k, l] in b[one(), *]) println(k, l) }",
          "probe timer.s(1) { foreach (k in a limit one()) println(k) }",
          "probe timer.s(1) { foreach (k in @hist_log(h[one()])) println(k) }",
          "probe timer.s(1) { println(@count(h[one()])) }", "probe timer.s(1) { delete a[one()] }",
          "probe timer.s(1) { if ([one()] in a) exit() }",
          "probe timer.s(1) { printf(\"%*d\", one(), 1) }",
          "function two() { return one() } probe timer.s(1) { println(two()) }",
          "function two(x) { if (x) next; return 1 } function two(x) { return one() } "
          "probe timer.s(1) { println(two(1)) }"})
        EXPECT_TRUE(keeps(script)) << script;
    EXPECT_FALSE(keeps("probe timer.s(1) { x = one(); exit() }"));
    EXPECT_FALSE(keeps("function two() { return one() } probe timer.s(1) { exit() }"));
}

// Only what a library or the script itself may execute is left in a program.
TEST(SemanticsWalks, UnusedDeclarationsAreKeptOnDemand) {
    const std::string script = "global n = 3, m, text = \"a\" function f(x) { return x + 1 } "
                               "function f(x) { return 2 } probe begin { exit() }";
    const auto names = [](const Analysis& analysis) {
        std::string text;
        for (const auto& global : analysis.program->globals)
            text += global->name + " ";
        for (const auto& function : analysis.program->functions)
            text += function->name + "() ";
        return text;
    };
    SemanticsOptions keep;
    keep.keep_unused = true;
    const Analysis kept(script, keep), dropped(script);
    ASSERT_TRUE(kept.program && dropped.program) << kept.errors() << dropped.errors();
    EXPECT_EQ(names(dropped).find("n "), std::string::npos);
    EXPECT_EQ(names(dropped).find("f() "), std::string::npos);
    EXPECT_EQ(dropped.count("unused-global"), 3U) << dropped.errors();
    EXPECT_EQ(dropped.count("unused-function"), 2U) << dropped.errors();
    // What has a type can be kept.
    EXPECT_EQ(names(kept).substr(0, 7), "n text ");
    EXPECT_NE(names(kept).find("f() f() "), std::string::npos) << names(kept);
    EXPECT_EQ(kept.count("unused-global"), 1U) << kept.errors();
    EXPECT_EQ(kept.count("unused-function"), 0U) << kept.errors();
}

TEST(SemanticsWalks, TypesOfCallsAreThoseOfTheirFunctions) {
    const Analysis analysis("function nothing() { println(1) } function number() { return 2 } "
                            "function text() { return \"a\" } "
                            "probe begin { nothing(); println(number(), text()) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    std::string types;
    program::walk_expressions(*analysis.program->probes.at(0)->body,
                              [&](program::Expression& node) {
                                  if (node.kind != ExpressionKind::Call)
                                      return;
                                  types += program::as<program::Call>(node).function->name + " " +
                                           program::type_text(node.type) + ", ";
                              });
    EXPECT_EQ(types, "nothing void, number long, text string, ");
}

} // namespace
} // namespace djstap::test
