// SPDX-License-Identifier: GPL-2.0-or-later
// The consequences of errors: each diagnostic of the phase, one per mistake, at its place.
#include "parsing.h"

#include <array>
#include <set>

using namespace djstap;
using namespace djstap::test;

namespace {

struct Mistake {
    const char* tag;
    const char* script;
    const char* message; // contained in its first line
    const char* hint = "";
};

const Mistake mistakes[] = {
    {"syntax-error", "probe begin { x = (1 + 2 }",
     "t.stp:1:26: error: unexpected '}', expected ')'", "this '(' is not closed"},
    {"syntax-error", "probe begin { if (1) {\nprobe end {}",
     "t.stp:2:1: error: unexpected 'probe', expected a statement or '}'",
     "t.stp:1:22: note: this '{' is not closed"},
    {"syntax-error", "probe begin {\n",
     "t.stp:2:1: error: unexpected end of file, expected a statement or '}'", "t.stp:1:13: note"},
    {"syntax-error", "probe begin { x = }", "unexpected '}', expected an expression"},
    // The last word tells what the one before it is.
    {"syntax-error", "probe begin { f(",
     "t.stp:1:17: error: unexpected end of file, expected an expression or ')'"},
    {"syntax-error", "probe begin { return -",
     "t.stp:1:23: error: unexpected end of file, expected an expression"},
    {"syntax-error", "probe begin { x = (1 + (2) }", "unexpected '}', expected ')'",
     "t.stp:1:19: note: this '(' is not closed"},
    {"syntax-error", "probe begin { x = a[b[1] + [c in d] }", "unexpected '}'"},
    {"syntax-error", "probe kernel. {}", "expected a probe point [syntax-error]"},
    // What is long is cut.
    {"syntax-error", "probe begin { f(a bcdefghijklmnopqrstuvwxy) }",
     "unexpected 'bcdefghijklmnopqrstuvwxy', expected"},
    {"syntax-error", "probe begin { f(a bcdefghijklmnopqrstuvwxyz) }",
     "unexpected 'bcdefghijklmnopqrstuvwxy\xe2\x80\xa6', expected"},
    {"syntax-error", "probe begin printf(\"x\")", "unexpected 'printf', expected '{'",
     "enclosed in '{' and '}'"},
    {"syntax-error", "probe begin { f(a b) }",
     "t.stp:1:19: error: unexpected 'b', expected ')' or ','"},
    {"syntax-error", "probe begin { if (a) {} elif (b) {} }",
     "t.stp:1:25: error: unexpected 'elif'", "write 'else if'"},
    {"syntax-error", "probe begin { switch (b) {} }", "unexpected 'switch'",
     "if, while, for and foreach"},
    {"syntax-error", "probe begin { if (a =< 5) b }", "unexpected '<', expected an expression",
     "did you mean '<='?"},
    {"syntax-error", "probe begin { if (a === 5) b }", "unexpected '='",
     "'==' compares values of any type"},
    {"syntax-error", "probe begin { int x = 5 }", "unexpected 'int'", "not declared"},
    {"syntax-error", "probe begin { long x = 5 }", "unexpected 'long'", "not declared"},
    {"syntax-error", "probe begin { global x }", "unexpected 'global'", "outside of probes"},
    {"syntax-error", "probe begin { if a > b c }", "unexpected 'a', expected '('",
     "in parentheses"},
    {"syntax-error", "probe begin { foreach a in b c }", "unexpected 'a', expected '('",
     "enclose what follows 'foreach' in parentheses"},
    {"syntax-error", "probe begin { while a c }", "unexpected 'a', expected '('",
     "enclose what follows 'while' in parentheses"},
    {"syntax-error", "probe begin { else x }", "unexpected 'else'", "no 'if' before it"},
    {"syntax-error", "probe begin { catch (x) {} }", "unexpected 'catch'", "no 'try' before it"},
    {"syntax-error", "probe begin { try { x } }", "expected 'catch'"},
    {"syntax-error", "probe begin { next = 5 }", "unexpected '='", "'next' is a keyword"},
    {"syntax-error", "probe = 5", "t.stp:1:7: error: unexpected '='", "'probe' is a keyword"},
    {"syntax-error", "probe begin { try {} catch = 5 }", "unexpected '='", "'catch' is a keyword"},
    {"syntax-error", "function f(x:string = 5) {}", "t.stp:1:21: error: unexpected '='", ""},
    {"syntax-error", "probe begin { x = foreach }", "unexpected 'foreach'", "is a keyword"},
    {"syntax-error", "probe begin { x = string }", "unexpected 'string'", "'string' is a keyword"},
    {"syntax-error", "probe begin { string = 5 }", "unexpected 'string'", "are not declared"},
    {"syntax-error", "probe begin { foreach (x, y in a) {} }", "unexpected ','",
     "keys need brackets"},
    {"syntax-error", "probe begin { x = $a->5 }", "expected the name of a member"},
    {"syntax-error", "probe begin { foreach (x in 5) {} }",
     "unexpected '5', expected a statistic such as @count or the name of an array"},
    {"syntax-error", "prob begin {}",
     "t.stp:1:1: error: unexpected 'prob', expected a probe, a function or a global "
     "[syntax-error]",
     "did you mean 'probe'?"},
    {"syntax-error", "kprobe:vfs_read { x }", "unexpected 'kprobe'",
     "hint: write: probe kernel.function(\"NAME\") { … }"},
    {"syntax-error", "BEGIN { x }", "unexpected 'BEGIN'", "hint: write: probe begin { … }"},
    {"syntax-error", "func f(x) {}", "unexpected 'func'", "function name(parameters)"},
    {"syntax-error", "x[1] = 5", "unexpected 'x'", "global x"},
    {"syntax-error", "function f:5 {}",
     "unexpected '5', expected 'long' or 'string' [syntax-error]"},
    {"syntax-error", "def f(x) {}", "unexpected 'def'", "function name(parameters)"},
    {"syntax-error", "kernel.function(\"x\") {}", "unexpected 'kernel'",
     "begins with the keyword 'probe'"},
    {"syntax-error", "x = 5", "unexpected 'x'", "global x"},
    {"syntax-error", "print(5)", "unexpected 'print'", "probe begin"},
    {"syntax-error", "while (1) {}", "unexpected 'while'", "probe begin"},
    {"syntax-error", "if (1) {}", "unexpected 'if'", "probe begin"},
    {"syntax-error", "try { x }", "unexpected 'try'", "probe begin"},
    {"syntax-error", "probe begin {} }", "unexpected '}'", "an extra '}'"},
    {"syntax-error", "global 5", "expected the name of a variable"},
    {"syntax-error", "function (x) {}", "expected the name of a function"},
    {"not-text", "probe begin {}\n\x7f", nullptr},
    {"unknown-character", "probe begin { x = 'a' }", "t.stp:1:19: error: ''' is not part",
     "double quotes"},
    {"unknown-character", "probe begin { print(\xe2\x80\x9cx\xe2\x80\x9d) }", "\xe2\x80\x9c",
     "typographic"},
    {"unknown-character", "probe begin { %) }", "'%)'", "the syntax of a conditional is"},
    {"unknown-character", "probe begin { %? }", "'%?'", "the syntax of a conditional is"},
    {"unknown-character", "probe begin { %: }", "'%:'", "the syntax of a conditional is"},
    {"unknown-character", "probe begin { \\ }", "'\\'"},
    {"unterminated-comment", "probe begin {}\n  /* x\n", "t.stp:2:3: error"},
    {"unterminated-string", "probe begin { print(\"abc) }\nprobe end {}", "t.stp:1:21: error"},
    {"unterminated-embedded-c", "%{ x %)", "t.stp:1:1: error"},
    {"number-too-large", "probe begin { x = 18446744073709551616 }",
     "18446744073709551616 does not fit"},
    {"bad-number", "probe begin { x = 08 }", "octal", "hint: remove the leading 0"},
    {"bad-number", "probe begin { x = 019 }", "octal", "hint: remove the leading 0"},
    {"bad-number", "probe begin { x = 5UL }", "no suffix", "remove the suffix"},
    {"bad-number", "probe begin { x = 12ab }", "a letter follows",
     "hint: a hexadecimal number begins with 0x"},
    {"bad-number", "probe begin { x = 12x }", "a letter follows"},
    {"bad-number", "probe begin { x = 0x1g }", "a digit is not hexadecimal"},
    {"bad-number", "probe begin { x = 0x }", "0x must be followed by digits"},
    {"unknown-directive", "probe begin { x = @cuont(y) }", "t.stp:1:19: error: '@cuont'",
     "did you mean '@count'?"},
    {"unknown-directive", "probe begin { x = @hist_linaer(y) }", "'@hist_linaer'",
     "did you mean '@hist_linear'?"},
    {"unknown-directive", "probe begin { x = @csat(y) }", "'@csat'", "did you mean '@cast'?"},
    {"unknown-directive", "probe begin { x = @something(y) }", "'@something'",
     "a macro is defined with: @define name"},
    {"unknown-directive", "@define thing %( 1 %) probe begin { x = @thnig }", "'@thnig'",
     "did you mean '@thing'?"},
    {"unknown-directive", "@defin thing %( 1 %)", "t.stp:1:1: error: '@defin'", "@define name"},
    {"missing-argument", "probe begin { x = $1 }",
     "$1 refers to a script argument that was not given: there are none"},
    {"missing-argument", "probe begin { x = $0 }", "$0", "numbered from 1"},
    {"bad-macro-definition", "@define 5 %( x %)",
     "unexpected '5' in the definition of a macro, expected the macro's name"},
    {"bad-macro-definition", "@define m(a b) %( x %)", "expected ',' or ')'"},
    {"bad-macro-definition", "@define m x", "expected '%('"},
    {"bad-macro-definition", "@define m %( x", "expected '%)'"},
    {"macro-redefined", "@define m %( 1 %)\n@define m %( 2 %)",
     "t.stp:2:1: error: macro '@m' is defined twice", "t.stp:1:9: note"},
    {"macro-arguments", "@define m(a, b) %( 1 %) probe x { y = @m(1) }",
     "macro '@m' takes 2 arguments, but 1 is given"},
    {"macro-arguments", "@define m(a) %( 1 %) probe x { y = @m }",
     "t.stp:1:36: error: macro '@m' takes 1 argument, but 0 are given"},
    {"macro-arguments", "@define m(a) %( 1 %) probe x { y = 5 @m", "but 0 are given"},
    {"macro-arguments", "@define m(a) %( 1 %) probe x { y = @m(1, 2) }", "but 2 are given"},
    {"unterminated-macro-arguments", "@define m(a) %( 1 %) probe x { y = @m(1 }", "no closing ')'"},
    {"recursive-macro", "@define a %( @a %) probe x { y = @a }", "macro '@a' is recursive"},
    {"bad-condition", "%( kernel_v > %? global a %)",
     "t.stp:1:13: error: unexpected '%?' in a %( condition, expected a string or a number"},
    {"bad-condition", "%( kernel_v == arch %? global a %)",
     "t.stp:1:16: error: unexpected 'arch' in a %( condition, expected a string or a number"},
    {"bad-condition", "%( kernel_v %? global a %)", "t.stp:1:4: error: unexpected '%?'",
     "expected a comparison such as '=='"},
    {"bad-condition", "%( %? global a %)", "t.stp:1:1: error: unexpected '%?'",
     "expected a name such as kernel_v or arch"},
    {"bad-condition", "%( 1 == 1 && %? global a %)", "t.stp:1:11: error: unexpected '%?'"},
    {"bad-condition", "%( CONFIG_SMP == kernel_v %? global a %)",
     "t.stp:1:18: error: unexpected 'kernel_v'"},
    {"bad-condition", "%( arch < \"x\" %? global a %)", "expected '==' or '!='"},
    {"bad-condition", "%( 1 == \"a\" %? global a %)", "expected a number"},
    {"bad-condition", "%( guru_mode == \"1\" %? global a %)", "expected 0 or 1"},
    {"bad-condition", "%( 1 == 1 2 %? global a %)", "expected '&&', '||' or '%?'"},
    {"bad-condition", "%( 1 == 1 %)", "expected '%?'"},
    {"bad-condition", "%( guru_mode > 0 %? global a %)", "expected '==' or '!='"},
    {"bad-condition", "%( guru_mode == 2 %? global a %)", "expected 0 or 1"},
    {"bad-condition", "%( runtime < \"kernel\" %? global a %)", "expected '==' or '!='"},
    {"bad-condition", "%( CONFIG_SMP > \"n\" %? global a %)", "expected '==' or '!='"},
    {"bad-condition", "%( CONFIG_SMP == 1 %? global a %)", "CONFIG_SMP is \"y\""},
    {"bad-condition", "%( kernel_v >= \"6.*\" %? global a %)", "without wildcards after '>='"},
    {"bad-condition", "%( kernel_v == 6 %? global a %)", "expected a string"},
    {"bad-condition", "%( 1 == -1 %? global a %)", "unexpected '-' in a %( condition"},
    {"bad-condition", "%( %( 1 == 1 %? 1 %: 2 %) == 1 %? global a %)", "unexpected '%('"},
    {"bad-condition", "%( 1 == 1 %? global a %? global b %)", "t.stp:1:23",
     "expected '%:' or '%)'"},
    {"bad-condition", "%( 1 == 2 %? global a %? global b %: global c %)", "t.stp:1:23"},
    {"bad-condition", "%( 1 == 1 %? global a %: global b %: global c %)", "t.stp:1:35", "'%)'"},
    {"bad-condition", "%( 1 == 2 %? global a %: global b %? global c %)", "t.stp:1:35", "'%)'"},
    {"unknown-condition-name", "%( kernel_w == \"1\" %? global a %)", "'kernel_w'",
     "did you mean 'kernel_v'?"},
    {"unterminated-condition", "%( 1 == 1 %? global a", "t.stp:1:1: error"},
    {"not-assignable", "probe begin { 5 = x }", "t.stp:1:15: error: cannot assign to a number"},
    {"not-assignable", "probe begin { a == b = 3 }", "this expression", "needs parentheses"},
    {"not-assignable", "probe begin { f()++ }", "the value of 'f'"},
    {"not-an-array", "probe begin { x = $a[1, 2] }", "several keys"},
    {"no-members", "probe begin { x = 5->y }",
     "t.stp:1:20: error: '->' cannot be applied to a number, which has no members",
     "target variable"},
    {"no-address", "probe begin { x = &y }", "t.stp:1:19: error"},
    {"missing-format", "probe begin { printf(x) }", "printf requires a string literal",
     "print(value)"},
    {"missing-format", "probe begin { printd(1, 2, 3) }", "printd requires", "delimiter"},
    {"embedded-c-needs-guru", "%{ x %}", "t.stp:1:1: error", "-g"},
    {"operator-needs-guru", "probe begin { x = @const(\"A\") }", "@const", "-g"},
    {"operator-needs-guru", "probe begin { x = @kderef(8, y) }", "@kderef", "-g"},
    {"operator-needs-guru", "probe begin { x = @kregister(1) }", "@kregister", "-g"},
    {"syntax-error", "probe begin { x = @uderef(n, y) }", "expected a number"},
    {"syntax-error", "probe begin { x = @uderef(8) }", "unexpected ')', expected ','"},
    {"syntax-error", "probe begin { x = @uregister() }", "expected a number"},
    {"dereference-size", "probe begin { x = @uderef(3, y) }", "@uderef reads 1, 2, 4 or 8 bytes"},
    {"register-number", "probe begin { x = @uregister(17) }", "from 0 to 16", "rax rdx"},
    {"duplicate-global", "global a, b, a", "t.stp:1:14: error: the global 'a'", "t.stp:1:8: note"},
    {"duplicate-global", "private a\nprobe begin {}\nglobal a = 1", "t.stp:3:8"},
    {"duplicate-parameter", "function f(a, b:long, a:string) {}", "t.stp:1:23"},
    {"bad-priority", "function f():0 {}", "t.stp:1:14", "ascending order"},
    {"array-initial", "global a[5] = 1", "the array 'a'", "probe begin"},
    {"array-initial", "global a% = 1", "the array 'a'", "probe begin"},
    {"return-in-probe", "probe begin { if (x) return }", "t.stp:1:22", "'next'"},
    {"return-in-probe", "function f() { return 1 } probe a = begin {}, { return 2 }", "t.stp:1:49"},
    {"print-arguments", "probe begin { print() }", "print takes at least 1 argument, but 0 are"},
    {"print-arguments", "probe begin { x = sprint() }", "sprint takes at least 1 argument"},
    {"print-arguments", "probe begin { print_char() }", "print_char takes 1 argument"},
    {"print-arguments", "probe begin { print_char(1, 2) }", "but 2 are given"},
    {"print-arguments", "probe begin { printd(\",\") }", "two or more values, but 1 is given"},
    {"print-arguments", "probe begin { x = sprintdln(\",\", 1) }", "sprintdln takes a delimiter"},
    {"print-arguments", "probe begin { print(@hist_log(s), 1) }", "a histogram alone"},
    {"syntax-error", "probe begin {}; probe end {}", "t.stp:1:15: error: unexpected ';'"},
    {"syntax-error", "function f() {};", "unexpected ';'"},
    {"syntax-error", "global a;;", "t.stp:1:10: error: unexpected ';'"},
    {"syntax-error", "probe begin { if (a) b;; else c }", "t.stp:1:26: error: unexpected 'else'"},
    {"syntax-error", "probe begin { if (a) { b }; else c }", "unexpected 'else'"},
    {"syntax-error", "private probe begin {}", "unexpected 'probe'"},
    {"syntax-error", "probe a, b = begin {}", "t.stp:1:12: error: unexpected '='", "one = two"},
    {"syntax-error", "probe begin { x = s =~ \"a\" . \"b\" }", "t.stp:1:28: error: unexpected '.'",
     "put the operands of '=~' in parentheses"},
    {"syntax-error", "probe begin { x = s !~ \"a\" == 1 }", "unexpected '=='"},
    {"syntax-error", "probe begin { x = 1 == s =~ \"a\" }", "unexpected '=~'", "of '=='"},
    {"syntax-error", "probe begin { x = 1 in a == 1 }", "unexpected '=='", "of 'in'"},
    {"syntax-error", "probe begin { x = 1 in a in b }", "t.stp:1:26: error: unexpected 'in'"},
    {"syntax-error", "probe begin { x >>>= 1 }", "unexpected '=', expected an expression"},
    {"alias-name-has-argument", "probe a(1) = begin {}", "cannot have an argument"},
    {"alias-name-has-argument", "probe a.* = begin {}", "cannot have a wildcard"},
    {"epilogue-without-alias", "probe begin {}, {}", "t.stp:1:17: error"},
    {"mark-inside-braces", "probe {a?,b}.c {}", "'?' is not allowed inside braces"},
    {"too-many-points",
     "probe "
     "{a,b,c,d,e,f,g,h,i,j}.{a,b,c,d,e,f,g,h,i,j}.{a,b,c,d,e,f,g,h,i,j}.{a,b,c,d,e,f,g,h,i,j}.{a,b}"
     " {}",
     "more than 10000 points"},
    {"bad-statistic-arguments", "probe begin { x = @hist_linear(y, 1) }", "@hist_linear takes"},
    {"bad-statistic-arguments", "probe begin { x = @count(y, 1) }", "@count takes one variable"},
    {"bad-statistic-arguments", "probe begin { x = @variance(y, \"3\") }",
     "numbers after the variable"},
    {"bad-statistic-arguments", "probe begin { x = @hist_linear(y, 1, \"2\", 3) }",
     "numbers after the variable"},
    {"bad-statistic-arguments", "probe begin { x = @variance(y, 3, 4) }", "optionally a bit shift"},
    {"sorted-twice", "probe begin { foreach (v- = k+ in c) {} }", "only one key or value",
     "t.stp:1:25: note: already sorted here"},
    {"sorted-twice", "probe begin { foreach ([a+, b-] in c) {} }", "only one key or value"},
    {"sort-without-order", "probe begin { foreach (a in c @sum) {} }", "@sum does not specify",
     "@sum-"},
    {"bad-global-size", "global a[0]", "t.stp:1:10: error", "must be from 1"},
    {"bad-global-size", "global a[100000001]", "must be from 1 to 100000000"},
    {"not-deletable", "probe begin { delete 5 }", "a number cannot be deleted"},
};

} // namespace

TEST(Mistakes, EachGivesOneErrorAtItsPlace) {
    for (const Mistake& mistake : mistakes) {
        std::string script = mistake.script;
        if (!mistake.message)
            script.back() = '\0';
        std::string text = diagnostics_of(script);
        EXPECT_NE(text.find("[" + std::string(mistake.tag) + "]"), std::string::npos)
            << script << "\n"
            << text;
        EXPECT_NE(text.find(mistake.message ? mistake.message : "t.stp:2:1"), std::string::npos)
            << script << "\n"
            << text;
        EXPECT_NE(text.find(mistake.hint), std::string::npos) << script << "\n" << text;
    }
}

TEST(Mistakes, EveryKindOfThePhaseIsTested) {
    // Those with tests of their own, here and for macros.
    std::set<std::string> tested{"unknown-escape",   "nested-too-deeply", "too-many-errors",
                                 "only-macros-here", "macro-too-large",   "macro-hides-operator"};
    for (const Mistake& mistake : mistakes)
        tested.insert(mistake.tag);
    const char* of_the_phase[] = {
#define DIAGNOSTIC(Name, Tag, Level, Message) Tag,
#include "diagnostics/kinds/syntax.def"
#undef DIAGNOSTIC
    };
    for (const char* tag : of_the_phase)
        EXPECT_TRUE(tested.contains(tag)) << tag;
}

TEST(Mistakes, AMacroWithAnOperatorsNameIsAWarning) {
    Parsing parsing;
    auto parsed = parsing.parse("@define max(a) %( @a %) probe begin { print(@max(1)) }");
    EXPECT_NE(parsed.diagnostics.find("t.stp:1:9: warning: the macro '@max' hides the operator"),
              std::string::npos)
        << parsed.diagnostics;
    EXPECT_EQ(parsed.diagnostics.find("error"), std::string::npos) << parsed.diagnostics;
}

TEST(Mistakes, AnUnknownEscapeIsAWarning) {
    Parsing parsing;
    auto parsed = parsing.parse("probe begin { print(\"a\\qb\") }");
    EXPECT_NE(parsed.diagnostics.find("t.stp:1:23: warning: unknown escape '\\q'"),
              std::string::npos)
        << parsed.diagnostics;
    EXPECT_NE(parsed.text.find("\"aqb\""), std::string::npos);
    EXPECT_EQ(parsing.parse("probe begin { print(\"a\\qb\") }", true).diagnostics, "");
}

TEST(Mistakes, OthersAreFoundBehindTheFirst) {
    std::string text =
        diagnostics_of("prob begin { }\nprobe a { x = = 5 }\nglobal g\nprobe b { y = ) }\n"
                       "function f { }\nprobe c { global z }\nprobe d { 5 = 1; 6 = 1 }",
                       7);
    for (const char* place : {"t.stp:1:1:", "t.stp:2:15:", "t.stp:4:15:", "t.stp:5:12:",
                              "t.stp:6:11:", "t.stp:7:11:", "t.stp:7:18:"})
        EXPECT_NE(text.find(place), std::string::npos) << text;
}

// Where the body with the mistake ends depends on the braces before and behind it.
TEST(Mistakes, WhatFollowsABodyIsReadAsAnItem) {
    for (const char* body : {"probe a { if (x) { y } z = = 1 }", "probe a { if (x) { y = = 1 } z }",
                             "probe a { y = = 1; if (x) { y } }"}) {
        const std::string text = diagnostics_of(std::string(body) + "\n5", 2);
        EXPECT_NE(text.find("t.stp:2:1: error: unexpected"), std::string::npos) << text;
    }
}

// What follows is found: behind a body, or at a word that begins an item.
TEST(Mistakes, WhereReadingGoesOn) {
    for (const auto& [script, places] :
         std::initializer_list<std::pair<const char*, std::vector<const char*>>>{
             // A component is no beginning.
             {".probe x { y = = 1 }\n5", {"1:1", "2:1"}},
             {"probe a b.function { y = = 1 }\n5", {"1:9", "2:1"}},
             // An extra '}' closes nothing.
             {"} x { }\n5", {"1:1", "2:1"}},
             {"} probe x { y = = 1 }", {"1:1", "1:17"}},
             {"5 function f() { y = = 1 }", {"1:1", "1:22"}},
             {"5 private z 6", {"1:1", "1:13"}},
             {"probe a { global z }\n5", {"1:11", "2:1"}},
             {"probe a { private z }\n5", {"1:11", "2:1"}},
             {"probe a { x = = 1 global z 5", {"1:15", "1:28"}}}) {
        const std::string text = diagnostics_of(script, places.size());
        for (const char* place : places)
            EXPECT_NE(text.find("t.stp:" + std::string(place) + ": error: unexpected"),
                      std::string::npos)
                << script << "\n"
                << text;
    }
}

TEST(Mistakes, TheirNumberIsLimited) {
    std::string script;
    for (int i = 0; i < 1000; i++)
        script += "probe a { x = }\n";
    std::string text = diagnostics_of(script, 21);
    EXPECT_NE(text.find("[too-many-errors]"), std::string::npos);
}

TEST(Mistakes, InAMacroShowWhereItWasUsed) {
    std::string text = diagnostics_of("@define m(a) %( (@a + * 2) %)\nprobe x { y = @m(1) }");
    EXPECT_NE(text.find("t.stp:1:23: error: unexpected '*', expected an expression"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("t.stp:2:15: note: in the expansion of macro 'm'"), std::string::npos)
        << text;
}

TEST(Mistakes, AFileOfMacrosHoldsNothingElse) {
    Parsing parsing;
    std::string text;
    EXPECT_FALSE(parsing.parse_macros("@define a %( 1 %)\nglobal b", &text));
    EXPECT_NE(text.find("[only-macros-here]"), std::string::npos) << text;
    EXPECT_FALSE(parsing.parse_macros("@define a", &text));
    EXPECT_FALSE(parsing.parse_macros("%( 1 == 1 %? @define a %( 1 %)", &text));
}

TEST(Mistakes, DeepNestingIsRefused) {
    auto repeat = [](const std::string& text, size_t n) {
        std::string out;
        for (size_t i = 0; i < n; i++)
            out += text;
        return out;
    };
    constexpr size_t many = 20'000;
    const std::string scripts[] = {
        "probe x { y = " + repeat("(", many) + "1" + repeat(")", many) + " }",
        "probe x " + repeat("{", many) + repeat("}", many),
        "probe x { y = " + repeat("a[", many) + "1" + repeat("]", many) + " }",
        "probe x { y = " + repeat("!", many) + "1 }",
        "probe x { y = " + repeat("- ", many) + "1 }",
        "probe x { " + repeat("if (a) ", many) + "b }",
        "probe x { if (a) b " + repeat("else if (a) b ", many) + "}",
        "probe x { y = 1" + repeat(" + 1", many) + " }",
        "probe x { " + repeat("y = ", many) + "1 }",
        "probe x { y = " + repeat("a ? b : ", many) + "1 }",
        repeat("%( 1 == 1 %? ", many) + "global a" + repeat(" %)", many),
        "probe " + repeat("{a,", many) + "b" + repeat("}", many) + " {}",
    };
    for (const std::string& script : scripts) {
        std::string text = diagnostics_of(script);
        EXPECT_NE(text.find("[nested-too-deeply]"), std::string::npos)
            << script.substr(0, 40) << text.substr(0, 400);
    }
}

// As deep as the message says, and not deeper.
TEST(Mistakes, TheDepthThatIsRefused) {
    auto nested = [](const std::string& begin, const std::string& open, const std::string& middle,
                     const std::string& close, size_t depth) {
        std::string script = begin;
        for (size_t i = 0; i < depth; i++)
            script += open;
        script += middle;
        for (size_t i = 0; i < depth; i++)
            script += close;
        return script;
    };
    const std::string message = "nested too deeply: more than ";
    for (const auto& [begin, open, middle, close, end] :
         {std::array<const char*, 5>{"", "%( 1 == 1 %? ", "global a", " %)", ""},
          {"probe x ", "{", "", "}", ""},
          {"probe x { y = ", "(", "1", ")", " }"}}) {
        const std::string deep = nested(begin, open, middle, close, 20000) + end;
        const std::string text = diagnostics_of(deep);
        const size_t at = text.find(message);
        ASSERT_NE(at, std::string::npos) << text.substr(0, 400);
        const size_t most = std::stoul(text.substr(at + message.size()));
        const size_t own = std::string_view(begin).find('{') != std::string_view::npos ? 1 : 0;
        EXPECT_TRUE(Parsing().parse(nested(begin, open, middle, close, most - own) + end).file)
            << begin << open;
        EXPECT_FALSE(Parsing().parse(nested(begin, open, middle, close, most - own + 1) + end).file)
            << begin << open;
    }
    std::string text;
    EXPECT_FALSE(Parsing().parse_macros(
        nested("", "%( 1 == 1 %? ", "@define a %( 1 %)", " %)", 1000), &text));
    EXPECT_NE(text.find(message + "256 levels"), std::string::npos) << text;
    EXPECT_TRUE(
        Parsing().parse_macros(nested("", "%( 1 == 1 %? ", "@define a %( 1 %)", " %)", 256)));
    EXPECT_FALSE(
        Parsing().parse_macros(nested("", "%( 1 == 1 %? ", "@define a %( 1 %)", " %)", 257)));
}

TEST(Mistakes, WhatIsLongIsNotDeep) {
    std::string sum = "probe x { y = 1";
    for (int i = 0; i < 900; i++)
        sum += " + 1";
    EXPECT_TRUE(Parsing().parse(sum + " }").file);
    std::string chain = "probe x { if (a) b ";
    for (int i = 0; i < 900; i++)
        chain += "else if (a) b ";
    EXPECT_TRUE(Parsing().parse(chain + "}").file);
}

TEST(Mistakes, OperatorsInARowAreLimited) {
    const auto sum = [](int operators) {
        std::string script = "probe x { y = 1";
        for (int i = 0; i < operators; i++)
            script += " + 1";
        return Parsing().parse(script + " }");
    };
    EXPECT_TRUE(sum(1000).file);
    const Parsed refused = sum(1001);
    EXPECT_FALSE(refused.file);
    EXPECT_NE(refused.diagnostics.find("1000 levels"), std::string::npos) << refused.diagnostics;
}

TEST(Mistakes, NoGarbageDoesHarm) {
    uint32_t state = 12345;
    auto random = [&] { return (state = state * 1664525 + 1013904223) >> 16; };
    for (int round = 0; round < 200; round++) {
        std::string bytes;
        for (int i = 0; i < 400; i++)
            bytes += static_cast<char>(1 + random() % 255);
        Parsing().parse(bytes);
    }
    // The same with words of the language.
    const char* words[] = {
        "probe",  "begin",        "{",       "}",      "(",  ")",     "[",       "]",     "if",
        "else",   "foreach",      "in",      "x",      "5",  "\"s\"", "+",       "-",     "++",
        "=",      "$v",           "->",      "@count", "%(", "%?",    "%)",      ",",     ".",
        ";",      "function",     "global",  "*",      "?",  ":",     "@define", "m",     "@m",
        "return", "%{ c %}",      "delete",  "limit",  "&",  "!",     "try",     "catch", "@cast",
        "$",      "@hist_linear", "private", "for"};
    for (int round = 0; round < 3000; round++) {
        std::string script = round % 2 ? "probe begin { " : "";
        for (unsigned i = 0, n = random() % 30; i < n; i++)
            script += std::string(words[random() % std::size(words)]) + (random() % 4 ? " " : "");
        Parsing().parse(script);
    }
}
