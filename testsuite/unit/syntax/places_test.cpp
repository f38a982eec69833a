// SPDX-License-Identifier: GPL-2.0-or-later
// What each message is about, and what comes close to a mistake and is none.
#include "parsing.h"

namespace djstap::test {
namespace {

// The first diagnostic: "line:column: text", where the text is what it underlines.
std::string underlined(const std::string& script, const std::string& message, bool hint = false,
                       bool macros = false) {
    Parsing parsing;
    Diagnostics diagnostics(parsing.sources);
    const uint32_t source = parsing.sources.add("t.stp", script, macros);
    if (macros)
        EXPECT_FALSE(
            parse_macro_file(parsing.sources, source, parsing.context, parsing.macros, diagnostics))
            << script;
    else
        parse_file(parsing.sources, source, parsing.context, parsing.macros, diagnostics);
    if (diagnostics.all().empty())
        return "nothing";
    const Diagnostic& first = diagnostics.all().front();
    EXPECT_NE((hint ? first.hint_text : first.message).find(message), std::string::npos)
        << script << "\n"
        << render_all(diagnostics);
    EXPECT_EQ(diagnostics.all().size(), 1U) << render_all(diagnostics);
    const LineColumn place = parsing.sources.position(first.range);
    return std::to_string(place.line) + ":" + std::to_string(place.column) + ": " +
           std::string(parsing.sources.text(first.range));
}

struct Place {
    const char* script;
    const char* message; // part of it
    const char* place;
};

TEST(Places, OfWords) {
    for (const auto& [script, message, place] : std::initializer_list<Place>{
             {"probe begin {}\n  /* x\n y", "comment", "2:3: /*"},
             {"probe begin {}\n %{ x\n y", "C", "2:2: %{"},
             {"probe begin { x = \"a\\qbc\" }", "'\\q'", "1:21: \\q"},
             {"probe begin { x = \"abc\n}", "", "1:19: \"abc"},
             {"probe begin { x = 12a }", "a letter follows", "1:19: 12a"},
             {"probe begin { x = 0xU }", "a digit is not hexadecimal", "1:19: 0xU"},
             {"probe begin { x = 1L }", "no suffix", "1:19: 1L"},
             {"probe a, probe b {}", "unexpected 'probe'", "1:10: probe"},
             {"probe a, function b() {}", "unexpected 'function'", "1:10: function"},
             {"probe a, global b", "unexpected 'global'", "1:10: global"},
             {"probe begin { x = 07f }", "a letter follows", "1:19: 07f"},
             {"probe begin { x = 20000000000000000000 }", "does not fit", // 10 times what fits
              "1:19: 20000000000000000000"},
             {"probe begin { x = 0x10000000000000000 }", "does not fit",
              "1:19: 0x10000000000000000"},
             {"probe begin { x = 02000000000000000000000 }", "does not fit",
              "1:19: 02000000000000000000000"}})
        EXPECT_EQ(underlined(script, message), place) << script;
    std::string zero = "probe begin { x }";
    zero[14] = '\0';
    EXPECT_EQ(underlined(zero, "text"), std::string("1:15: ") + '\0');
}

TEST(Places, OfConditionsAndMacros) {
    for (const auto& [script, message, place] : std::initializer_list<Place>{
             {"%( 1 == \"a\" %? global a %)", "expected a number", "1:9: \"a\""},
             {"%( \"a\" == 1 %? global a %)", "expected a string", "1:11: 1"},
             {"%( 1 == 1 2 %? global a %)", "'&&', '||' or '%?'", "1:11: 2"},
             {"%( arch == %? global a %)", "'%?'", "1:9: =="},
             {"thing %( 1 %) global a", "expected '%?'", "1:12: %)"},
             {"%( 1 %) global a", "expected '%?'", "1:6: %)"},
             {"@define", "expected the macro's name", "1:1: @define"},
             {"@define m(", "expected a parameter's name", "1:10: ("},
             {"@define m(a", "expected ',' or ')'", "1:11: a"},
             {"@define m(a,", "expected a parameter's name", "1:12: ,"},
             {"@define m(a b) %( 1 %)", "unexpected 'b'", "1:13: b"},
             {"@define m(a) 5 %( 1 %)", "unexpected '5'", "1:14: 5"},
             {"@define m() %( 1 %) global a = @m(5)", "takes 0 arguments, but 1 is given",
              "1:32: @m"},
             {"@define m(a, b) %( 1 %) global a = @m()", "takes 2 arguments, but 1 is given",
              "1:36: @m"}})
        EXPECT_EQ(underlined(script, message), place) << script;
}

TEST(Places, InFilesOfMacros) {
    EXPECT_EQ(underlined("@define a %( 1 %)\n global b", "global", false, true), "2:2: global");
    EXPECT_EQ(underlined("@define a %( 1 %)\n@define a %( 2 %)", "twice", false, true),
              "2:1: @define a");
    // What cannot be read or decided ends the file.
    EXPECT_EQ(underlined("5 /* x", "comment", false, true), "1:3: /*");
    EXPECT_EQ(underlined("%( 1 == %? @define a %( 1 %) %)\n5", "'%?'", false, true), "1:6: ==");
    EXPECT_EQ(underlined("%( 1 == 1 %? 5 %)\n6", "'5'", false, true), "1:14: 5");
    EXPECT_EQ(underlined("@define a 5\n6", "'5'", false, true), "1:11: 5");
}

TEST(Places, OfWhatIsRefused) {
    for (const auto& [script, message, place] : std::initializer_list<Place>{
             {"probe begin { a[*] = 1 }", "this element", "1:15: a[*]"},
             {"probe begin { a[1, *] = 1 }", "this element", "1:15: a[1, *]"},
             {"probe begin { a[*, 1]++ }", "this element", "1:15: a[*, 1]"},
             {"probe begin { @hist_log(s)[1] = 2 }", "this element", "1:15: @hist_log(s)[1]"},
             {"probe begin { $x$ = 1 }", "of a target variable", "1:15: $x$"},
             {"probe begin { $x->y$$ = 1 }", "of a target variable", "1:15: $x->y$$"},
             {"probe begin { &$x = 1 }", "of a target variable", "1:15: &$x"},
             {"probe begin { &$x->y = 1 }", "of a target variable", "1:15: &$x->y"},
             {"probe begin { @cast(p, \"t\")->a$ = 1 }", "of a target variable",
              "1:15: @cast(p, \"t\")->a$"},
             {"probe begin { &@cast(p, \"t\")->a = 1 }", "of a target variable",
              "1:15: &@cast(p, \"t\")->a"},
             {"probe begin { x->y$ = 1 }", "of a target variable", "1:15: x->y$"},
             {"probe begin { &x->y = 1 }", "of a target variable", "1:15: &x->y"},
             {"probe begin { x = $x$->y }", "the printed form of a value", "1:22: ->y"},
             {"probe begin { x = $x->y$[1] }", "the printed form of a value", "1:25: [1]"},
             {"probe begin { x = \"a\"->y }", "a string, which has no members", "1:22: ->y"},
             {"probe begin { x = sprint(1)->y }", "a print function", "1:28: ->y"},
             {"probe begin { x = $a[*] }", "'*'", "1:21: [*]"},
             {"probe begin { x = &5 }", "", "1:19: &"},
             {"probe a? = begin {}", "'?'", "1:7: a?"},
             {"probe a! = begin {}", "'!'", "1:7: a!"},
             {"probe a if (x) = begin {}", "a condition", "1:7: a if (x)"},
             {"probe {a if (x), b}.c {}", "a condition is not allowed", "1:14: x"},
             {"probe {a!, b}.c {}", "'!' is not allowed", "1:9: !"},
             {"probe begin { x = @uderef(0, y) }", "1, 2, 4 or 8", "1:27: 0"},
             {"probe begin { x = @uderef(5, y) }", "1, 2, 4 or 8", "1:27: 5"},
             {"probe begin { x = @uderef(9, y) }", "1, 2, 4 or 8", "1:27: 9"},
             {"probe begin { printd() }", "printd requires", "1:15: printd"},
             {"probe begin { delete f(1) }", "the value of 'f'", "1:22: f(1)"},
             {"probe begin { x = $a if (&y) z }", "", "1:26: &"}})
        EXPECT_EQ(underlined(script, message), place) << script;
}

TEST(Places, OfWhatHasAHint) {
    for (const auto& [script, hint, place] : std::initializer_list<Place>{
             {"probe begin { if (a => 5) b }", "did you mean '>='?", "1:22: >"},
             {"probe begin { x = 1a }", "a hexadecimal number begins with 0x", "1:19: 1a"},
             {"probe begin { \x80 }", "only ASCII is allowed", "1:15: \x80"},
             {"probe begin { x = *$p }", "a pointer is dereferenced by an index: $p[0]", "1:19: *"},
             {"probe begin /x/ {}", "a condition is tested in the probe's body", "1:13: /"},
             {"probe begin { string x = 5 }", "local variables are not declared", "1:15: string"},
             {"probe begin { private x }", "globals are declared outside", "1:15: private"},
             {"x, y", "variables are declared with: global x", "1:1: x"},
             {"x: y", "a probe begins with the keyword 'probe': probe x", "1:1: x"},
             {"x { }", "a probe begins with the keyword 'probe': probe x", "1:1: x"},
             {"fn f(x) {}", "the syntax of a function", "1:1: fn"},
             {"sub f(x) {}", "the syntax of a function", "1:1: sub"},
             {"probe begin { for x c }", "enclose what follows 'for' in parentheses", "1:19: x"},
             {"\xef\xbb\xbfprobe begin {}", "byte order mark", "1:1: \xef\xbb\xbf"},
             {"probe\xc2\xa0 begin {}", "non-breaking space", "1:6: \xc2\xa0"},
             {"probe \xe2\x80\xaf begin {}", "non-breaking space", "1:7: \xe2\x80\xaf"},
             {"probe \xe3\x80\x80 begin {}", "non-breaking space", "1:7: \xe3\x80\x80"},
             {"probe \xe2\x80\x8b begin {}", "zero-width space", "1:7: \xe2\x80\x8b"}})
        EXPECT_EQ(underlined(script, hint, true), place) << script;
}

// A bracket is named if what stands there cannot be within it.
TEST(Places, OfBracketsThatAreNotClosed) {
    const auto named = [](const std::string& script) {
        Parsing parsing;
        Diagnostics diagnostics(parsing.sources);
        parse_file(parsing.sources, parsing.sources.add("t.stp", script), parsing.context,
                   parsing.macros, diagnostics);
        if (diagnostics.all().empty())
            return std::string("nothing");
        std::string text;
        for (const DiagnosticNote& note : diagnostics.all().front().notes)
            text += std::to_string(note.range.begin) + " " + note.message;
        return text;
    };
    const auto not_closed = [](int at, const std::string& bracket) {
        return std::to_string(at) + " this '" + bracket + "' is not closed";
    };
    EXPECT_EQ(named("probe a { if (b { c } }"), not_closed(13, "("));
    EXPECT_EQ(named("probe a { f(b } "), not_closed(11, "("));
    EXPECT_EQ(named("probe a { f(b; c) }"), not_closed(11, "("));
    EXPECT_EQ(named("probe a { f(b probe c {}"), not_closed(11, "("));
    EXPECT_EQ(named("probe a { f(b function g() {}"), not_closed(11, "("));
    EXPECT_EQ(named("probe a { f(b"), not_closed(11, "("));
    EXPECT_EQ(named("probe a { x = b[1 { c } }"), not_closed(15, "["));
    EXPECT_EQ(named("probe a { x = b[1; }"), not_closed(15, "["));
    EXPECT_EQ(named("probe a { x = b[1 }"), not_closed(15, "["));
    EXPECT_EQ(named("probe a { if (b) {\nprobe c {}"), not_closed(17, "{"));
    // Anything else is a mistake within it.
    for (const char* within : {"probe a { f(b c) }", "probe a { f(b 5) }", "probe a { f(b ]) }",
                               "probe a { x = b[1 2] }", "probe a { x = b[1)] }",
                               "probe a { f(b if) }", "probe a { ) }", "probe a { global c }"})
        EXPECT_EQ(named(within), "") << within;
}

// Each line has its own.
TEST(Places, OfUnknownCharacters) {
    const std::string text = diagnostics_of("probe a { x = ' ' }\nprobe b { x = ' }", 2);
    EXPECT_NE(text.find("t.stp:1:15: error"), std::string::npos) << text;
    EXPECT_NE(text.find("t.stp:2:15: error"), std::string::npos) << text;
}

TEST(CloseToMistakes, AreNone) {
    for (const char* text :
         {"function f(x):1 {}\n", "probe a.string.private.function(\"x\").global {}\n",
          "probe a.5.b {}\n", "probe a.2b*3c.* {}\n", "probe a*.**b {}\n",
          "private function f(a:string):2 {}\n", "probe a.global, a.function {}\n"})
        EXPECT_EQ(canonical(text), text);
    for (const auto& [text, expected] : std::initializer_list<std::pair<const char*, const char*>>{
             // Words of other languages are names.
             {"my; x = 5", "my;\nx = 5;"},
             {"my\nx = 5", "my;\nx = 5;"},
             {"delete my x = 5", "delete my;\nx = 5;"},
             {"my++ x = 5", "my++;\nx = 5;"},
             {"int = 3", "int = 3;"},
             {"elif(b); { c }", "elif(b);\n{\n    c;\n}"},
             {"elif(b) if (c) d", "elif(b);\nif (c)\n    d;"},
             {"$x->y = 1", "$x->y = 1;"},
             {"$x[1] += 1", "$x[1] += 1;"},
             {"@cast(p, \"t\")->a = 1", "@cast(p, \"t\")->a = 1;"},
             {"x->y = 2", "x->y = 2;"},
             {"x->y++", "x->y++;"},
             {"x = $x->probe->string", "x = $x->probe->string;"},
             {"x = y->global", "x = y->global;"},
             {"while (a) -b", "while (a)\n    -b;"},
             {"for (;;) ++b", "for (; ; )\n    ++b;"},
             {"foreach (k in a) -b", "foreach (k in a)\n    -b;"},
             {"x = @uderef(1, p) + @uderef(2, p) + @kderef(4, p) + @kderef(8, p)",
              "x = @uderef(1, p) + @uderef(2, p) + @kderef(4, p) + @kderef(8, p);"},
             {"x = @uregister(0) + @uregister(16)", "x = @uregister(0) + @uregister(16);"},
             {"x = 0xabcdef", "x = 11259375;"},
             {"x = 0XABCDEF", "x = 11259375;"},
             {"x = 0xfedcba9876543210", "x = 0xfedcba9876543210;"},
             {"x = 01777777777777777777777", "x = 0xffffffffffffffff;"},
             {"x = \"\\x7\"", "x = \"\\007\";"}})
        EXPECT_EQ(canonical_statement(text), expected);
    EXPECT_EQ(canonical("probe a.{global,function} {}"), "probe a.global, a.function {}\n");
    // A backslash with x alone is unknown.
    EXPECT_EQ(underlined("probe begin { x = \"\\x\" }", "'\\x'"), "1:20: \\x");
}

// Ten thousand points, and not one more.
TEST(CloseToMistakes, AsManyPointsAsThereMayBe) {
    const std::string ten = "{a,b,c,d,e,f,g,h,i,j}";
    const auto points = [&](const std::string& more) {
        const Parsed parsed =
            Parsing().parse("probe " + ten + "." + ten + "." + ten + "." + ten + more + " {}");
        return parsed.file ? parsed.file->probes[0].points.size() : 0;
    };
    EXPECT_EQ(points(""), 10000U);
    EXPECT_EQ(points(".{a,b}"), 0U);
}

// A chain of macros, each of which uses the one before.
TEST(CloseToMistakes, MacrosNestAsDeeplyAsBrackets) {
    const auto nested = [](int macros) {
        std::string script = "@define m1 %( 7 %)\n";
        for (int i = 2; i <= macros; i++)
            script += "@define m" + std::to_string(i) + " %( @m" + std::to_string(i - 1) + " %)\n";
        return Parsing().parse(script + "global a = @m" + std::to_string(macros));
    };
    EXPECT_EQ(nested(256).text, "global a = 7\n");
    const Parsed deeper = nested(257);
    EXPECT_NE(deeper.diagnostics.find("more than 256 levels"), std::string::npos)
        << deeper.diagnostics;
}

TEST(CloseToMistakes, ArgumentsOfMacrosMayBeEmpty) {
    EXPECT_EQ(canonical("@define m(a) %( 1 @a %) global x = @m()"), "global x = 1\n");
    EXPECT_EQ(canonical("@define m(a, b) %( \"x\" @a @b %) global x = @m(, \"y\")"),
              "global x = \"xy\"\n");
    EXPECT_EQ(canonical("@define m(a, b) %( @b %) probe x { y = @m((1, 2), [3, 4] in c) }"),
              "probe x {\n    y = [3, 4] in c;\n}\n");
}

// From the first operator to the last one.
TEST(CloseToMistakes, MacrosAndParametersMayBeNamedLikeOperators) {
    for (const std::string name : {"cast", "defined", "max", "hist_log", "hist_linear"}) {
        EXPECT_EQ(
            canonical("@define m(" + name + ") %( @" + name + " + 1 %) probe x { y = @m(5) }"),
            "probe x {\n    y = 5 + 1;\n}\n")
            << name;
        const Parsed hidden =
            Parsing().parse("@define " + name + " %( 7 %) probe x { y = @" + name + " }");
        EXPECT_EQ(hidden.text, "probe x {\n    y = 7;\n}\n") << hidden.diagnostics;
        EXPECT_NE(hidden.diagnostics.find("the macro '@" + name + "' hides the operator"),
                  std::string::npos)
            << hidden.diagnostics;
    }
    // @define is none, nor is what goes on from one.
    EXPECT_EQ(Parsing().parse("@define castle %( 7 %) global x = @castle").diagnostics, "");
}

// The rules around the operators are those of the item, the probe, its body, the statement and the
// assignment; those within are the operand's three.
TEST(CloseToMistakes, RulesNestAsDeeplyAsTheLimit) {
    // Nothing is printed: that would be deep, too.
    const auto errors = [](size_t rules) {
        Parsing parsing;
        Diagnostics diagnostics(parsing.sources);
        const std::string script = "probe x { y = " + std::string(rules - 5 - 3, '!') + "1 }";
        const auto file = parse_file(parsing.sources, parsing.sources.add("t.stp", script),
                                     parsing.context, parsing.macros, diagnostics);
        EXPECT_EQ(file.has_value(), !diagnostics.has_errors());
        return diagnostics.all().empty() ? "" : diagnostics.all().front().message;
    };
    EXPECT_EQ(errors(3000), "");
    EXPECT_NE(errors(3001).find("more than 3000 levels"), std::string::npos);
}

// A probe within another one's body ends with the body.
TEST(CloseToMistakes, ProbesInBodiesEndWithThem) {
    for (const char* script : {"probe a { probe }\nglobal g", "function f() { probe b. }\n"
                                                              "function g() { x = a.b }"}) {
        const std::string text = diagnostics_of(script, 2);
        EXPECT_EQ(text.find("t.stp:2:"), std::string::npos) << text;
    }
}

TEST(CloseToMistakes, ConditionsOfOutputAndMode) {
    const auto holds = [](const std::string& condition) {
        Parsing parsing;
        parsing.context.output = "json";
        parsing.context.guru = true;
        const Parsed parsed = parsing.parse("%( " + condition + " %? global yes %)");
        return parsed.file ? !parsed.text.empty() : throw std::runtime_error(parsed.diagnostics);
    };
    EXPECT_TRUE(holds("output == \"json\""));
    EXPECT_FALSE(holds("output == \"text\""));
    EXPECT_TRUE(holds("guru_mode == 1"));
    EXPECT_FALSE(holds("guru_mode == 0"));
    EXPECT_TRUE(holds("guru_mode != 0"));
}

} // namespace
} // namespace djstap::test
