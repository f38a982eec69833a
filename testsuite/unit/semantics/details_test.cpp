// SPDX-License-Identifier: GPL-2.0-or-later
// What a typed program has besides statements: comments of globals, what C code uses, alternatives.
#include "dumps.h"

namespace djstap::test {
namespace {

// Snapshots have what a comment says of a global.
TEST(SemanticsComments, AreThoseBehindOrAboveAGlobal) {
    const auto described = [](const std::string& declaration) {
        SemanticsOptions options;
        options.shown_every_ms = 1000;
        options.shown_whole = true;
        const Analysis analysis(declaration + "\nprobe timer.s(1) { n = 1 }", options);
        EXPECT_TRUE(analysis.program) << analysis.errors();
        return analysis.program ? analysis.global("n").description : "";
    };
    EXPECT_EQ(described("global n # packets"), "packets");
    EXPECT_EQ(described("global n // packets "), "packets");
    EXPECT_EQ(described("global n /* packets */"), "packets");
    EXPECT_EQ(described("# packets\nglobal n"), "packets");
    EXPECT_EQ(described("// of all\n# packets\nglobal n"), "of all packets");
    EXPECT_EQ(described("/* packets */\nglobal n"), "packets");
    EXPECT_EQ(described("#!/usr/bin/stap\nglobal n"), "");
    EXPECT_EQ(described("#!/usr/bin/stap\n# packets\nglobal n"), "packets");
    EXPECT_EQ(described("# packets\n#! also\nglobal n"), "packets ! also");
    EXPECT_EQ(described("# something else\n\nglobal n"), "");
    EXPECT_EQ(described("global m = \"# no\", n # packets"), "packets");
    EXPECT_EQ(described("global n, m = \"# no\" # packets"), "packets");
    EXPECT_EQ(described("global n, m = \"\\\"# no\" # packets"), "packets");
    EXPECT_EQ(described("global n, m = \"\\\\\" # packets"), "packets");
    EXPECT_EQ(described("global n"), "");
}

TEST(SemanticsEmbedded, CodeInCLocksWhatItNames) {
    SemanticsOptions options;
    options.guru = true;
    const auto locks = [&](const std::string& code) {
        const Analysis analysis("global r, w function f:long(s:string, n:long) %{ " + code +
                                    " STAP_RETURN(1); %} probe timer.s(1) { println(f(\"a\", 2)) } "
                                    "probe timer.s(2) { r = 1; w = 2; println(r, w) }",
                                options);
        EXPECT_TRUE(analysis.program) << analysis.errors();
        if (!analysis.program)
            return std::string();
        const auto& function = *analysis.program->functions.at(0);
        EXPECT_EQ(function.locals.at(0).type, program::Type::String);
        EXPECT_EQ(function.locals.at(1).type, program::Type::Long);
        const program::Effects& effects = analysis.program->probes.at(0)->effects;
        std::string text;
        for (const program::Global* each : effects.reads)
            text += "r:" + each->name + " ";
        for (const program::Global* each : effects.writes)
            text += "w:" + each->name + " ";
        return text;
    };
    EXPECT_EQ(locks(""), "");
    EXPECT_EQ(locks("/* pragma:read:r */"), "r:r ");
    EXPECT_EQ(locks("/* pragma:write:w */"), "w:w ");
    EXPECT_EQ(locks("/* pragma:read:r */ /* pragma:write:w */"), "r:r w:w ");
    EXPECT_EQ(locks("/* pragma:write:r */ /* pragma:read:r */"), "r:r w:r ");
}

// What C code reads is not printed at the end.
TEST(SemanticsEmbedded, CodeInCReadsGlobals) {
    SemanticsOptions options;
    options.guru = true;
    const auto probes = [&](const std::string& code) {
        const Analysis analysis("global n probe timer.s(1) { n++ } probe end { println(%{ " + code +
                                    " 1 %}) }",
                                options);
        EXPECT_TRUE(analysis.program) << analysis.errors();
        return analysis.program ? analysis.program->probes.size() : 0;
    };
    EXPECT_EQ(probes("/* pragma:read:n */"), 2U);
    EXPECT_EQ(probes(""), 3U);
    EXPECT_EQ(probes("/* pragma:write:n */"), 3U);
}

TEST(SemanticsUnused, FunctionsKeepWhatTheyUse) {
    const Analysis analysis("function f(a, b) { x = 1; y = b; z = 2; return y } "
                            "function index() { return 1 } function unused() { return 2 } "
                            "probe kernel.function(\"f\") { println(f(1, 2), $p[index()]) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    std::string text;
    for (const auto& function : analysis.program->functions) {
        text += function->name + ":";
        for (const program::Local& local : function->locals)
            text += local.name + " ";
    }
    EXPECT_EQ(text, "f:a b y index:");
}

TEST(SemanticsTypes, AssignmentsThatReckonNeedNumbers) {
    const auto errors = [](const std::string& statements) {
        return Analysis("probe begin { " + statements + " println(x) }").diagnostics.error_count();
    };
    for (const char* good : {"x = 1; x += 2", "x = \"a\"; x .= \"b\"", "x = 1; x <<= 3"})
        EXPECT_EQ(errors(good), 0U) << good;
    for (const char* bad : {"x = 1; x += \"a\"", "x = \"a\"; x += 1", "x = \"a\"; x .= 1",
                            "x = 1; x .= \"a\"", "x = \"a\"; x++", "x = 1; x <<= \"a\""})
        EXPECT_EQ(errors(bad), 1U) << bad;
    const Analysis unknown("function f(y) { x = y; return x } probe begin { println(1) f(z) }");
    EXPECT_EQ(unknown.diagnostics.error_count(), 1U) << unknown.errors();
}

// A variable that only gets the value of another one, and the other way round, has no type.
TEST(SemanticsTypes, CirclesOfVariablesHaveNone) {
    const auto told = [](const std::string& statements) {
        const Analysis analysis("function nothing() { exit() } probe begin { " + statements +
                                    " exit() }",
                                {}, "function exit() { println(1) }\n", false);
        EXPECT_EQ(analysis.diagnostics.error_count(), 1U) << statements << analysis.errors();
        EXPECT_EQ(analysis.count("unresolved-type"), 1U) << statements << analysis.errors();
        return analysis.diagnostics.all().front().message;
    };
    EXPECT_EQ(told("x = y; y = x;"), "cannot infer the type of 'y'");
    EXPECT_EQ(told("x = y; y = z; z = x;"), "cannot infer the type of 'y'");
    EXPECT_EQ(told("x = nothing();"), "cannot infer the type of the value of 'nothing'");
}

// A value for what exists, but is unused, is no mistake.
TEST(SemanticsOptions, ValuesAreForNumbersAndStrings) {
    const auto tags = [](const std::string& name, const std::string& value) {
        SemanticsOptions options;
        options.global_values = {{name, value}};
        const Analysis analysis("global n = 1, s = \"a\", t, a, unused = 2 probe begin { t <<< 1; "
                                "a[1] = 2; println(n, s, @count(t), a[1]) }",
                                options);
        std::string text;
        for (const Diagnostic& each : analysis.diagnostics.all())
            text += std::string(info(each.kind).tag) + " ";
        return text;
    };
    const std::string warning = "unused-global ";
    EXPECT_EQ(tags("n", "2"), warning);
    EXPECT_EQ(tags("s", "2"), warning);
    EXPECT_EQ(tags("unused", "3"), warning);
    EXPECT_EQ(tags("t", "3"), warning + "bad-global-value ");
    EXPECT_EQ(tags("a", "3"), warning + "bad-global-value ");
    EXPECT_EQ(tags("nowhere", "3"), warning + "unknown-global ");
}

// What is read at the return is reached from what the entry had.
TEST(SemanticsReturnProbes, ReadBehindAnIndexAtTheReturn) {
    const auto shown = [](const std::string& value) {
        const Analysis analysis(
            "probe kernel.function(\"f\").return { n = 1; println(" + value + ") }", {}, "", false);
        EXPECT_TRUE(analysis.program) << analysis.errors();
        const std::string dump = analysis.dump();
        const size_t at = dump.find("    entry#0");
        return at == std::string::npos ? dump : dump.substr(at);
    };
    const std::string set = "    n = 1\n";
    EXPECT_EQ(shown("$p->a[n]->b"),
              "    entry#0 = $p->a\n" + set + "    printf(\"%d\\n\", (entry#0)[n]->b)\n");
    EXPECT_EQ(shown("$p->a[1]->b[n]"),
              "    entry#0 = $p->a[1]->b\n" + set + "    printf(\"%d\\n\", (entry#0)[n])\n");
    EXPECT_EQ(shown("&$p->a[n]->b"),
              "    entry#0 = $p->a\n" + set + "    printf(\"%d\\n\", &(entry#0)[n]->b)\n");
    EXPECT_EQ(shown("$p[n]$"),
              "    entry#0 = $p\n" + set + "    printf(\"%s\\n\", (entry#0)[n]$)\n");
}

TEST(SemanticsProgram, ValuesAreShownAsTheyAreWritten) {
    EXPECT_EQ(body("probe kernel.function(\"f\") { println($x$, $x$$, $x->y[2]$, &$x->y) }"),
              "printf(\"%s%s%s%d\\n\", $x$, $x$$, $x->y[2]$, &$x->y)");
    // Of a marker, these are strings; elsewhere they are variables, which are numbers.
    EXPECT_EQ(body("probe kernel.mark(\"m\") { println($name, $format, $arg1) }"),
              "printf(\"%s%s%d\\n\", $name, $format, $arg1)");
    EXPECT_EQ(body("probe kernel.function(\"f\") { println($name, $format, $value) }"),
              "printf(\"%d%d%d\\n\", $name, $format, $value)");
    EXPECT_EQ(body("probe begin { println(\"\\177\\001\\t\") }"),
              "printf(\"%s\\n\", \"\\177\\001\\t\")");
    EXPECT_EQ(body("global a probe begin { a[1] = 2; foreach (v = k in a) println(k, v) }"),
              "a[1] = 2 | foreach (v = [k] in a) |     printf(\"%d%d\\n\", k, v)");
    EXPECT_EQ(
        body("global a probe begin { a[1] = 2; foreach (v- = k in a limit 3) println(k, v) }"),
        "a[1] = 2 | foreach (v = [k] in a sorted by value, falling limit 3) |     "
        "printf(\"%d%d\\n\", k, v)");
}

TEST(SemanticsTypes, ConflictsOfElementsNameTheirArray) {
    EXPECT_NE(Analysis("global a probe begin { a[1] = 1; a[2] = \"x\"; println(a[1]) }")
                  .errors()
                  .find("an element of 'a' is a string here"),
              std::string::npos);
    EXPECT_NE(Analysis("global a probe begin { a[1] = 1; a[\"x\"] = 1; println(a[1]) }")
                  .errors()
                  .find("the key of 'a' is a string here"),
              std::string::npos);
    EXPECT_NE(Analysis("global a probe begin { a[1, 2] = 1; a[1, \"x\"] = 1; println(a[1, 2]) }")
                  .errors()
                  .find("key 2 of 'a' is a string here"),
              std::string::npos);
}

TEST(SemanticsFunctions, OverloadsBehindOneThatAlwaysEndsAreGone) {
    const auto names = [](const std::string& functions) {
        const Analysis analysis("global n " + functions +
                                " probe timer.s(1) { println(f(1)) } probe begin { n = 1 }");
        EXPECT_TRUE(analysis.program) << analysis.errors();
        size_t count = 0;
        for (const auto& function : analysis.program->functions)
            count += function->name == "f";
        return count;
    };
    EXPECT_EQ(names("function f(a) { return 1 } function f(a) { return 2 }"), 1U);
    EXPECT_EQ(names("function f(a) { if (a) next; return 1 } function f(a) { return 2 }"), 2U);
    EXPECT_EQ(names("function f(a) { if (a) next; return 1 } function f(a) { return 2 } "
                    "function f(a) { return 3 }"),
              2U);
    EXPECT_EQ(names("function f(a) { while (n) { if (n) { n--; next } } return 1 } "
                    "function f(a) { if (n) return; return 2 }"),
              2U);
    // Each number of arguments once.
    const Analysis analysis("function f(a) { next } function f(a) { return 1 } "
                            "function f(a, b) { return 2 } probe begin { println(f()) }");
    EXPECT_NE(analysis.errors().find("'f' takes 1 or 2 arguments, but 0 are given"),
              std::string::npos)
        << analysis.errors();
}

TEST(SemanticsAliases, AlternativesOfALibraryMayHaveErrors) {
    const std::string library = "probe lib.both = lib.bad, lib.good {}\n"
                                "probe lib.bad = begin { x = no_such_function() }\n"
                                "probe lib.good = end { y = 1 }\n";
    const Analysis analysis("probe lib.both { exit() }", {}, library);
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_EQ(analysis.errors(), "");
    ASSERT_EQ(analysis.program->probes.size(), 1U);
    EXPECT_EQ(ast::to_string(*analysis.program->probes[0]->points.at(0)), "end");
    const Analysis none("probe lib.bad { exit() }", {}, library);
    EXPECT_EQ(none.count("unknown-function"), 1U) << none.errors();
}

// What aliases without bodies stand for is one probe, also if nobody reads what the bodies prepare.
TEST(SemanticsAliases, WithoutBodiesAreOneProbe) {
    for (const char* body : {"", "x = 1"}) {
        const Analysis analysis("probe lib.both { exit() }", {},
                                "probe lib.both = lib.one, lib.two {}\nprobe lib.one = begin { " +
                                    std::string(body) + " }\nprobe lib.two = end { " + body +
                                    " }\n");
        ASSERT_TRUE(analysis.program) << analysis.errors();
        ASSERT_EQ(analysis.program->probes.size(), 1U) << body;
        const program::Probe& probe = *analysis.program->probes[0];
        ASSERT_EQ(probe.points.size(), 2U) << body;
        EXPECT_EQ(ast::to_string(*probe.points[1]), "end");
        EXPECT_EQ(probe.point_numbers, (std::vector<uint32_t>{0, 1})) << body;
        EXPECT_EQ(probe.alias_names, (std::vector<std::vector<std::string>>{
                                         {"lib.both", "lib.one"}, {"lib.both", "lib.two"}}))
            << body;
        EXPECT_EQ(probe.point_traits.size(), 2U) << body;
    }
}

// Points at which the same bodies run, in the same order, are one probe.
TEST(SemanticsAliases, PointsWithTheSameBodiesAreOneProbe) {
    const std::string library = "probe lib.before = begin, end { println(1) }\n"
                                "probe lib.behind += error, timer.s(3) { println(3) }\n";
    const auto points = [&](const std::string& named) {
        const Analysis analysis("probe " + named + " { println(2) }", {}, library, false);
        EXPECT_TRUE(analysis.program) << analysis.errors();
        std::string text;
        for (const auto& probe : analysis.program->probes) {
            for (const ast::ProbePoint* point : probe->points)
                text += ast::to_string(*point) + " ";
            text += "| ";
        }
        return text;
    };
    EXPECT_EQ(points("lib.before"), "begin end | ");
    EXPECT_EQ(points("lib.behind"), "error timer.s(3) | ");
    EXPECT_EQ(points("lib.before, lib.behind"), "begin end | error timer.s(3) | ");
    EXPECT_EQ(points("lib.behind, timer.s(1)"), "error timer.s(3) | timer.s(1) | ");
    EXPECT_EQ(points("timer.s(1), lib.behind, timer.s(2)"),
              "timer.s(1) timer.s(2) | error timer.s(3) | ");
}

TEST(SemanticsNames, SimilarVariablesAreOffered) {
    const Analysis analysis("probe begin { count = 1; println(count, cuont + 1) }");
    EXPECT_NE(analysis.errors().find("did you mean 'count'?"), std::string::npos)
        << analysis.errors();
}

// A library's names may go on from the name of a family of points.
TEST(SemanticsAliases, NamesThatGoOnWronglyAreTold) {
    const std::string library =
        "probe timer.one.read = begin {}\nprobe timer.one.write = begin {}\n"
        "probe lib.two = begin {}\n";
    const auto told = [&](const std::string& point) {
        const Analysis analysis("probe " + point + " { exit() }", {}, library);
        const auto& all = analysis.diagnostics.all();
        return all.empty() ? "" : all.front().message + "; " + all.front().hint_text;
    };
    const std::string list = "djstap -l 'timer.one.*' lists the names that follow";
    EXPECT_EQ(told("timer.one.read"), "");
    EXPECT_EQ(told("timer.one.raed"), "unknown probe point component 'raed'; did you mean 'read'?");
    EXPECT_EQ(told("timer.one.zzzzzz"), "unknown probe point component 'zzzzzz'; " + list);
    EXPECT_EQ(told("timer.one"), "unknown probe point 'timer.one'; " + list);
    EXPECT_EQ(told("lib.tow"), "unknown probe point 'lib.tow'; did you mean 'lib.two'?");
}

// What an alias stands for in vain is told at the alias, with the probe that needs it.
TEST(SemanticsAliases, UnknownPointsOfAliasesNameTheProbe) {
    const std::string library =
        "probe lib.gone = nowhere.at.all {}\nprobe lib.may = nowhere.at.all ?, begin {}\n";
    const Analysis gone("probe end { println(1) }\nprobe lib.gone { println(2) }", {}, library,
                        false);
    ASSERT_EQ(gone.count("unknown-probe-point"), 1U) << gone.errors();
    const Diagnostic& told = gone.diagnostics.all().front();
    EXPECT_EQ(told.message, "unknown probe point 'nowhere.at.all'");
    ASSERT_EQ(told.notes.size(), 1U);
    EXPECT_EQ(told.notes[0].message, "required by this probe point");
    EXPECT_EQ(gone.sources.position(told.notes[0].range).line, 2U);
    const Analysis own("probe nowhere.at.all { println(2) }", {}, library, false);
    ASSERT_EQ(own.count("unknown-probe-point"), 1U) << own.errors();
    EXPECT_TRUE(own.diagnostics.all().front().notes.empty());
    const Analysis may("probe lib.may { println(2) }", {}, library, false);
    ASSERT_TRUE(may.program) << may.errors();
    EXPECT_EQ(may.program->probes.at(0)->points.size(), 1U);
}

TEST(SemanticsStorage, ConditionsAskForWhatTheyRead) {
    const Analysis analysis("global s, t probe timer.s(1) if (@max(s) > 3) { exit() } "
                            "probe timer.s(2) { s <<< 1; t <<< 1 } "
                            "probe kernel.function(\"f\").return { println(@entry(@min(t))) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_TRUE(analysis.global("s").statistic.max);
    EXPECT_FALSE(analysis.global("s").statistic.min || analysis.global("s").statistic.sum);
    EXPECT_TRUE(analysis.global("t").statistic.min);
    // Whether a bucket exists does not depend on what is in it.
    const auto histogram = [](const std::string& use) {
        const Analysis other("global s probe timer.s(1) { s <<< 1; println(@count(s)); println(" +
                             use + ") }");
        EXPECT_TRUE(other.program) << other.errors();
        return other.program ? other.global("s").statistic.histogram
                             : program::StatisticNeeds::Histogram::Linear;
    };
    using Histogram = program::StatisticNeeds::Histogram;
    EXPECT_EQ(histogram("3 in @hist_log(s)"), Histogram::None);
    EXPECT_EQ(histogram("@hist_log(s)[3]"), Histogram::Log);
    EXPECT_EQ(histogram("@hist_log(s)"), Histogram::Log);
    EXPECT_FALSE(analysis.global("t").statistic.max);
}

TEST(SemanticsProgram, FunctionsAreShownWithTheirVariables) {
    expect_dump("function f(a) { x = a; s = \"\"; println(x, s); return x } probe begin { "
                "print(f(1)) }",
                "function f(a: long): long\n"
                "    # prints, strings\n"
                "    local x: long, s: string\n"
                "    x = a\n"
                "    s = \"\"\n"
                "    printf(\"%d%s\\n\", x, s)\n"
                "    return x\n"
                "probe begin\n"
                "    # prints, strings\n"
                "    printf(\"%d\", f(1))\n");
}

} // namespace
} // namespace djstap::test
