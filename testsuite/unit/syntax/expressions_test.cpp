// SPDX-License-Identifier: GPL-2.0-or-later
// Every alternative of the grammar's expressions, and how tightly operators bind.
#include "parsing.h"

using namespace djstap;
using namespace djstap::test;

namespace {

// Expressions that print as they are written here.
void same_expression(const std::string& expression) {
    EXPECT_EQ(canonical_expression(expression), expression);
}

} // namespace

TEST(Expressions, Literals) {
    EXPECT_EQ(canonical_expression("0x2A"), "42");
    EXPECT_EQ(canonical_expression("052"), "42");
    EXPECT_EQ(canonical_expression("18446744073709551615"), "0xffffffffffffffff");
    EXPECT_EQ(canonical_expression("9223372036854775807"), "9223372036854775807");
    EXPECT_EQ(canonical_expression(R"("a" "b"    "c")"), "\"abc\"");
    EXPECT_EQ(canonical_expression(R"("\x41\102\n\\\"")"), R"("AB\n\\\"")");
    EXPECT_EQ(canonical_expression("\"one \\\ntwo\""), "\"one two\"");
    EXPECT_EQ(canonical_expression("-5"), "-5");
}

TEST(Expressions, PrecedenceIsTheLanguages) {
    EXPECT_EQ(canonical_expression("(a * b) + c"), "a * b + c");
    EXPECT_EQ(canonical_expression("a * (b + c)"), "a * (b + c)");
    EXPECT_EQ(canonical_expression("(a . (b + c)) . d"), "a . b + c . d");
    EXPECT_EQ(canonical_expression("(a . b) << c"), "a . b << c");
    EXPECT_EQ(canonical_expression("(a << b) < c"), "a << b < c");
    EXPECT_EQ(canonical_expression("(a == b) in c"), "a == b in c");
    EXPECT_EQ(canonical_expression("((a in x) & b) ^ (c | d)"), "a in x & b ^ (c | d)");
    EXPECT_EQ(canonical_expression("(a & b) == c"), "(a & b) == c");
    EXPECT_EQ(canonical_expression("(a && b) || (c && d)"), "a && b || c && d");
    EXPECT_EQ(canonical_expression("(a || b) && c"), "(a || b) && c");
    EXPECT_EQ(canonical_expression("(!a) == b"), "!a == b");
    EXPECT_EQ(canonical_expression("a - (b - c)"), "a - (b - c)");
    EXPECT_EQ(canonical_expression("(a - b) - c"), "a - b - c");
    EXPECT_EQ(canonical_expression("a ? b : (c ? d : e)"), "a ? b : c ? d : e");
    EXPECT_EQ(canonical_expression("(a ? b : c) ? d : e"), "(a ? b : c) ? d : e");
    EXPECT_EQ(canonical_expression("a = (b = c)"), "a = b = c");
    EXPECT_EQ(canonical_expression("a ? b : c = 3"), "a ? b : c = 3");
    EXPECT_EQ(canonical_expression("a < b < c"), "a < b < c");
    EXPECT_EQ(canonical_expression("(a || b) ? c : d"), "a || b ? c : d");
    EXPECT_EQ(canonical_expression("(a = b) ? c : d"), "(a = b) ? c : d");
    EXPECT_EQ(canonical_expression("a - (b * c)"), "a - b * c");
    EXPECT_EQ(canonical_expression("(a . b) =~ \"x\""), "a . b =~ \"x\"");
    EXPECT_EQ(canonical_expression("-(a + b)"), "-(a + b)");
    EXPECT_EQ(canonical_expression("-(a[1])"), "-a[1]");
}

// A match and a membership may be followed by looser operators alone.
TEST(Expressions, WhatMayFollowAMatchOrAMembership) {
    for (const char* op : {"&", "^", "|", "&&", "||"}) {
        same_expression("a in b " + std::string(op) + " c");
        same_expression("a =~ \"x\" " + std::string(op) + " c");
        same_expression("a !~ \"x\" " + std::string(op) + " c");
    }
    same_expression("a in b ? c : d");
    same_expression("a =~ \"x\" ? c : d");
    same_expression("a =~ \"x\" in b");
    for (const char* op : {"<", "<=", ">", ">=", "==", "!="})
        for (const char* left : {"a in b", "a =~ \"x\""}) {
            const std::string script = "probe x { v = " + std::string(left) + " " + op + " c }";
            EXPECT_NE(diagnostics_of(script).find("unexpected '" + std::string(op) + "'"),
                      std::string::npos)
                << script;
        }
    // Nor may a match follow a comparison; it may follow whatever binds less or more tightly.
    for (const char* op : {"<", "<=", ">", ">=", "==", "!="})
        EXPECT_NE(diagnostics_of("probe x { v = a " + std::string(op) + " b =~ \"x\" }")
                      .find("unexpected '=~'"),
                  std::string::npos)
            << op;
}

TEST(Expressions, EscapesInStrings) {
    auto value = [](const std::string& text) {
        Parsing parsing;
        auto parsed = parsing.parse("global a = \"" + text + "\"");
        return parsed.file ? ast::as<ast::StringLiteral>(*parsed.file->globals[0].initial).value
                           : parsed.diagnostics;
    };
    EXPECT_EQ(value(R"(\0x)"), std::string("\0x", 2));
    EXPECT_EQ(value(R"(\7\07\0077\377)"), "\7\7\7"
                                          "7\xff");
    EXPECT_EQ(value(R"(\8)"), "8");
    EXPECT_EQ(value(R"(\x7\x41g\xFf\xfF0)"), "\7Ag\xff\xff"
                                             "0");
    EXPECT_EQ(value(R"(\xg)"), "xg");
    EXPECT_EQ(value(R"(\a\b\f\n\r\t\v\'\?\\)"), "\a\b\f\n\r\t\v'?\\");
}

TEST(Expressions, EveryOperator) {
    for (const char* op : {"+",  "-", "*",  "/",  "%",  ".", "<<", ">>", ">>>", "<",
                           "<=", ">", ">=", "==", "!=", "&", "^",  "|",  "&&",  "||"})
        same_expression("a " + std::string(op) + " b");
    for (const char* op :
         {"=", "+=", "-=", "*=", "/=", "%=", ".=", "<<=", ">>=", "&=", "^=", "|=", "<<<"})
        same_expression("a " + std::string(op) + " b");
    for (const char* text :
         {"!a", "~a", "+a", "++a", "--a", "a++", "a--", "a =~ \"x*\"", "a !~ \"^y\""})
        same_expression(text);
    EXPECT_EQ(canonical_expression("- -a"), "- -a");
    EXPECT_EQ(canonical_expression("a - -b"), "a - -b");
}

TEST(Expressions, ArraysAndMembership) {
    for (const char* text :
         {"a[1]", "a[1, \"x\", b[2]]", "a[*, 5]", "a in b", "[a, b] in c", "[a, *] in c",
          "x in @hist_log(y)", "@hist_log(y)[3]", "@hist_linear(y, -10, 100, 10)[*]", "[*] in a"})
        same_expression(text);
    EXPECT_EQ(canonical_expression("[a] in c"), "a in c");
    EXPECT_EQ(canonical_expression("a[1]++"), "a[1]++");
}

TEST(Expressions, TargetValues) {
    for (const char* text : {"$x",
                             "$x->y->z",
                             "$x[1]",
                             "$x->y[i + 1]->z",
                             "&$x",
                             "&$x->y[2]",
                             "$x$",
                             "$x$$",
                             "$x->y$",
                             "$x->y$$",
                             "$x[1]$",
                             "$$vars",
                             "$$parms$",
                             "$$locals$$",
                             "$return",
                             "$arg1",
                             "$$name",
                             "$x->next - 1",
                             "$x++",
                             "@var(\"v@file.c\")",
                             "@var(\"v\", \"mod\")->m",
                             "&@var(\"v\")[1]",
                             "@cast(p, \"struct task\")->pid",
                             "@cast(p, \"t\", \"kernel<linux/sched.h>\")->a$",
                             "&@cast(0, \"t\")[1]",
                             "x->y",
                             "f(x)->y->z",
                             "(a + b)->c",
                             "(x)[1]",
                             "a[1]->b",
                             "f(x)[1]",
                             "(a + b)[1]",
                             "(a[1])[2]",
                             "(x)[1]->b[2]",
                             "&x->y",
                             "$a$b->c",
                             "&(c ? $x : $y)"})
        same_expression(text);
}

// One or two $ at the end request text; more belong to the name.
TEST(Expressions, PrettyPrinting) {
    auto shown = [](const std::string& text) {
        Parsing parsing;
        auto parsed = parsing.parse("probe x { v = " + text + " }");
        if (!parsed.file)
            return parsed.diagnostics;
        const auto& statement =
            ast::as<ast::ExpressionStatement>(*parsed.file->probes[0].body->statements[0]);
        const auto& target =
            ast::as<ast::TargetSymbol>(*ast::as<ast::Assignment>(*statement.expression).value);
        std::string out = target.name;
        for (const ast::Component& each : target.components)
            out += std::string(each.kind == ast::Component::Kind::PrettyPrint ? "|" : ".") +
                   each.member + "(" + std::string(parsing.sources.text(each.range)) + ")";
        return out;
    };
    EXPECT_EQ(shown("$x"), "$x");
    EXPECT_EQ(shown("$x$"), "$x|$($)");
    EXPECT_EQ(shown("$x$$"), "$x|$$($$)");
    EXPECT_EQ(shown("$x$$$"), "$x$$$");
    EXPECT_EQ(shown("$a$b"), "$a$b");
    EXPECT_EQ(shown("$x->y$"), "$x.y(->y$)|$($)");
    EXPECT_EQ(shown("$x->y$$"), "$x.y(->y$$)|$$($$)");
    EXPECT_EQ(shown("$x->y$$$"), "$x.y$$$(->y$$$)");
    EXPECT_EQ(shown("$$vars"), "$$vars");
    EXPECT_EQ(shown("$$parms$"), "$$parms|$($)");
}

TEST(Expressions, Operators) {
    for (const char* text : {"@defined($x->y)",
                             "@defined(&@cast(0, \"t\")->m)",
                             "@entry($x)",
                             "@entry(gettimeofday_ns())",
                             "@perf(\"c\")",
                             "@const(\"HZ\")",
                             "@enum(\"e\", 1)",
                             "@kderef(8, $p)",
                             "@uderef(4, p + 1)",
                             "@kregister(3)",
                             "@uregister(7)",
                             "@probewrite($x)",
                             "@count(a)",
                             "@sum(a[1])",
                             "@min(a)",
                             "@max(a)",
                             "@avg(a)",
                             "@variance(a)",
                             "@variance(a, 3)",
                             "@hist_log(a)",
                             "@hist_linear(a[x], 0, 100, 10)",
                             "%{ 1 + 2 %}",
                             "f()",
                             "f(1, \"a\")"})
        same_expression(text);
}

TEST(Expressions, PrintFamily) {
    for (const char* text :
         {"print(a, b)", "println()", "printf(\"%d\\n\", a)", "printd(\",\", a, b)",
          "print_char(65)", "printdln(\"|\", a, b)", "sprint(a)", "sprintln(a)",
          "sprintf(\"%s\", b)", "sprintd(\",\", a, b)", "sprintdln(\",\", a, b)"})
        same_expression(text);
    // Only a histogram has to be alone, none of the other operators.
    for (const char* op :
         {"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "<", "&&", "||"})
        same_expression("print(a " + std::string(op) + " b, c)");
    same_expression("print(@count(a), @avg(b))");
    same_expression("print(@hist_log(a))");
    same_expression("println(@hist_linear(a, 0, 9, 1))");
    EXPECT_EQ(canonical_expression("printer(a)"), "printer(a)");
    EXPECT_EQ(canonical_expression("printlnd(a)"), "printlnd(a)");
}

TEST(Expressions, RangesCoverWhatIsWritten) {
    Parsing parsing;
    auto parsed = parsing.parse("probe x { abc = f(1,\n 2) + d }");
    ASSERT_TRUE(parsed.file);
    const auto& statement =
        ast::as<ast::ExpressionStatement>(*parsed.file->probes[0].body->statements[0]);
    EXPECT_EQ(parsing.sources.text(statement.expression->range), "abc = f(1,\n 2) + d");
    const auto& assignment = ast::as<ast::Assignment>(*statement.expression);
    EXPECT_EQ(parsing.sources.text(assignment.op_range), "=");
    const auto& sum = ast::as<ast::Binary>(*assignment.value);
    EXPECT_EQ(parsing.sources.text(sum.left->range), "f(1,\n 2)");
    EXPECT_EQ(parsing.sources.text(sum.op_range), "+");
    const auto& call = ast::as<ast::Call>(*sum.left);
    EXPECT_EQ(parsing.sources.text(call.name_range), "f");
    EXPECT_FALSE(assignment.parenthesized);
    auto other = parsing.parse("probe x { if ((a = b)) c =~ \"x\" printf(\"%d\", 1) }");
    ASSERT_TRUE(other.file);
    const auto& statements = other.file->probes[0].body->statements;
    const auto& condition = *ast::as<ast::If>(*statements[0]).condition;
    EXPECT_TRUE(ast::as<ast::Assignment>(condition).parenthesized);
    const auto& match = ast::as<ast::RegexMatch>(
        *ast::as<ast::ExpressionStatement>(*ast::as<ast::If>(*statements[0]).then_branch)
             .expression);
    EXPECT_EQ(parsing.sources.text(match.pattern_range), "\"x\"");
    const auto& print =
        ast::as<ast::Print>(*ast::as<ast::ExpressionStatement>(*statements[1]).expression);
    EXPECT_EQ(parsing.sources.text(print.name_range), "printf");
    EXPECT_EQ(parsing.sources.text(print.format_range), "\"%d\"");
}
