// SPDX-License-Identifier: GPL-2.0-or-later
// Every statement and declaration, and where one ends without a ';'.
#include "parsing.h"

using namespace djstap;
using namespace djstap::test;

namespace {

void same(const std::string& statement) {
    EXPECT_EQ(canonical_statement(statement), statement);
}

} // namespace

TEST(Statements, EachKind) {
    for (const char* text :
         {"a;", "if (a)\n    b;", "if (a)\n    b;\nelse\n    c;",
          "if (a) {\n    b;\n} else if (c) {\n    d;\n} else {}", "while (a)\n    b;",
          "while (a)\n    ;", "for (i = 0; i < 5; i++)\n    b;", "for (; ; )\n    break;",
          "continue;", "next;", "return;", "return a + 1;", "delete a;", "delete a[1, *];",
          "try {\n    a;\n} catch {}", "try {} catch (msg) {\n    print(msg);\n}", "%{ x(); %}",
          "{}"})
        same(text);
}

TEST(Statements, SemicolonsAreOptional) {
    EXPECT_EQ(canonical_statement("a = 1 b = 2 f(a) g(b)"), "a = 1;\nb = 2;\nf(a);\ng(b);");
    EXPECT_EQ(canonical_statement(";;a;;b;"), ";\n;\na;\n;\nb;");
    EXPECT_EQ(canonical_statement("if (a) b; else c;"), "if (a)\n    b;\nelse\n    c;");
    EXPECT_EQ(canonical_statement("if (a) { b };"), "if (a) {\n    b;\n}\n;");
    EXPECT_EQ(canonical_statement("return x = 1"), "return x = 1;");
    EXPECT_EQ(canonical_statement("if (a) return; b"), "if (a)\n    return;\nb;");
}

TEST(Statements, AnOperandIsFollowedAsFarAsItGoes) {
    EXPECT_EQ(canonical_statement("a = b ++c"), "a = b++;\nc;");
    EXPECT_EQ(canonical_statement("a = b; ++c"), "a = b;\n++c;");
    EXPECT_EQ(canonical_statement("a ++ b --"), "a++;\nb--;");
    EXPECT_EQ(canonical_statement("c = a ++ -- b"), "c = a++;\n--b;");
    EXPECT_EQ(canonical_statement("c = a -- - -- b"), "c = a-- - --b;");
    EXPECT_EQ(canonical_statement("if (a) ++b"), "if (a)\n    ++b;");
    EXPECT_EQ(canonical_statement("a = b -c"), "a = b - c;");
    EXPECT_EQ(canonical_statement("if (a) -c"), "if (a)\n    -c;");
    EXPECT_EQ(canonical_statement("a = b\n(c)"), "a = b(c);");
    EXPECT_EQ(canonical_statement("if (a) [b, c] in d"), "if (a)\n    [b, c] in d;");
}

TEST(Statements, Foreach) {
    for (const char* head :
         {"k in a", "[k, l] in a", "v = k in a", "v = [k, l] in a", "k+ in a", "k in a-",
          "[k, l-] in a", "v- = k in a", "v = k- in a", "v = [k+, l] in a", "[k, l] in a[1, *]",
          "k in a @sum-", "k in a @count+ limit n + 1", "k in a- limit 10", "b in @hist_log(a[1])",
          "b in @hist_linear(a, 0, 10, 1)-", "v = [k, l] in a[*, \"x\"] @avg+ limit 5"}) {
        std::string text = canonical_statement("foreach (" + std::string(head) + ") ;");
        // The order by value is written after the array.
        std::string expected = std::string(head) == "v- = k in a" ? "v = k in a-" : head;
        EXPECT_EQ(text, "foreach (" + expected + ")\n    ;");
    }
}

TEST(Declarations, Globals) {
    EXPECT_EQ(
        canonical("global a[100], b%, c% [5], d = 1, e = -2, f = \"x\"; private g private global "
                  "h = 0x10"),
        "global a[100]\nglobal b%\nglobal c%[5]\nglobal d = 1\nglobal e = -2\nglobal f = \"x\"\n"
        "private global g\nprivate global h = 16\n");
    EXPECT_EQ(canonical("global a%[10]"), "global a%[10]\n");
    EXPECT_EQ(canonical("global a[1], b[100000000]"), "global a[1]\nglobal b[100000000]\n");
}

TEST(Declarations, Functions) {
    for (const char* text : {"function f() {}\n", "function f:long() {}\n",
                             "function f:string(a:long, b, c:string) {}\n", "function f(x):3 {}\n",
                             "function f:long(x:long):10 {}\n", "private function f() {}\n",
                             "function f:long(a:string) %{ /* pure */ STAP_RETVALUE = 1; %}\n"})
        EXPECT_EQ(canonical(text), text);
    EXPECT_EQ(canonical("%{ #include <linux/in.h> %}"), "%{ #include <linux/in.h> %}\n");
}

TEST(Declarations, Probes) {
    for (const char* text :
         {"probe begin {}\n", "probe begin(-100), end {}\n",
          "probe kernel.function(\"f@a.c:10\").return? {}\n",
          "probe syscall.*.return!, nd_syscall.**, a.*b*c {}\n",
          "probe timer.ms(100) if (on && n > 3) {}\n", "probe a.b? if (c) {}\n",
          "probe process(\"/bin/sh\").function(\"main\").call {}\n",
          "probe kernel.function(\"a\").if.probe.for {}\n", "probe a = b, c? {}\n",
          "probe a += b.c += d.e(5) {}\n", "probe a = b {\n    x = 1;\n}, {\n    y = 2;\n}\n",
          "probe a = b = c.d, e {}\n"})
        EXPECT_EQ(canonical(text), text);
}

TEST(Declarations, BracesInPointsAreExpandedInTheOrderOfTheProduct) {
    EXPECT_EQ(canonical("probe {a,b(\"x\")}.{c,d.{e,f}}! {}"),
              "probe a.c!, a.d.e!, a.d.f!, b(\"x\").c!, b(\"x\").d.e!, b(\"x\").d.f! {}\n");
    EXPECT_EQ(canonical("probe k.{function(\"a\"),statement(1)?} if (g) {}"),
              "probe k.function(\"a\") if (g), k.statement(1)? if (g) {}\n");
}

TEST(Declarations, CommentsOfAllThreeKinds) {
    EXPECT_EQ(canonical("# one\nprobe /* two ** / */ begin { // three\n} /**/"),
              "probe begin {}\n");
}

// Messages of later phases are about these places.
TEST(Declarations, RangesCoverWhatIsWritten) {
    Parsing parsing;
    parsing.context.guru = true;
    auto parsed = parsing.parse(
        "global g[5]\nfunction f:long(a:long, b) { return a }\n"
        "function h() %{ x %}\nprobe kernel.function(\"a\").line(5)?, timer.s(-1) { }\n"
        "probe q = r.s(\"t\") { foreach (v = [k, l-] in g) ; try { } catch (m) { } }");
    ASSERT_TRUE(parsed.file) << parsed.diagnostics;
    auto text = [&](SourceRange range) { return std::string(parsing.sources.text(range)); };
    const ast::File& file = *parsed.file;
    EXPECT_EQ(text(file.globals[0].range), "g");
    EXPECT_EQ(text(file.functions[0].range), "f");
    EXPECT_EQ(text(file.functions[0].body_range), "{ return a }");
    EXPECT_EQ(text(file.functions[0].parameters[1].range), "b");
    EXPECT_EQ(text(file.functions[1].body_range), "%{ x %}");
    const ast::Probe& probe = file.probes[0];
    EXPECT_EQ(text(probe.range), "probe kernel.function(\"a\").line(5)?, timer.s(-1)");
    EXPECT_EQ(text(probe.points[0].range), "kernel.function(\"a\").line(5)?");
    EXPECT_EQ(text(probe.points[0].components[1].range), "function");
    EXPECT_EQ(text(probe.points[0].components[1].argument_range), "\"a\"");
    EXPECT_EQ(text(probe.points[0].components[2].argument_range), "5");
    EXPECT_EQ(text(probe.points[1].components[1].argument_range), "-1");
    EXPECT_EQ(probe.points[1].components[1].number, -1);
    const ast::Alias& alias = file.aliases[0];
    EXPECT_EQ(text(alias.range), "probe q = r.s(\"t\")");
    const auto& loop = ast::as<ast::Foreach>(*alias.body->statements[0]);
    EXPECT_EQ(text(loop.value_range), "v");
    ASSERT_EQ(loop.key_ranges.size(), 2U);
    EXPECT_EQ(text(loop.key_ranges[0]), "k");
    EXPECT_EQ(text(loop.key_ranges[1]), "l");
    EXPECT_EQ(text(loop.sort_range), "-");
    EXPECT_EQ(loop.sort_key, 2);
    EXPECT_FALSE(loop.ascending);
    EXPECT_EQ(text(ast::as<ast::TryCatch>(*alias.body->statements[1]).variable_range), "m");
}
