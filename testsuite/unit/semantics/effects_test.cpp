// SPDX-License-Identifier: GPL-2.0-or-later
// What a handler needs of its environment: whether it can fail, run long, print and so on, itself
// or by the functions that it calls.
#include "dumps.h"

namespace djstap::test {
namespace {

std::string named(const program::Effects& effects) {
    std::string text;
    const auto add = [&](bool is, const char* name) {
        if (is)
            text += std::string(text.empty() ? "" : " ") + name;
    };
    add(effects.prints, "prints");
    add(effects.can_fail, "fails");
    add(effects.loops, "loops");
    add(effects.walks, "walks");
    add(effects.strings, "strings");
    add(effects.calls_runtime, "calls");
    add(effects.can_exit, "exits");
    add(effects.registers, "registers");
    add(effects.argument_registers, "argument-registers");
    add(effects.embedded, "embedded");
    return text;
}

// The effects of the first probe.
std::string effects_of(const std::string& script) {
    SemanticsOptions options;
    options.guru = options.keep_unused = true;
    const Analysis analysis(script, options);
    EXPECT_TRUE(analysis.program) << script << "\n" << analysis.errors();
    return analysis.program ? named(analysis.program->probes.at(0)->effects) : "";
}

constexpr const char* declarations =
    "global n, s, a, w%, t, h, b, keys\n"
    "function touch() { n++; a[1] = 2; w[1] = 2; s = \"x\"; t <<< 1; h[1] <<< 1; b[1, 2] = 3 }\n";

TEST(SemanticsEffects, NextWithoutAFurtherOverloadFails) {
    const auto of = [](const std::string& functions) {
        return effects_of("global n\n" + functions + " probe begin { f(1); n++ }");
    };
    EXPECT_EQ(of("function f(x) { next }"), "fails");
    EXPECT_EQ(of("function f(x) { if (x > 1) next; return 10 }"), "fails");
    EXPECT_EQ(of("function f(x) { if (x > 1) next; return 10 } function f(x) { return 20 }"), "");
    EXPECT_EQ(of("function f(x) { if (x > 1) next; return 10 } function f(x) { next }"), "fails");
    EXPECT_EQ(of("function g(x) { next } function f(x) { g(x) }"), "fails");
}

TEST(SemanticsEffects, OfEachStatement) {
    for (const auto& [body, effects] : std::initializer_list<std::pair<const char*, const char*>>{
             {"n++", ""},
             {"n = 3", ""},
             {"x = 1 + 2 * n", ""},
             {"x = n / 2", ""},
             {"x = n % 3", ""},
             {"x = n / n", "fails"},
             {"x = 7 % n", "fails"},
             {"x = n / 0", "fails"},
             {"n /= 2", "fails"},
             {"n %= 2", "fails"},
             {"n *= 2", ""},
             {"n += 2", ""},
             {"if (n) n = 1; else n = 2", ""},
             {"while (n) n--", "fails loops"},
             {"for (i = 0; i < 3; i++) n = 1", "fails loops"},
             {"a[1] = 2", "fails calls"},
             {"a[1]++", "fails calls"},
             {"w[1] = 2", "calls"},
             {"x = a[1]", "calls"},
             {"x = 1 in a", "calls"},
             {"x = [1, *] in b", "fails walks calls"},
             {"x = [1, 2] in b", "calls"},
             {"delete a[1]", "calls"},
             {"delete a", "calls"},
             {"delete b[1, *]", "fails walks calls"},
             {"delete b[1, 2]", "calls"},
             {"delete n", "calls"},
             {"foreach (k in a) n = k", "fails loops walks calls"},
             {"t <<< 3", ""},
             {"h[1] <<< 3", "fails calls"},
             {"x = @count(t)", "calls"},
             {"x = @sum(t)", "calls"},
             {"x = @min(t)", "fails calls"},
             {"x = @max(t)", "fails calls"},
             {"x = @avg(t)", "fails calls"},
             {"print(1)", "prints calls"},
             {"print(\"text\")", "prints calls"},
             {"print(@hist_log(t))", "prints calls"},
             {"x = sprint(1)", "strings calls"},
             {"printf(\"%4m\", n)", "prints fails calls"},
             {"printf(\"%M\", n)", "prints fails calls"},
             {"s = \"x\"", "strings"},
             {"x = \"a\" . s", "strings"},
             {"x = s == \"y\"", "strings"},
             {"if (s =~ \"^a\") n = 1", "fails strings calls"},
             {"try { n = 1 } catch { n = 2 }", ""},
             {"try { n = 1 } catch (m) { n = 2 }", "strings"},
             {"%{ int x = 1; (void)x; %}", "prints fails calls embedded"},
             {"x = %{ 3 %}", "fails calls embedded"},
             {"x = %{ CONTEXT->kregs != 0 %}", "fails calls registers embedded"},
             {"exit()", "calls exits"},
             {"next", ""},
         })
        EXPECT_EQ(effects_of(std::string(declarations) + "probe timer.s(1) { " + body + " }"),
                  effects)
            << body;
}

TEST(SemanticsEffects, OfWhatTheHitHas) {
    for (const auto& [body, effects] : std::initializer_list<std::pair<const char*, const char*>>{
             {"x = $a", ""},
             {"x = $a->b", "fails"},
             {"x = $a[1]", "fails"},
             {"x = &$a->b", "fails"},
             {"x = $a$", "fails strings"},
             {"x = $$vars", "fails strings"},
             {"x = @var(\"a\")", "fails"},
             {"x = @cast(n, \"struct a\")->b", "fails"},
             {"$a = 1", "fails registers"},
             {"$a++", "registers"},
             {"$a->b = 1", "fails"},
             {"x = @defined($a)", ""},
             {"x = @perf(\"c\")", "calls"},
             {"x = @enum(\"E\")", ""},
             {"x = @var(\"a\", \"kernel\")", "fails"},
             {"x = @kderef(8, n)", "fails calls"},
             {"x = @uderef(4, n)", "fails calls"},
             // Of DWARF's numbers of the psABI, 5 is rdi, an argument, and 0 is rax, which is none.
             {"x = @kregister(5)", "fails calls argument-registers"},
             {"x = @kregister(0)", "fails calls registers"},
             {"x = @uregister(0)", "fails calls"},
         })
        EXPECT_EQ(
            effects_of(std::string(declarations) + "probe kernel.function(\"f\") { " + body + " }"),
            effects)
            << body;
    EXPECT_EQ(effects_of("probe kernel.function(\"f\").return { x = @entry(@kregister(5)) }"),
              "fails calls")
        << "read at the entry";
    EXPECT_EQ(effects_of("probe kernel.function(\"f\").return if (@kregister(5)) { next }"),
              "fails calls argument-registers");
    EXPECT_EQ(effects_of("probe kernel.function(\"f\").return { x = @entry(@kregister(0)) }"),
              "fails calls registers");
    EXPECT_EQ(effects_of("function rdi() { return @kregister(5) } "
                         "probe kernel.function(\"f\") { x = rdi() }"),
              "fails calls registers")
        << "a function knows no registers but those of the context";
    // Every mechanism for returns passes on what becomes of the result.
    EXPECT_EQ(effects_of("probe kernel.function(\"f\").return { $return = 1 }"), "fails");
    EXPECT_EQ(effects_of("probe kernel.function(\"f\").return { x = @entry(n_ns()) } "
                         "function n_ns() { return 1 / pid() }"),
              "fails calls");
}

// Each of them, from a function that is called by a function, and from an overload that is called
// by `next`.
TEST(SemanticsEffects, OfCalleesAreTheCallers) {
    for (const char* body :
         {"n = 1", "n /= n", "while (n) n--", "foreach (k in a) n = k", "s = \"x\"",
          "x = @count(t)", "print(1)", "exit()", "x = %{ CONTEXT->kregs != 0 %}"}) {
        const std::string own = declarations, probe = "probe timer.s(1) { ";
        const std::string direct = effects_of(own + probe + body + " }");
        const std::string inner = std::string("function inner() { ") + body + " } ";
        EXPECT_EQ(effects_of(own + inner + probe + "inner() }"), direct) << body;
        EXPECT_EQ(effects_of(own + inner + "function outer() { inner() } " + probe + "outer() }"),
                  direct)
            << body;
        EXPECT_EQ(effects_of(own + "function f() { next } function f() { " + body + " } " + probe +
                             "f() }"),
                  direct)
            << body;
    }
}

TEST(SemanticsEffects, LocksAreThoseOfAllCallees) {
    const Analysis analysis("global one, two, three, count, never\n"
                            "function reads() { return one + two }\n"
                            "function writes() { two = 1; three[1] = reads() }\n"
                            "function other(x) { if (x) next; delete three }\n"
                            "function other(x) { one = 2 }\n"
                            "probe timer.s(1) { x = reads(); print(x) }\n"
                            "probe timer.s(2) { writes(); count++ }\n"
                            "probe timer.s(3) { other(1) }\n"
                            "probe timer.s(4) { if (1 in three) print(count) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    const auto names = [](const std::vector<const program::Global*>& globals) {
        std::string text;
        for (const program::Global* each : globals)
            text += each->name + " ";
        return text;
    };
    const auto locks = [&](size_t number) {
        const program::Effects& effects = analysis.program->probes.at(number)->effects;
        return names(effects.reads) + "/ " + names(effects.writes);
    };
    EXPECT_EQ(locks(0), "one two / ");
    EXPECT_EQ(locks(1), "one two three / two three ");
    EXPECT_EQ(locks(2), "one / one three ");
    EXPECT_EQ(locks(3), "three / ");
}

// A handler that changes what another one's condition reads evaluates that condition.
TEST(SemanticsEffects, OfConditionsAreThoseOfWhoChangesThem) {
    const Analysis analysis("global on, off, level\n"
                            "probe timer.s(1) if (on / level > 2) { exit() }\n"
                            "probe timer.s(2) { on = 1 }\n"
                            "probe timer.s(3) { off = 1; level++ }\n"
                            "probe timer.s(4) { off = level }\n"
                            "probe end { println(off) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    const auto& probes = analysis.program->probes;
    EXPECT_TRUE(probes[0]->arms);
    EXPECT_TRUE(probes[0]->arms_others.empty());
    EXPECT_EQ(probes[1]->arms_others, std::vector<const program::Probe*>{probes[0].get()});
    EXPECT_EQ(probes[2]->arms_others, std::vector<const program::Probe*>{probes[0].get()});
    EXPECT_TRUE(probes[3]->arms_others.empty());
    EXPECT_TRUE(probes[1]->effects.can_fail);
    EXPECT_EQ(probes[1]->effects.reads.size(), 2U);
    EXPECT_FALSE(probes[3]->effects.can_fail);
    EXPECT_EQ(probes[3]->effects.reads.size(), 2U);
    // Whose value is another one at each hit, each hit asks for.
    const Analysis at_hit("global on probe timer.s(1) if (pid() > on) { exit() } "
                          "probe timer.s(2) { on = 1 }");
    ASSERT_TRUE(at_hit.program) << at_hit.errors();
    EXPECT_FALSE(at_hit.program->probes[0]->arms);
    EXPECT_TRUE(at_hit.program->probes[1]->arms_others.empty());
}

// Such a condition is evaluated by who changes a global, any other one at each hit.
TEST(SemanticsEffects, ConditionsOfGlobalsAloneAreTheSameEverywhere) {
    const auto arms = [](const std::string& condition) {
        const Analysis analysis(
            "global on, text, a, s function one() { return on } probe timer.s(1) if (" + condition +
            ") { println(1) } probe timer.s(2) { on = 1; text = \"\"; a[1] = 2; s <<< 3 }");
        EXPECT_TRUE(analysis.program) << condition << analysis.errors();
        return analysis.program->probes.at(0)->arms;
    };
    for (const char* same :
         {"on", "!on", "on + 1", "on > 1", "on && on < 3", "on ? 1 : 0", "1 in a", "a[1]",
          "@count(s) > 1", "text =~ \"a\"", "text . \"x\" == \"yx\""})
        EXPECT_TRUE(arms(same)) << same;
    for (const char* other :
         {"pid()", "on && pid()", "sprint(on) == \"1\"", "one()", "strlen(text)"})
        EXPECT_FALSE(arms(other)) << other;
}

// Within a function, no register is where it was at the hit.
TEST(SemanticsEffects, RegistersAreThoseOfTheHit) {
    const std::string in_function = "function f() { return @kregister(5) } ",
                      of_user = "function f() { return @uregister(5) } ",
                      probe = "probe kernel.function(\"f\") { x = f(); println(x) }";
    EXPECT_EQ(effects_of(in_function + probe), "prints fails calls registers");
    EXPECT_EQ(effects_of(of_user + probe), "prints fails calls");
}

// A chain of calls with so many functions; the innermost executes 1 / n.
TEST(SemanticsEffects, DeepCallsAreCounted) {
    const auto analyzed = [](int functions, bool recursive) {
        std::string script = "function f0() { return 1 }\n";
        if (recursive)
            script = "global n function f0() { if (n) f0(); return 1 }\n";
        for (int i = 1; i < functions; i++)
            script += "function f" + std::to_string(i) + "() { return f" + std::to_string(i - 1) +
                      "() }\n";
        return std::make_unique<Analysis>(script + "probe timer.s(1) { print(f" +
                                          std::to_string(functions - 1) + "()) }");
    };
    const auto counted = [](const Analysis& analysis) {
        size_t count = 0;
        for (const auto& function : analysis.program->functions)
            count += function->counts_nesting;
        return count;
    };
    EXPECT_EQ(analyzed(1, false)->program->nesting, 1);
    EXPECT_EQ(analyzed(3, false)->program->nesting, 3);
    EXPECT_EQ(analyzed(10, false)->program->nesting, 10);
    EXPECT_EQ(counted(*analyzed(10, false)), 0U);
    EXPECT_EQ(counted(*analyzed(11, false)), 11U);
    EXPECT_FALSE(analyzed(10, false)->program->probes.at(0)->effects.can_fail);
    EXPECT_TRUE(analyzed(11, false)->program->probes.at(0)->effects.can_fail);
    // A call in a call, and 10 more of a function that calls itself, as SystemTap adds.
    EXPECT_EQ(analyzed(1, true)->program->nesting, 12);
    EXPECT_EQ(counted(*analyzed(3, true)), 1U);
}

} // namespace
} // namespace djstap::test
