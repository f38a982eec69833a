// SPDX-License-Identifier: GPL-2.0-or-later
// What passes over a typed program leave out, refuse, and convert, through any number of calls.
#include "dumps.h"

#include "semantics/walk.h"

namespace djstap::test {
namespace {

using program::ExpressionKind;

std::string kept(const std::string& statement) {
    return body(
        "global n, a, t, s probe timer.s(1) { " + statement +
        " exit() } probe end { println(n, a[1], @count(t), s) } probe begin { n = 1; a[1] = "
        "2; t <<< 1; s = \"\" }");
}

// An assignment that nobody reads is left out, but what it calls or changes is not.
TEST(SemanticsPruning, KeepsWhatHasAnEffect) {
    const std::string rest = body("global n, a, t, s probe timer.s(1) { exit() } probe end { "
                                  "println(n, a[1], @count(t), s) } probe begin { n = 1; a[1] = 2; "
                                  "t <<< 1; s = \"\" }");
    for (const auto& [statement, left] : std::initializer_list<std::pair<const char*, const char*>>{
             {"x = 1", ""},
             {"x = n + a[1]", ""},
             {"x = y = 2", ""},
             {"x = n++", "n++"},
             {"x = n = 3", "n = 3"},
             {"x = n += 3", "n += 3"},
             {"x = pid() + (1 in a)", ""},
             {"x = sprint(n)", ""},
             {"x = print(n)", "printf(\"%d\", n)"},
             {"x = s =~ \"a\"", "(s =~ \"a\")"},
             {"x = 1; y = x", ""},
             {"x = 1; y = x; z = y + x", ""},
             {"x++", "x++"},
             {"x += 2", "x += 2"},
             {"x = 1; x++", "x = 1 | x++"},
             {"n + 1", ""},
             {"n + n++", "(n + n++)"},
             {"pid()", ""},
             {"if (n) x = 1", ""},
             {"if (n) x = 1; else y = 1", ""},
             {"if (n) x = 1; else exit()", "if n | else |     exit()"},
             {"if (n++) x = 1", "if n++"},
             {"if (n) { { x = 1 } { } }", ""},
             {"{ { x = 1 } }", ""},
             {"while (n) x = 1", "for (; n; )"},
             {"try { x = 1 } catch { exit() }", ""},
             {"try { n = 1 } catch { x = 1 }", "try |     n = 1 | catch"},
             {"delete x", ""},
             {"x = 1 ? n : n--", "(1 ? n : n--)"},
         }) {
        std::string expected = left;
        // A block for each branch.
        EXPECT_EQ(kept(std::string(statement) + ";"),
                  expected.empty() ? rest : expected + " | " + rest)
            << statement;
    }
}

// Whether a call whose value nobody needs is left out.
TEST(SemanticsPruning, LeavesOutCallsOfPureFunctions) {
    const auto is_dropped = [](const std::string& functions, SemanticsOptions options = {}) {
        const Analysis analysis("global n, a, s " + functions +
                                    " probe timer.s(1) { x = f(); exit() } probe end { println(n, "
                                    "a[1], s) } probe begin { n = 1; a[1] = 2; s = \"\" }",
                                options);
        EXPECT_TRUE(analysis.program) << functions << "\n" << analysis.errors();
        return analysis.program && analysis.dump().find("    f()\n") == std::string::npos;
    };
    SemanticsOptions guru;
    guru.guru = true;
    for (const char* pure :
         {"function f() { return 1 }", "function f() { x = n; x++; return x + a[1] }",
          "function f() { return g() } function g() { return n }",
          "function f() { return sprint(n) }", "function f() { if (n) return 1; return 2 }",
          "function f() { foreach (k in a) x += a[k]; return x }",
          "function f() { return strlen(s) + pid() }", "function f() { return [1] in a }"})
        EXPECT_TRUE(is_dropped(pure)) << pure;
    for (const char* other :
         {"function f() { n = 1; return 1 }", "function f() { n++; return 1 }",
          "function f() { return g() } function g() { return n++ }",
          "function f() { println(1); return 1 }", "function f() { exit(); return 1 }",
          "function f() { while (n) x = 1; return x }", "function f() { delete a; return 1 }",
          "function f() { if (n) next; return 1 }", "function f() { return s =~ \"a\" }",
          "function f() { if (n) return f(); return 1 }",
          "function f() { return g() } function g() { if (n) return f(); return 1 }",
          "function f() { a[1] = 2; return 1 }", "function f() { error(\"e\"); return 1 }"})
        EXPECT_FALSE(is_dropped(other)) << other;
    EXPECT_TRUE(is_dropped("function f:long() { return %{ /* pure */ 1 %} }", guru));
    EXPECT_FALSE(is_dropped("function f:long() { return %{ 1 %} }", guru));
    EXPECT_TRUE(is_dropped("function f:long() %{ /* pure */ STAP_RETURN(1); %}", guru));
    EXPECT_FALSE(is_dropped("function f:long() %{ STAP_RETURN(1); %}", guru));
    EXPECT_FALSE(is_dropped("function f:long() { %{ int i; (void)i; %} return 1 }", guru));
}

TEST(SemanticsPruning, WarnsOnceForEachVariable) {
    const auto warnings = [](const std::string& script, const char* tag,
                             const std::string& library = "") {
        const Analysis analysis(script, {}, library);
        EXPECT_TRUE(analysis.program) << analysis.errors();
        return analysis.count(tag);
    };
    EXPECT_EQ(warnings("probe begin { x = 1; x = 2; y = 3; exit() }", "unused-local"), 2U);
    EXPECT_EQ(warnings("probe begin { x = 1; exit() } probe end { x = 1; exit() }", "unused-local"),
              2U);
    EXPECT_EQ(warnings("probe begin { 1; pid(); exit() }", "no-effect"), 2U);
    EXPECT_EQ(warnings("probe begin { x = 1; println(x) }", "unused-local"), 0U);
    // A library's variables, and those of an alias, are for whoever wants them.
    EXPECT_EQ(warnings("probe mine { exit() }", "unused-local",
                       "probe mine = begin { x = 1; 1 + pid() }"),
              0U);
    EXPECT_EQ(warnings("probe mine = begin { x = 1 } probe mine { exit() }", "unused-local"), 0U);
    EXPECT_EQ(warnings("probe mine { asmlinkage() exit() }", "no-effect",
                       "function asmlinkage() { } probe mine = begin { }"),
              0U);
}

TEST(SemanticsChanges, OfAnArrayInItsLoopAreFoundThroughCalls) {
    const auto errors = [](const std::string& functions, const std::string& loop) {
        SemanticsOptions options;
        options.guru = true;
        return Analysis("global a, b " + functions + " probe begin { a[1] = 2; b[1] = 2; " + loop +
                            " }",
                        options)
            .count("foreach-read-only");
    };
    const std::string loop = "foreach (k in a) f()";
    for (const char* changes :
         {"function f() { a[1] = 1 }", "function f() { a[1]++ }", "function f() { --a[1] }",
          "function f() { a[1] += 2 }",
          "function f() { g() } function g() { h() } function h() { "
          "a[2] = 3 }",
          "function f(x) { next } function f() { a[1] = 1 }",
          "function f() { g() } function g() { next } function g() { a[1] = 1 }",
          "function f() { println(%{ /* pragma:write:a */ 1 %}) }",
          "function f() { %{ /* pragma:write:a */ %} }", "function f() { x = a[1] = 1 }"})
        EXPECT_EQ(errors(changes, loop), 1U) << changes;
    for (const char* harmless :
         {"function f() { b[1] = 1 }", "function f() { println(a[1]) }",
          "function f() { delete a[1] }", "function f() { %{ /* pragma:read:a */ %} }",
          "function f() { x = 1; x++ }", "function f() { g() } function g() { b[1]++ }"})
        EXPECT_EQ(errors(harmless, loop), 0U) << harmless;
    const std::string f = "function f() { a[1] = 1; return 2 }";
    EXPECT_EQ(errors(f, "foreach (k in b) f()"), 0U);
    EXPECT_EQ(errors(f, "foreach (k in b) foreach (l in a) f()"), 1U);
    EXPECT_EQ(errors(f, "foreach (k in a) foreach (l in a) f()"), 1U); // at one place
    EXPECT_EQ(errors(f, "foreach (k in a) { f(); f() }"), 2U);
    EXPECT_EQ(errors(f, "foreach (k in a limit f()) println(k)"), 1U);
    EXPECT_EQ(errors(f, "foreach (k in a limit 1 + f()) println(k)"), 1U);
    EXPECT_EQ(errors(f, "foreach (k in a) println(k); f()"), 0U);
    EXPECT_EQ(errors("", "foreach (k in a) { %{ /* pragma:write:a */ %} }"), 1U);
    EXPECT_EQ(errors("", "foreach (k in a) println(%{ /* pragma:write:a */ 1 %})"), 1U);
    EXPECT_EQ(errors("", "foreach (k in a limit %{ /* pragma:write:a */ 1 %}) println(k)"), 1U);
    EXPECT_EQ(errors("", "foreach (k in a) { %{ /* pragma:read:a */ /* pragma:write:b */ %} }"),
              0U);
    EXPECT_EQ(errors("", "foreach (k in a) println(k); %{ /* pragma:write:a */ %}"), 0U);
    EXPECT_EQ(errors(f + " function g() { foreach (k in a) f() }", "g()"), 1U);
}

TEST(SemanticsConditions, HaveNoEffects) {
    const auto errors = [](const std::string& condition) {
        SemanticsOptions options;
        options.guru = true;
        const Analysis analysis(
            "global n, s function pure() { return n } function prints() { println(1); return 1 } "
            "probe timer.s(1) if (" +
                condition + ") { exit() } probe begin { n = 1; s = \"\" }",
            options);
        return analysis.count("condition-local");
    };
    for (const char* good : {"n", "n > 1 && pure()", "sprint(n) == s", "%{ /* pure */ 1 %}",
                             "pid() == n", "n ? n : pure() + 1"})
        EXPECT_EQ(errors(good), 0U) << good;
    for (const char* bad : {"n++", "1 + n++", "n = 1", "prints()", "n && prints()", "%{ 1 %}",
                            "n + %{ 1 %}", "print(1)", "n || print(1)"})
        EXPECT_EQ(errors(bad), 1U) << bad;
}

// How often a stack is converted to the text of its addresses.
size_t converted(const std::string& statements) {
    const Analysis analysis("global a, b, texts probe kernel.function(\"f\") { " + statements +
                            " }");
    EXPECT_TRUE(analysis.program) << analysis.errors();
    if (!analysis.program)
        return SIZE_MAX;
    size_t texts = 0;
    program::walk_expressions(
        *analysis.program->probes.at(0)->body,
        [&](program::Expression& node) { texts += node.kind == ExpressionKind::StackText; });
    return texts;
}

TEST(SemanticsStacks, AreTextsOnlyWhereCharactersCount) {
    for (const auto& [statements, count] : std::initializer_list<std::pair<const char*, size_t>>{
             {"a[backtrace()]++", 0U},
             {"s = backtrace(); a[s]++", 0U},
             {"s = backtrace(); print(s)", 0U},
             {"s = backtrace(); println(strlen(s))", 1U},
             {"s = backtrace(); println(s . \"x\")", 1U},
             {"s = backtrace(); texts = s", 1U},
             {"s = backtrace(); print_stack(s)", 0U},
             {"s = backtrace(); print_syms(s)", 0U},
             {"s = backtrace(); x = s == \"\"; print(x)", 1U},
             {"s = backtrace(); x = sprintf(\"%s\", s); print(x)", 0U},
             {"s = backtrace(); print(sprint_stack(s))", 0U},
             {"s = backtrace(); x = sprint_stack(s); print(x)", 1U},
             {"s = pid() ? backtrace() : ubacktrace(); a[s]++", 0U},
             {"s = backtrace(); if (s in a) delete a[s]; a[s]++", 0U},
             {"println(pid() ? strlen(backtrace()) : strlen(backtrace()))", 2U},
             {"println(strlen(backtrace()) ? 1 : 2)", 1U},
             {"if (strlen(backtrace()) > 3) exit()", 1U},
             {"try { error(backtrace()) } catch { exit() }", 1U},
             {"a[1]++; foreach (k in a limit strlen(backtrace())) println(k)", 1U},
             {"while (strlen(backtrace())) exit()", 1U},
             {"a[strlen(backtrace())]++", 1U},
             {"a[1]++; if ([strlen(backtrace())] in a) exit()", 1U},
             {"println($p[strlen(backtrace())])", 1U},
             {"for (s = backtrace(); strlen(s) > 3; s = backtrace()) a[s]++", 1U},
         })
        EXPECT_EQ(converted(statements), count) << statements;
}

TEST(SemanticsStatements, OfLocalsThatAreDeletedAndKeysThatAreGlobals) {
    EXPECT_EQ(body("probe begin { x = 5; println(x); delete x; println(x) }"),
              "x = 5 | printf(\"%d\\n\", x) | x = 0 | printf(\"%d\\n\", x)");
    EXPECT_EQ(body("probe begin { x = \"a\"; println(x); delete x; println(x) }"),
              "x = \"a\" | printf(\"%s\\n\", x) | x = \"\" | printf(\"%s\\n\", x)");
    // A global as the loop's variable is assigned to in each round.
    EXPECT_EQ(body("global a, k probe begin { a[1] = 2; foreach (k in a) println(k) }"),
              "a[1] = 2 | foreach ([k] in a) |     k = k |     printf(\"%d\\n\", k)");
    EXPECT_EQ(body("global m probe begin { try { error(\"x\") } catch (m) { println(m) } }"),
              "try |     error(\"x\") | catch (m) |     m = m |     printf(\"%s\\n\", m)");
}

TEST(SemanticsStatistics, LimitsOfHistogramsAndShifts) {
    const auto errors = [](const std::string& what, const char* tag) {
        return Analysis("global s probe begin { s <<< 1; print(" + what + ") }").count(tag);
    };
    for (const char* good : {"@hist_linear(s, 0, 1, 1)", "@hist_linear(s, -1, 1, 5)",
                             "@hist_linear(s, 0, 4096, 1)", "@hist_linear(s, 0, 8193, 2)"})
        EXPECT_EQ(errors(good, "histogram-range"), 0U) << good;
    for (const char* bad : {"@hist_linear(s, 0, 0, 1)", "@hist_linear(s, 1, 0, 1)",
                            "@hist_linear(s, 0, 9, 0)", "@hist_linear(s, 0, 9, -1)",
                            "@hist_linear(s, 0, 4097, 1)", "@hist_linear(s, 0, 8194, 2)"})
        EXPECT_EQ(errors(bad, "histogram-range"), 1U) << bad;
    for (const char* good : {"@variance(s)", "@variance(s, 0)", "@variance(s, 62)"})
        EXPECT_EQ(errors(good, "variance-range"), 0U) << good;
    for (const char* bad : {"@variance(s, 63)", "@variance(s, -1)"})
        EXPECT_EQ(errors(bad, "variance-range"), 1U) << bad;
    const auto conflicts = [](const std::string& first, const std::string& second,
                              const char* tag = "histogram-conflict") {
        return Analysis("global s probe begin { s <<< 1; print(" + first + "); print(" + second +
                        ") }")
            .count(tag);
    };
    // Without one, the shift is 0.
    EXPECT_EQ(conflicts("@variance(s)", "@variance(s, 0)", "variance-conflict"), 0U);
    EXPECT_EQ(conflicts("@variance(s, 1)", "@variance(s)", "variance-conflict"), 1U);
    const Analysis shifted("global s, t probe timer.s(1) { s <<< 1; t <<< 1; println(@variance(s), "
                           "@variance(t, 62)) }");
    ASSERT_TRUE(shifted.program) << shifted.errors();
    EXPECT_EQ(shifted.global("s").statistic.variance_shift, 0);
    EXPECT_EQ(shifted.global("t").statistic.variance_shift, 62);
    const std::string one = "@hist_linear(s, 0, 9, 2)";
    EXPECT_EQ(conflicts(one, one), 0U);
    EXPECT_EQ(conflicts("@hist_log(s)", "@hist_log(s)"), 0U);
    for (const char* other : {"@hist_linear(s, 1, 9, 2)", "@hist_linear(s, 0, 10, 2)",
                              "@hist_linear(s, 0, 9, 3)", "@hist_log(s)"})
        EXPECT_EQ(conflicts(one, other), 1U) << other;
    // The buckets of a histogram, with those below and above.
    const auto buckets = [](const std::string& histogram) {
        const std::string text =
            body("global s probe begin { s <<< 1; println(5 in " + histogram + ") }");
        const size_t at = text.find(" < ");
        return at == std::string::npos
                   ? text
                   : std::to_string(static_cast<uint64_t>(std::stoll(text.substr(at + 3))) ^
                                    (uint64_t{1} << 63));
    };
    EXPECT_EQ(buckets("@hist_linear(s, 0, 9, 2)"), "7");
    EXPECT_EQ(buckets("@hist_linear(s, 0, 10, 2)"), "8");
    EXPECT_EQ(buckets("@hist_log(s)"), "128");
}

} // namespace
} // namespace djstap::test
