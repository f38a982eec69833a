// SPDX-License-Identifier: GPL-2.0-or-later
// Where values got their C types, and what options put around the handlers of a script.
#include "dumps.h"

#include "include/record.h"
#include "semantics/walk.h"

namespace djstap::test {
namespace {

using program::ExpressionKind;

std::string shown(const program::TargetValue& value) {
    std::string text = (value.address_of ? "&" : "") +
                       (value.base == program::TargetValue::Base::Cast       ? value.cast_type
                        : value.base == program::TargetValue::Base::Autocast ? "?"
                                                                             : value.name);
    for (const program::TargetComponent& each : value.components)
        text += each.kind == program::TargetComponent::Kind::Member ? "->" + each.member : "[]";
    if (value.base == program::TargetValue::Base::Autocast)
        text += value.origin ? " of " + shown(*value.origin->value) : " unknown";
    return text;
}

// The origins of the values whose members are named by "->a".
std::string origins(const std::string& script) {
    const Analysis analysis(script);
    EXPECT_TRUE(analysis.program) << script << "\n" << analysis.errors();
    std::string text;
    const auto look = [&](program::Expression& node) {
        if (node.kind == ExpressionKind::TargetValue &&
            program::as<program::TargetValue>(node).base == program::TargetValue::Base::Autocast)
            text += (text.empty() ? "" : ", ") + shown(program::as<program::TargetValue>(node));
    };
    if (!analysis.program)
        return "";
    for (const auto& function : analysis.program->functions)
        if (function->body)
            program::walk_expressions(*function->body, look);
    for (const auto& probe : analysis.program->probes)
        program::walk_expressions(*probe->body, look);
    return text;
}

TEST(SemanticsOrigins, GoThroughVariablesAndFunctions) {
    const auto in_probe = [](const std::string& body) {
        return origins("global g probe kernel.function(\"f\") { " + body + " }");
    };
    for (const auto& [body, origin] : std::initializer_list<std::pair<const char*, const char*>>{
             {"x = $p; println(x->a)", "?->a of $p"},
             {"x = $p->q; println(x->a)", "?->a of $p->q"},
             {"x = &$p->q; println(x->a)", "?->a of &$p->q"},
             {"x = $p[3]; println(x->a)", "?->a of $p[]"},
             {"x = y = z = $p; println(x->a)", "?->a of $p"},
             {"x = $p; y = x; z = y; println(z->a)", "?->a of $p"},
             {"x = @cast($n, \"struct s\"); println(x->a)", "?->a of struct s"},
             {"x = @var(\"v\"); println(x->a)", "?->a of v"},
             {"g = $p; println(g->a)", "?->a of $p"},
             {"x = pid() ? $p : $q; println(x->a)", "?->a of $p"},
             {"x = pid() ? 1 : $q; println(x->a)", "?->a of $q"},
             {"x = $p; x = $q; println(x->a)", "?->a of $p"}, // the first one counts
             {"x = 1; x = $q; println(x->a)", "?->a of $q"},
             {"x = $p; println(x->a->b)", "?->a->b of $p"},
             {"x = $p; y = x->n; println(y->a)", "?->n of $p, ?->a of ?->n of $p"},
             {"x = $p$; y = $n + 1; println(strlen(x), y->a)", "?->a unknown"},
             {"x = 3; println(x->a)", "?->a unknown"},
             {"if (pid() == 1) x = y; y = x; println(x->a)", "?->a unknown"},
             {"x = task_current(); println(x->a)", "?->a of task_struct"},
         })
        EXPECT_EQ(in_probe(body), origin) << body;
    EXPECT_EQ(
        origins("function f(p) { return p->a } probe kernel.function(\"f\") { println(f($x)) }"),
        "?->a of $x");
    EXPECT_EQ(origins("function f(n, p) { return p->a } probe kernel.function(\"f\") { "
                      "println(f($x, $y)) }"),
              "?->a of $y");
    EXPECT_EQ(origins("function f(p) { return p } probe kernel.function(\"f\") { x = f($x); "
                      "println(x->a) }"),
              "?->a of $x");
    EXPECT_EQ(origins("probe kernel.function(\"f\").return { x = @entry($x); println(x->a) }"),
              "?->a of $x");
    EXPECT_EQ(origins("probe kernel.function(\"f\").return { x = $x; println(x->a) }"),
              "?->a of $x");
    EXPECT_EQ(origins("global g probe kernel.function(\"f\") { g = $p } probe timer.s(1) { "
                      "println(g->a) }"),
              "?->a of $p");
}

TEST(SemanticsOptions, ErrorsMayEndTheirHandlerAlone) {
    SemanticsOptions options;
    options.suppress_errors = true;
    EXPECT_EQ(body("probe begin { error(\"x\") }", "", options),
              "try |     error(\"x\") | catch |     next");
}

TEST(SemanticsOptions, ScriptsMayBeKeptFromCommands) {
    SemanticsOptions options;
    options.no_system = true;
    const Analysis analysis("probe begin { system(\"id\") }", options);
    EXPECT_EQ(analysis.count("system-refused"), 1U) << analysis.errors();
    const Analysis own("function system(x) { println(x) } probe begin { system(\"id\") }", options);
    EXPECT_TRUE(own.program) << own.errors();
    EXPECT_TRUE(Analysis("probe begin { system(\"id\") }").program);
}

// What is put before handlers of points that tell what a task does.
TEST(SemanticsOptions, APrologueIsForWhatTasksDo) {
    SourceManager sources;
    for (int i = 0; i < 100; i++) // the number of its file is none of the script's
        sources.add("other", "");
    Diagnostics diagnostics(sources);
    PreprocessorContext context;
    const auto library = Library::open({}, sources, context, diagnostics);
    const auto file =
        parse_file(sources, sources.add("before", "probe never { if (pid() == 7) next }"), context,
                   library->macros(), diagnostics);
    ASSERT_TRUE(file) << render_all(diagnostics);
    SemanticsOptions options;
    options.prologue = file->probes.at(0).body.get();
    const auto bodies = [&](const std::string& script) {
        const Analysis analysis(script, options);
        EXPECT_TRUE(analysis.program) << analysis.errors();
        std::string text;
        for (const auto& probe : analysis.program->probes) {
            for (const ast::ProbePoint* point : probe->points)
                text += ast::to_string(*point) + " ";
            EXPECT_EQ(probe->points.size(), probe->point_numbers.size());
            EXPECT_EQ(probe->points.size(), probe->alias_names.size());
            bool before = false;
            program::walk_statements(*probe->body, [&](program::Statement& node) {
                before |= node.kind == program::StatementKind::Next;
            });
            text += before ? "(before) " : "";
        }
        return text;
    };
    EXPECT_EQ(bodies("probe begin { exit() }"), "begin ");
    EXPECT_EQ(bodies("probe kernel.function(\"f\") { exit() }"),
              "kernel.function(\"f\") (before) ");
    EXPECT_EQ(
        bodies("probe begin, kernel.function(\"f\"), timer.s(1), kernel.trace(\"t\") { exit() }"),
        "begin timer.s(1) kernel.function(\"f\") kernel.trace(\"t\") (before) ");
}

TEST(SemanticsEmbedded, CodeInCNamesParameters) {
    const auto parameters = [](const std::string& code) {
        SemanticsOptions options;
        options.guru = true;
        const Analysis analysis("function f(x, yy) { x = 1; return yy + %{" + code +
                                    "%} } probe begin { println(f(1, 2)) }",
                                options);
        EXPECT_TRUE(analysis.program) << analysis.errors();
        std::string text;
        program::walk_expressions(
            *analysis.program->functions.at(0)->body, [&](program::Expression& node) {
                if (node.kind != ExpressionKind::EmbeddedC)
                    return;
                for (const auto& each : program::as<program::EmbeddedC>(node).parameters)
                    text += each.name + " ";
            });
        return text;
    };
    EXPECT_EQ(parameters("STAP_ARG_x"), "x ");
    EXPECT_EQ(parameters("(STAP_ARG_yy) + STAP_ARG_x + STAP_ARG_yy"), "yy x ");
    EXPECT_EQ(parameters("STAP_ARG_xy + STAP_ARG_y + STAP_ARG_ + MY_STAP_ARG_x"), "");
    EXPECT_EQ(parameters("3 + _STAP_ARG_x"), "");
    EXPECT_EQ(parameters("1"), "");
}

TEST(SemanticsAliases, AskWhetherTheProbeWrites) {
    const std::string library =
        "probe mine = kernel.function(\"f\") { y = 1; if (@probewrite(y)) println(\"yes\") }";
    EXPECT_NE(body("probe mine { y = 2; println(y) }", library).find("if 1"), std::string::npos)
        << body("probe mine { y = 2; println(y) }", library);
    EXPECT_NE(body("probe mine { println(y) }", library).find("if 0"), std::string::npos)
        << body("probe mine { println(y) }", library);
}

// Also those of the probed function; anything else is no variable.
TEST(SemanticsAliases, AskWhatTheProbeWrites) {
    SemanticsOptions options;
    options.guru = true;
    const auto asked = [&](const std::string& operand, const std::string& own) {
        const std::string text =
            body("probe mine { " + own + " }",
                 "probe mine = kernel.function(\"f\") { y = 1; if (@probewrite(" + operand +
                     ")) println(y) }",
                 options);
        return text.find("if 1") != std::string::npos   ? "yes"
               : text.find("if 0") != std::string::npos ? "no"
                                                        : text;
    };
    EXPECT_EQ(asked("y", "y = 2; println(y)"), "yes");
    EXPECT_EQ(asked("y", "println(y)"), "no");
    EXPECT_EQ(asked("$x", "$x = 2"), "yes");
    EXPECT_EQ(asked("$x", "$y = 2; println($x)"), "no");
    EXPECT_NE(asked("5", "println(1)").find("@probewrite tests a variable"), std::string::npos)
        << asked("5", "println(1)");
}

TEST(SemanticsEmbedded, ConstantsOfCAreReckonedIfTheyAreNumbers) {
    SemanticsOptions options;
    options.guru = true;
    const auto shown_constant = [&](const std::string& text) {
        return body("probe begin { println(@const(\"" + text + "\")) }", "", options);
    };
    EXPECT_EQ(shown_constant("3 + 4 * 5"), "printf(\"%d\\n\", 23)");
    EXPECT_EQ(shown_constant("sizeof(int)"), "printf(\"%d\\n\", 4)");
    EXPECT_EQ(shown_constant("PAGE_SIZE"), "printf(\"%d\\n\", %{/* pure */ PAGE_SIZE%})");
}

TEST(SemanticsTimes, AreShownOfEachProbe) {
    SemanticsOptions options;
    options.times_probes = options.shown_probes = true;
    options.shown_every_ms = 500;
    const Analysis analysis("global n probe timer.s(1) { n++ } probe timer.s(2) { println(n) }",
                            options);
    ASSERT_TRUE(analysis.program) << analysis.errors();
    size_t lines = 0;
    std::string marks;
    for (const auto& probe : analysis.program->probes)
        program::walk_expressions(*probe->body, [&](program::Expression& node) {
            if (node.kind != ExpressionKind::Print)
                return;
            const std::string& shows = program::as<program::Print>(node).shows;
            lines += shows == DJS_SHOWS_PROBE;
            if (shows == DJS_SHOWS_BEGIN || shows == DJS_SHOWS_END)
                marks += shows;
        });
    for (const auto& probe : analysis.program->probes)
        EXPECT_EQ(probe->points.size(), probe->alias_names.size());
    EXPECT_EQ(lines, 4U); // of each one, with and without hits
    EXPECT_EQ(marks, "(snapshotsnapshot)");
    size_t regular = 0;
    for (const auto& probe : analysis.program->probes)
        for (const ast::ProbePoint* point : probe->points)
            regular += ast::to_string(*point) == "timer.ms(500)";
    EXPECT_EQ(regular, 1U);
    EXPECT_TRUE(analysis.program->probes.at(0)->timing);
    EXPECT_TRUE(analysis.program->probes.at(0)->has_switch);
}

} // namespace
} // namespace djstap::test
