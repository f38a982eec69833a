// SPDX-License-Identifier: GPL-2.0-or-later
// How far each rule goes: what is just allowed, and the first thing that is not.
#include "dumps.h"

#include "semantics/walk.h"

#include <functional>

namespace djstap::test {
namespace {

using program::ExpressionKind;

size_t errors(const std::string& script, const char* tag, SemanticsOptions options = {},
              const std::string& library = "") {
    const Analysis analysis(script, std::move(options), library);
    EXPECT_EQ(analysis.program.has_value(), !analysis.diagnostics.has_errors());
    const size_t found = analysis.count(tag);
    // One mistake is one error.
    EXPECT_EQ(analysis.diagnostics.error_count(), found) << script << "\n" << analysis.errors();
    return found;
}

// Calls `visit` for the place of everything in a program.
void each_place(const program::Program& program,
                const std::function<void(SourceRange, const char*)>& visit) {
    const auto expressions = [&](program::Expression& node) {
        visit(node.range, "expression");
        if (node.kind != ExpressionKind::TargetValue)
            return;
        for (const auto& step : program::as<program::TargetValue>(node).components)
            visit(step.range, "component");
        if (const auto& origin = program::as<program::TargetValue>(node).origin) {
            visit(origin->value->range, "origin");
            for (const auto& step : origin->value->components)
                visit(step.range, "component of an origin");
        }
    };
    const auto body = [&](program::Statement& root) {
        program::walk_statements(root,
                                 [&](program::Statement& node) { visit(node.range, "statement"); });
        program::walk_expressions(root, expressions);
    };
    for (const auto& global : program.globals)
        visit(global->range, "global");
    for (const auto& function : program.functions) {
        visit(function->range, "function");
        for (const program::Local& local : function->locals)
            visit(local.range, "local");
        if (function->body)
            body(*function->body);
        if (!function->embedded.empty())
            visit(function->embedded_range, "embedded");
    }
    for (const auto& probe : program.probes) {
        visit(probe->range, "probe");
        for (const ast::ProbePoint* point : probe->points) {
            visit(point->range, "point");
            for (const ast::PointComponent& component : point->components)
                visit(component.range, "component of a point");
        }
        for (const program::Local& local : probe->locals)
            visit(local.range, "local");
        body(*probe->body);
        if (probe->condition)
            program::walk_expressions(*probe->condition, expressions);
        for (const auto& value : probe->entry_values)
            program::walk_expressions(*value, expressions);
    }
}

// Later phases report at these places, also at those of what the compiler adds.
TEST(SemanticsPlaces, EverythingHasOne) {
    const std::string script =
        "global n, s, a, t, h, list, last\n"
        "function f:long(x:long) %{ /* pure */ STAP_RETURN(STAP_ARG_x); %}\n"
        "function g(x) { if (x > 1) next; return %{ 1 %} }\n"
        "function g(x) { for (i = 0; i < x; i++) { if (i == 3) break; else continue } return x }\n"
        "probe kernel.function(\"f\") if (n > 2) {\n"
        "  n++; s = \"x\" . sprint(n); a[n, s] <<< 1; t[1]++; h <<< $p->q[1]->r\n"
        "  x = $p; println(x->a[2]->b, &$p->c, $p->d$, @cast(n, \"t\", \"m\")->e, @var(\"v\", "
        "\"kernel\"))\n"
        "  foreach ([k, l] in a[*, \"x\"] @sum- limit 3) println(k, l)\n"
        "  try { delete t[1]; delete t; y = 1; delete y; print(y) } catch (m) { println(m) next }\n"
        "  if (1 in t && !(s =~ \"a\") || n ? 1 : 0) g(f(2)); %{ int i; (void)i; %}\n"
        "  println(@hist_log(h)[3], 3 in @hist_log(h), @count(h)); print(@hist_log(h))\n"
        "  foreach (b in @hist_log(h)) while (n) { n -= 1 }\n"
        "  z = task_current(); println(z->pid, backtrace()) list[backtrace()]++\n"
        "  foreach (last in list) println(strlen(last))\n"
        "}\n"
        "probe kernel.function(\"f\").return { println(@entry($p), $x->y[n]->z, $return, "
        "$$vars) }\n";
    for (const int which : {0, 1, 2, 3, 4}) {
        SemanticsOptions options;
        options.guru = true;
        options.keep_unused = which == 4;
        options.suppress_errors = which == 1;
        options.times_probes = which == 1;
        options.shown_every_ms = which == 2 || which == 3 ? 1000 : 0;
        options.shown_probes = which == 2;
        options.shown_whole = which == 3;
        const Analysis analysis(script, options);
        ASSERT_TRUE(analysis.program) << analysis.errors();
        size_t count = 0;
        each_place(*analysis.program, [&](SourceRange range, const char* what) {
            count++;
            EXPECT_TRUE(range.valid()) << what << " " << count << " with options " << which;
        });
        EXPECT_GT(count, 200U);
    }
    // Of globals that are only written, with and without keys, and of statistics of all kinds.
    SemanticsOptions hosts;
    hosts.side = SemanticsOptions::Side::Hosts;
    hosts.shown_every_ms = 1000;
    hosts.shown_whole = true;
    for (const SemanticsOptions& options : {SemanticsOptions(), hosts}) {
        const Analysis analysis(
            "global n, s, a, b, h, k, l probe kernel.function(\"f\") { n++; s = \"\"; a[1, \"x\"] "
            "= \"y\"; b[1]++; h[1] <<< 2; k <<< 1; l <<< 1 } probe timer.s(1) { println(n); n = 0 "
            "delete b; print(@hist_log(k)); print(@hist_linear(l, 0, 9, 1)) }",
            options);
        ASSERT_TRUE(analysis.program) << analysis.errors();
        each_place(*analysis.program, [&](SourceRange range, const char* what) {
            EXPECT_TRUE(range.valid()) << what;
        });
    }
}

TEST(SemanticsEdges, LoopsEndWithTheirBody) {
    for (const char* loop : {"while (0) exit()", "for (;;) break;", "foreach (k in a) continue",
                             "foreach (k in a) foreach (l in a) break"})
        for (const char* jump : {"break", "continue"})
            EXPECT_EQ(
                errors(std::string("global a probe begin { a[1] = 1; ") + loop + "; " + jump + " }",
                       "outside-loop"),
                1U)
                << loop;
    for (const char* inside :
         {"while (0) { while (0) exit(); break }", "foreach (k in a) { while (0) exit(); break }",
          "for (;;) { foreach (k in a) exit(); continue }"})
        EXPECT_EQ(errors(std::string("global a probe begin { a[1] = 1; ") + inside + " }",
                         "outside-loop"),
                  0U)
            << inside;
}

TEST(SemanticsEdges, ArraysAreReadOnlyWithinTheirLoop) {
    const auto in_probe = [](const std::string& statements) {
        return errors("global a, s, b probe begin { a[1] = 1; b[1] = 1; s[1] <<< 1; " + statements +
                          " println(@count(s[1])) }",
                      "foreach-read-only");
    };
    EXPECT_EQ(in_probe("foreach (k in a) println(k); a[1] = 3;"), 0U);
    EXPECT_EQ(in_probe("foreach (k in a) println(k); delete a;"), 0U);
    EXPECT_EQ(in_probe("foreach (k in s) s[k] <<< 1;"), 1U);
    EXPECT_EQ(in_probe("foreach (k in s) println(k); s[1] <<< 1;"), 0U);
    EXPECT_EQ(in_probe("foreach (k in a) a[k]++;"), 1U);
    EXPECT_EQ(in_probe("foreach (k in a) { foreach (l in b) println(l); a[k] = 1 }"), 1U);
    EXPECT_EQ(in_probe("foreach (k in a) { foreach (l in b) println(l); b[k] = 1 }"), 0U);
    EXPECT_EQ(in_probe("foreach (k in a) b[k] = a[k];"), 0U);
}

TEST(SemanticsEdges, OneMistakeIsOneError) {
    for (const auto& [statements, tag] : std::initializer_list<std::pair<const char*, const char*>>{
             {"foreach (k in nowhere) print(k)", "unknown-array"},
             {"foreach (v = k in nowhere) print(v, k)", "unknown-array"},
             {"foreach ([k, l] in a) print(k, l)", "key-count"},
             {"foreach (v = [k, l] in a) print(v + 1, k . \"\")", "key-count"},
             {"a = 1; a[1, 2] = 2; a[3, 4, 5] = 3", "key-count"},
             {"foreach (k in a) a = k", "key-count"},
             {"foreach (k in a) { a++; println(k) }", "key-count"},
             {"foreach (k in a) foreach (a in a) println(k)", "foreach-variable"},
             {"println(nowhere[1] . \"\")", "unknown-array"},
             {"println(nowhere[1]++ . \"\")", "unknown-array"},
             {"println((nowhere[1] = 2) . \"\")", "unknown-array"},
             {"x = t; y = t; t <<< 1", "statistic-value"}}) {
        const Analysis analysis(std::string("global a, t probe begin { a[1] = 1; ") + statements +
                                " }");
        EXPECT_EQ(analysis.count(tag), 1U) << statements << "\n" << analysis.errors();
        EXPECT_EQ(analysis.diagnostics.error_count(), 1U) << statements << analysis.errors();
    }
}

TEST(SemanticsEdges, ArraysHaveAtMostNineKeys) {
    std::string keys = "1";
    for (int count = 2; count <= 10; count++) {
        keys += ", " + std::to_string(count);
        const std::string element = "a[" + keys + "]";
        EXPECT_EQ(errors("global a probe begin { " + element + " = 1; println(" + element + ") }",
                         "too-many-keys"),
                  count == 10 ? 1U : 0U)
            << count;
    }
}

// A body that may execute as many statements as MAXACTION allows counts them.
TEST(SemanticsEdges, BodiesThatCountTheirStatements) {
    const auto counts = [](const std::string& functions, const std::string& body) {
        SemanticsOptions options;
        options.max_action = 10;
        const Analysis analysis("global n " + functions + " probe timer.s(1) { " + body +
                                    " } probe end { println(n) }",
                                options);
        EXPECT_TRUE(analysis.program) << analysis.errors();
        return analysis.program->probes.at(0)->effects.loops;
    };
    const auto times = [](int count, const std::string& statement) {
        std::string text;
        for (int i = 0; i < count; i++)
            text += statement;
        return text;
    };
    EXPECT_FALSE(counts("", times(9, "n++; ")));
    EXPECT_TRUE(counts("", times(10, "n++; ")));
    EXPECT_TRUE(counts("", "{" + times(5, "n++; ") + "}" + times(5, "n++; ")));
    EXPECT_FALSE(counts("", "{ { " + times(9, "n++; ") + " } }")); // blocks are no statements
    // Those of functions count for each call.
    const std::string five = "function f() { " + times(5, "n++; ") + "} ";
    EXPECT_FALSE(counts(five, "f(); n++; n++; n++"));
    EXPECT_TRUE(counts(five, "f(); n++; n++; n++; n++"));
    EXPECT_FALSE(counts("function f() { " + times(3, "n++; ") + "} ", "f(); f(); n++"));
    EXPECT_TRUE(counts("function f() { " + times(3, "n++; ") + "} ", "f(); f(); n++; n++"));
    // Also those of the overload that `next` leads to.
    const std::string overloads =
        "function f(x) { next } function f(x) { " + times(5, "n++; ") + "} ";
    EXPECT_FALSE(counts(overloads, "f(1); n++; n++"));
    EXPECT_TRUE(counts(overloads, "f(1); n++; n++; n++"));
    // A function that is as long counts itself.
    EXPECT_FALSE(counts("function f() { " + times(8, "n++; ") + "} ", "f()"));
    EXPECT_TRUE(counts("function f() { " + times(10, "n++; ") + "} ", "f()"));
}

TEST(SemanticsEdges, ValuesOfTheCommandLine) {
    const auto number = [](const std::string& text) -> std::string {
        SemanticsOptions options;
        options.global_values = {{"n", text}};
        const Analysis analysis("global n = 5 probe begin { print(n) }", options);
        if (!analysis.program)
            return analysis.count("bad-global-value") == 1 ? "bad" : analysis.errors();
        return std::to_string(analysis.global("n").initial_number);
    };
    for (const auto& [text, value] : std::initializer_list<std::pair<const char*, const char*>>{
             {"0", "0"},
             {"7", "7"},
             {"-7", "-7"},
             {"0x1f", "31"},
             {"010", "8"},
             {"9223372036854775807", "9223372036854775807"},
             {"-9223372036854775808", "-9223372036854775808"},
             {"18446744073709551615", "-1"},
             {"18446744073709551616", "bad"},
             {"-9223372036854775809", "bad"},
             {"", "bad"},
             {"-", "bad"},
             {"5x", "bad"},
             {"x", "bad"}})
        EXPECT_EQ(number(text), value) << text;
    // Those of the library need not be used.
    SemanticsOptions options;
    options.library_values = {{"own_limit", "77"}, {"nowhere", "3"}};
    const std::string library = "global own_limit = 5\nfunction own_value() { return own_limit }\n";
    const Analysis used("probe begin { print(own_value()) }", options, library);
    ASSERT_TRUE(used.program) << used.errors();
    EXPECT_EQ(used.global("own_limit").initial_number, 77);
    EXPECT_TRUE(used.diagnostics.all().empty()) << used.errors();
    EXPECT_TRUE(Analysis("probe begin { exit() }", options, library).diagnostics.all().empty());
}

// Values at the entry are kept once each, however often they are read.
TEST(SemanticsEdges, ValuesOfTheEntryAreTheSameIfTheirTextsAre) {
    const auto kept = [](const std::string& values) {
        const Analysis analysis("probe kernel.function(\"f\").return { println(" + values + ") }");
        EXPECT_TRUE(analysis.program) << analysis.errors();
        return analysis.program ? analysis.program->probes.at(0)->entry_values.size() : 0;
    };
    for (const char* same : {"$x, $x", "$x->y, $x->y", "&$x->y, &$x->y", "$x[1], $x[1]",
                             "$x->y[2]->z, $x->y[2]->z", "$x->y$, $x->y$", "$$vars, $$vars"})
        EXPECT_EQ(kept(same), 1U) << same;
    for (const char* others :
         {"$x, $y", "$x, $x->y", "$x->y, $x->z", "&$x->y, $x->y", "$x[1], $x[2]", "$x[1], $x",
          "$x->y[2]->z, $x->y[3]->z", "$x->y$, $x->y", "$x->y$, $x->y$$", "$x->y->z, $x->y",
          "@entry($x), @entry($x)", "$$vars, $$parms"})
        EXPECT_EQ(kept(others), 2U) << others;
    EXPECT_EQ(kept("$return, $$return, $$name, @var(\"v\")"), 0U);
    // What is behind a variable index is read at the return.
    EXPECT_EQ(kept("$p->a[pid()]->b"), 1U);
    EXPECT_EQ(kept("$p->a[1]->b[pid()]"), 1U);
}

TEST(SemanticsEdges, TypesAreFollowedThroughSixtyFourVariables) {
    const auto known = [](int variables) {
        std::string text = "v1 = $p; ";
        for (int i = 2; i <= variables; i++)
            text += "v" + std::to_string(i) + " = v" + std::to_string(i - 1) + "; ";
        const Analysis analysis("probe kernel.function(\"f\") { " + text + "println(v" +
                                std::to_string(variables) + "->a) }");
        EXPECT_TRUE(analysis.program) << analysis.errors();
        bool found = false;
        program::walk_expressions(
            *analysis.program->probes.at(0)->body, [&](program::Expression& node) {
                if (node.kind == ExpressionKind::TargetValue &&
                    program::as<program::TargetValue>(node).base ==
                        program::TargetValue::Base::Autocast)
                    found = program::as<program::TargetValue>(node).origin != nullptr;
            });
        return found;
    };
    EXPECT_TRUE(known(64));
    EXPECT_FALSE(known(65));
}

TEST(SemanticsEdges, OriginsAndEnumeratorsKeepTheirModule) {
    const auto module = [](const std::string& body) {
        const Analysis analysis("probe kernel.function(\"f\") { " + body + " }");
        EXPECT_TRUE(analysis.program) << analysis.errors();
        std::string text = "none";
        program::walk_expressions(*analysis.program->probes.at(0)->body,
                                  [&](program::Expression& node) {
                                      if (node.kind != ExpressionKind::TargetValue)
                                          return;
                                      const auto& value = program::as<program::TargetValue>(node);
                                      if (value.base == program::TargetValue::Base::Enumerator)
                                          text = value.name + "/" + value.module;
                                      if (value.base == program::TargetValue::Base::Autocast)
                                          text = value.origin->value->module;
                                  });
        return text;
    };
    EXPECT_EQ(module("x = @cast($n, \"t\", \"m\"); println(x->a)"), "m");
    EXPECT_EQ(module("x = @var(\"v\", \"m\"); println(x->a)"), "m");
    EXPECT_EQ(module("x = task_current(); println(x->a)"), "kernel");
    EXPECT_EQ(module("println(@enum(\"E\"))"), "E/");
    EXPECT_EQ(module("println(@enum(\"E\", \"m\"))"), "E/m");
    EXPECT_EQ(errors("probe begin { println(@enum(\"E\", \"m\", \"n\")) }", "enumerator-name"), 1U);
}

// What a library calls by a name is not what the script means by it.
TEST(SemanticsEdges, LibrariesHaveVariablesOfTheirOwn) {
    const std::string library = "probe mine = begin { x = \"text\" println(x) }\n";
    const Analysis analysis("global x probe mine { x = 1; println(x) } probe end { println(x) }",
                            {}, library);
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_NE(analysis.dump().find("local x: string"), std::string::npos) << analysis.dump();
    // Without a global of that name, both mean one variable.
    EXPECT_EQ(errors("probe mine { x = 1; println(x) }", "type-conflict", {}, library), 1U);
}

} // namespace
} // namespace djstap::test
