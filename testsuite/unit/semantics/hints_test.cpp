// SPDX-License-Identifier: GPL-2.0-or-later
// What messages add: hints that depend on what stands there, and notes of other places.
#include "analysis.h"

namespace djstap::test {
namespace {

// The hint of the first message about a script, which has no functions but its own.
std::string first_hint(const std::string& script, const std::string& library = "") {
    const Analysis analysis(script, {}, library, false);
    const auto& all = analysis.diagnostics.all();
    EXPECT_FALSE(all.empty()) << script;
    return all.empty() ? "" : all.front().hint_text;
}

// What is reached through a target variable may be a pointer to characters.
TEST(SemanticsHints, TellHowNumbersBecomeTexts) {
    const auto of = [](const std::string& statements) {
        return first_hint("global n = 1 function own:long() { return 2 } "
                          "probe kernel.function(\"f\") { " +
                          statements + " }");
    };
    const std::string number = "sprint(…) makes a string of a number",
                      pointer = number + "; kernel_string(…) reads one through a pointer, "
                                         "user_string(…) one in user memory",
                      compared = "kernel_string(…) reads a string through a pointer, "
                                 "user_string(…) one in user memory";
    for (const char* value : {"$x", "$x->y", "@cast($x, \"t\")->a"}) {
        const std::string text = value;
        EXPECT_EQ(of("println(\"a\" . " + text + ")"), pointer) << text;
        EXPECT_EQ(of("println(" + text + " . \"a\")"), pointer) << text;
        EXPECT_EQ(of("println(" + text + " == \"a\")"), compared) << text;
        EXPECT_EQ(of("println(\"a\" == " + text + ")"), compared) << text;
    }
    EXPECT_EQ(of("v = $x; println(\"a\" . v->a)"), pointer);
    EXPECT_EQ(of("v = $x; println(v->a == \"a\")"), compared);
    for (const char* value : {"5", "n", "own()", "-$x", "(1 + 2)"}) {
        const std::string text = value;
        EXPECT_EQ(of("println(\"a\" . " + text + ")"), number) << text;
        EXPECT_EQ(of("println(" + text + " . \"a\")"), number) << text;
        EXPECT_EQ(of("println(" + text + " == \"a\")"), "") << text;
        EXPECT_EQ(of("println(\"a\" == " + text + ")"), "") << text;
    }
    EXPECT_EQ(of("println($x.name)"),
              "members are reached by ->, also those of embedded structures: $x->name");
    EXPECT_EQ(of("println(n.name)"), number);
}

TEST(SemanticsHints, AreOfTheAliasThatAllPointsHave) {
    const std::string library = "probe lib.both = lib.one, lib.two { held = 1; more = 2 }\n"
                                "probe lib.twice = begin, end { held = 1; __own = 2 }\n"
                                "probe lib.one = begin { }\nprobe lib.two = end { }\n"
                                "probe lib.one.return = begin { if (0) { zebracount = 1 } }\n"
                                "probe lib.twice.return = begin { }\n";
    const auto of = [&](const std::string& point, const std::string& name) {
        return first_hint("probe " + point + " { mine = 1; println(mine, " + name + " + 1) }",
                          library);
    };
    EXPECT_EQ(of("lib.one", "zebracount"), "it is a variable of lib.one.return");
    EXPECT_EQ(of("lib.one", "unheardof"), "");
    EXPECT_EQ(of("lib.twice", "zebracount"), "lib.twice has: held");
    // Of two points that other aliases lead to, neither says what the other one has.
    EXPECT_EQ(of("lib.both", "zebracount"), "");
    EXPECT_EQ(of("lib.both", "heldd"), "did you mean 'held'?");
    EXPECT_EQ(of("begin", "zebracount"), "");
}

// On both sides, in branches, and in what is executed behind the script's statements.
TEST(SemanticsHints, OfTheOtherEndAreFoundInAllItsParts) {
    const std::string library =
        "probe lib.way = begin { held = 1; if (0) { { zebracount = 1 } } else stripes = 2 }, "
        "{ outbound = 3 }\n"
        "probe lib.way.return = begin { kept = 1; kept++; if (0) whatremains = 4 }\n";
    const auto of = [&](const std::string& point, const std::string& name) {
        return first_hint("probe " + point + " { println(" + name + " + 1) }", library);
    };
    for (const char* name : {"zebracount", "stripes", "outbound"})
        EXPECT_EQ(of("lib.way.return", name), "it is a variable of lib.way") << name;
    EXPECT_EQ(of("lib.way", "whatremains"), "it is a variable of lib.way.return");
    EXPECT_EQ(of("lib.way", "nowhere_else"), "lib.way has: held, zebracount, stripes, outbound");
}

TEST(SemanticsHints, ListAtMostThirtyVariables) {
    const auto hint = [](int count) {
        std::string assigned;
        for (int i = 1; i <= count; i++)
            assigned += "v" + std::to_string(i) + " = 1; ";
        return first_hint("probe lib.many { println(zebracount + 1) }",
                          "probe lib.many = begin { " + assigned + " }\n");
    };
    std::string list = "lib.many has: v1";
    for (int i = 2; i <= 29; i++)
        list += ", v" + std::to_string(i);
    EXPECT_EQ(hint(1), "lib.many has: v1");
    EXPECT_EQ(hint(29), list);
    EXPECT_EQ(hint(30), list + ", v30");
    EXPECT_EQ(hint(31), list + ", v30, …");
    EXPECT_EQ(hint(32), list + ", v30, …");
}

// Only where nothing is between them is a dot that of a number, or of a member.
TEST(SemanticsHints, OfDotsDependOnWhatTouchesThem) {
    const auto of = [](const std::string& statements) {
        return first_hint("global n = 1 probe kernel.function(\"f\") { " + statements + " }");
    };
    const auto number = [](const std::string& text) {
        return "numbers are integers; string_to_fp(\"" + text +
               "\") makes a floating-point number for fp_add() and the like";
    };
    EXPECT_EQ(of("println(1.5)"), number("1.5"));
    EXPECT_EQ(of("println(12.345)"), number("12.345"));
    for (const char* apart : {"1 . 5", "1. 5", "1 .5", "1.n"})
        EXPECT_EQ(of("println(" + std::string(apart) + ")"), "sprint(…) makes a string of a number")
            << apart;
    const std::string member = "members are reached by ->, also those of embedded structures: ";
    EXPECT_EQ(of("println($x->y.name)"), member + "$x->y->name");
    EXPECT_EQ(of("println($x.name->more)"), member + "$x->name");
    for (const char* other : {"println($x . name)", "println($x. name)", "println($x .name)",
                              "println($x.n)", "name = \"\"; println($x.name)"})
        EXPECT_EQ(of(other).substr(0, 7), "sprint(") << other;
}

// Nor does a function have one.
TEST(SemanticsHints, OfFunctionsNameNoAlias) {
    const Analysis analysis("function f() { return zebracount + 1 } probe begin { println(f()) }",
                            {}, "", false);
    EXPECT_TRUE(analysis.program) << analysis.errors();
    ASSERT_EQ(analysis.count("never-assigned"), 1U) << analysis.errors();
    EXPECT_EQ(analysis.diagnostics.all().front().hint_text, "");
}

// A message's own place needs no note.
TEST(SemanticsConflicts, NotesAreElsewhere) {
    const auto notes = [](const std::string& script) {
        const Analysis analysis(script, {}, "", false);
        EXPECT_EQ(analysis.diagnostics.error_count(), 1U) << script << analysis.errors();
        std::string text;
        for (const Diagnostic& each : analysis.diagnostics.all())
            for (const DiagnosticNote& note : each.notes)
                text += note.message + "; ";
        return text;
    };
    const std::string first = "it was used as a number here; ";
    EXPECT_EQ(notes("probe begin { x = 1; x = \"a\"; println(x) }"), first);
    EXPECT_EQ(notes("probe begin { y = \"a\"; x = 1; x = y; println(x, y) }"),
              first + "the value became a string here; ");
    EXPECT_EQ(notes("probe begin { x = 1; x = x ? \"a\" : \"b\"; println(x) }"), first);
    EXPECT_EQ(notes("global n = 1 probe begin { println(n . \"a\") }"), first);
    // The index is a part of what is used as a string.
    EXPECT_EQ(notes("global a probe begin { println(a[a[1] + 1] . \"\") }"), "");
    // Two uses of a macro are two places.
    EXPECT_EQ(notes("@define m %( x %) global x probe begin { println(@m + 1); println(@m . "
                    "\"b\") }"),
              first);
}

} // namespace
} // namespace djstap::test
