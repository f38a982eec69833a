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

TEST(SemanticsNames, ParametersHideGlobals) {
    Analysis analysis("global n function f(n) { return n . \"\" } probe begin { n = 1; print(n); "
                      "print(f(\"a\")) }");
    EXPECT_TRUE(analysis.program) << analysis.errors();
}
