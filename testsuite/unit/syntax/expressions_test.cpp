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
                             "&x->y",
                             "$a$b->c",
                             "&(c ? $x : $y)"})
        same_expression(text);
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
}
