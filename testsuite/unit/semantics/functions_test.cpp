// SPDX-License-Identifier: GPL-2.0-or-later
// Functions: overloads, recursion, the cost of calls, and the resolution of names.
#include "dumps.h"

using namespace djstap;
using namespace djstap::test;

TEST(SemanticsFunctions, OverloadsGoByArityThenByPriority) {
    const char* script =
        "function f(a) { if (a > 5) next; println(\"first\") }\n"
        "function f(a) { println(\"second\") }\nfunction f() { println(\"none\") }\n"
        "probe begin { f(1); f() }";
    Analysis analysis(script);
    ASSERT_TRUE(analysis.program) << analysis.errors();
    ASSERT_EQ(analysis.program->functions.size(), 3u);
    EXPECT_EQ(analysis.program->functions[0]->next_overload, analysis.program->functions[1].get());
    EXPECT_EQ(analysis.program->functions[1]->next_overload, nullptr);
    EXPECT_EQ(analysis.program->functions[2]->next_overload, nullptr);
}

TEST(SemanticsFunctions, RecursionIsFound) {
    Analysis analysis(
        "function a(n) { if (n) b(n - 1) }\nfunction b(n) { a(n) }\nfunction c() { exit() }\n"
        "probe begin { a(3); c() }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    for (const auto& function : analysis.program->functions)
        EXPECT_EQ(function->recursive, function->name == "a" || function->name == "b")
            << function->name;
    EXPECT_TRUE(analysis.program->probes[0]->effects.loops);
    EXPECT_TRUE(analysis.program->probes[0]->effects.can_exit);
}

TEST(SemanticsFunctions, CallsThatMultiplyAreCounted) {
    std::string script = "function f0() { return 1 }\n";
    for (int i = 1; i < 9; i++) {
        const std::string before = "f" + std::to_string(i - 1) + "()";
        script += "function f" + std::to_string(i) + "() { return " + before + " + " + before +
                  " + " + before + " + " + before + " }\n";
    }
    Analysis analysis(script + "probe begin { print(f8()) } probe end { print(f2()) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_TRUE(analysis.program->probes[0]->effects.loops);
    EXPECT_TRUE(analysis.program->probes[0]->effects.can_fail);
    EXPECT_FALSE(analysis.program->probes[1]->effects.loops);
    for (const auto& function : analysis.program->functions)
        EXPECT_FALSE(function->counts_nesting) << function->name;
}

TEST(SemanticsFunctions, StraightCodeIsCountedOnlyWhenVeryLong) {
    std::string many;
    for (int i = 0; i < 1100; i++)
        many += "n += 2\n";
    Analysis analysis("global n probe begin { " + many + " } probe end { n += 1 print(n) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_TRUE(analysis.program->probes[0]->effects.loops);
    EXPECT_FALSE(analysis.program->probes[1]->effects.loops);
}

TEST(SemanticsFunctions, DeepCallsCountTheirNesting) {
    std::string script = "function f0() { return 1 }\n";
    for (int i = 1; i < 3000; i++)
        script +=
            "function f" + std::to_string(i) + "() { return f" + std::to_string(i - 1) + "() }\n";
    Analysis analysis(script + "probe begin { print(f2999()) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_TRUE(analysis.program->probes[0]->effects.can_fail);
    for (const auto& function : analysis.program->functions)
        ASSERT_TRUE(function->counts_nesting && !function->recursive) << function->name;
}

TEST(SemanticsFunctions, TheScriptHidesTheLibrary) {
    expect_dump("function pid() { return 7 } probe begin { print(pid()) }",
                "function pid(): long, pure\n"
                "    return 7\n"
                "probe begin\n"
                "    # prints\n"
                "    printf(\"%d\", pid())\n");
}

TEST(SemanticsNames, PrivateOnesStayInTheirFile) {
    Analysis analysis("probe begin { print(helper()) }", {},
                      "private function secret() { return 1 }\n"
                      "private global count\n"
                      "function helper() { count++; return secret() }");
    EXPECT_TRUE(analysis.program) << analysis.errors();
    Analysis hidden(
        "probe begin { print(helper()); print(secret()) }", {},
        "private function secret() { return 1 }\nfunction helper() { return secret() }");
    EXPECT_EQ(hidden.count("unknown-function"), 1u) << hidden.errors();
    // In their file they hide what others define by that name.
    Analysis hiding(
        "function secret() { return \"text\" }\nprobe begin { print(secret(), helper()) }", {},
        "private function secret() { return 1 }\nfunction helper() { return secret() + 1 }");
    EXPECT_TRUE(hiding.program) << hiding.errors();
}

// The first one that takes another type is told, beside the one before it.
TEST(SemanticsFunctions, OverloadsHaveTheSameTypes) {
    const auto conflict = [](const std::string& functions) {
        const Analysis analysis(functions + " probe begin { println(1) }", {}, "", false);
        EXPECT_EQ(analysis.count("type-conflict"), 1u) << analysis.errors();
        const Diagnostic& first = analysis.diagnostics.all().front();
        return first.message + "; " + (first.notes.empty() ? "" : first.notes.front().message);
    };
    const std::string number = "'f' is a number here; another overload declares a string",
                      text = "'f' is a string here; another overload declares a number";
    EXPECT_EQ(conflict("function f(a:string) { next } function f(a:long) { println(1) }"), number);
    EXPECT_EQ(conflict("function f(a, b:long) { next } function f(a, b:string) { println(1) }"),
              text);
    EXPECT_EQ(conflict("function f:string() { next } function f:long() { return 1 }"), number);
    const Analysis others(
        "function f(a:string) { println(1) } function f(a:long, b:long) { println(1) } "
        "probe begin { f(\"a\"); f(1, 2) }");
    EXPECT_TRUE(others.program) << others.errors();
}

TEST(SemanticsFunctions, NumbersOfArgumentsAreListed) {
    const auto told = [](const std::string& functions) {
        const Analysis analysis(functions + " probe begin { f(1, 2, 3, 4) }", {}, "", false);
        EXPECT_EQ(analysis.count("argument-count"), 1u) << analysis.errors();
        return analysis.diagnostics.all().front().message;
    };
    const std::string given = ", but 4 are given";
    const std::string none = "function f() { println(1) } ", one = "function f(a) { println(1) } ",
                      two = "function f(a, b) { println(1) } ";
    EXPECT_EQ(told(none), "'f' takes 0 arguments" + given);
    EXPECT_EQ(told(one), "'f' takes 1 argument" + given);
    EXPECT_EQ(told(two + one), "'f' takes 1 or 2 arguments" + given);
    EXPECT_EQ(told(two + none + one), "'f' takes 0, 1 or 2 arguments" + given);
    EXPECT_EQ(told(one + one), "'f' takes 1 argument" + given);
}

TEST(SemanticsFunctions, OverloadsThatAreNeverReachedHaveAHint) {
    const auto hint = [](const std::string& functions) {
        const Analysis analysis(functions + " probe begin { f(1) }", {true, false, {}});
        EXPECT_TRUE(analysis.program) << analysis.errors();
        std::string hints;
        for (const Diagnostic& each : analysis.diagnostics.all())
            hints += each.hint_text;
        return hints;
    };
    const std::string second = " function f(a) { println(a) }";
    EXPECT_EQ(hint("function f(a) { exit() }" + second),
              "an earlier overload with the same number of parameters never executes 'next'");
    EXPECT_EQ(hint("function f(a) { if (a) next; exit() }" + second), "");
    EXPECT_EQ(hint("function f(a) %{ STAP_NEXT; %}" + second), "");
    EXPECT_NE(hint("function f(a) %{ ; %}" + second), "");
    EXPECT_EQ(hint("function f(a) { exit() } function g() { exit() }"), "");
}

// What a library says of its own functions in comments of their code.
TEST(SemanticsFunctions, IntrinsicsTellWhatTheyNeed) {
    const auto declared = [](const std::string& comments) {
        const Analysis analysis("probe begin { println(own()) }", {},
                                "function own:long() %{ /* intrinsic */ " + comments + " %}\n",
                                false);
        EXPECT_TRUE(analysis.program) << analysis.errors();
        const program::Function& own = *analysis.program->functions.at(0);
        EXPECT_EQ(own.intrinsic, "own");
        EXPECT_EQ(own.embedded, "");
        EXPECT_TRUE(own.effects.calls_runtime);
        std::string text = own.points_to;
        for (const auto& [is, name] : std::initializer_list<std::pair<bool, const char*>>{
                 {own.pure, "pure "},
                 {own.effects.prints, "prints "},
                 {own.effects.can_fail, "fails "},
                 {own.effects.can_exit, "exits "},
                 {own.effects.registers, "registers "},
                 {own.site, "site "},
                 {own.place, "place "},
                 {own.arguments, "arguments "}})
            text += is ? name : "";
        return text;
    };
    EXPECT_EQ(declared(""), "");
    for (const char* each :
         {"pure", "prints", "fails", "exits", "registers", "site", "place", "arguments"})
        EXPECT_EQ(declared("/* " + std::string(each) + " */"), std::string(each) + " ");
    EXPECT_EQ(declared("/* points to: task_struct */"), "task_struct");
    EXPECT_EQ(declared("/* exits */ /* fails */"), "fails exits ");
    // Any other code in C may do anything.
    const Analysis code("function own:long() %{ /* fails */ STAP_RETURN(1); %} "
                        "probe begin { println(own()) }",
                        {true, false, {}}, "", false);
    ASSERT_TRUE(code.program) << code.errors();
    const program::Effects& effects = code.program->functions.at(0)->effects;
    EXPECT_TRUE(effects.prints && effects.can_fail && effects.calls_runtime && effects.strings);
    EXPECT_TRUE(effects.can_exit && effects.embedded);
}

TEST(SemanticsNames, ParametersHideGlobals) {
    Analysis analysis("global n function f(n) { return n . \"\" } probe begin { n = 1; print(n); "
                      "print(f(\"a\")) }");
    EXPECT_TRUE(analysis.program) << analysis.errors();
}
