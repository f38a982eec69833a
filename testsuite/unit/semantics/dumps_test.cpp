// SPDX-License-Identifier: GPL-2.0-or-later
// A typed program is shown as its script is written, with parentheses around each operation.
#include "dumps.h"

namespace djstap::test {
namespace {

SemanticsOptions with_guru() {
    SemanticsOptions options;
    options.guru = true;
    return options;
}

// A value of a probe of a function, as it is shown.
std::string shown(const std::string& value) {
    const std::string text =
        body("global n, s, a, b, t, h, v probe kernel.function(\"f\") { println(" + value +
                 ") } probe timer.s(1) { n = 1; s = \"\"; a[1] = 1; b[1, 2] = 3; t <<< 1; v <<< 1; "
                 "h[1] <<< 2; println(a[1], b[1, 2], n, s, @count(t), @count(v), @count(h[1])) }",
             "", with_guru());
    const std::string begin = "printf(\"%";
    const size_t at = text.find("\\n\", "), end = text.find(") | n = 1 | ");
    if (!text.starts_with(begin) || at == std::string::npos || end == std::string::npos)
        return text;
    return text.substr(at + 5, end - at - 5);
}

TEST(SemanticsDumps, ValuesAreWrittenAsInScripts) {
    for (const char* value : {"7",
                              "-n",
                              "!n",
                              "~n",
                              "+n",
                              "--n",
                              "n--",
                              "++n",
                              "n++",
                              "n -= 2",
                              "n = 3",
                              "s .= \"x\"",
                              "a[n]",
                              "b[n, 2]",
                              "a[n] <<= 1",
                              "pid()",
                              "substr(s, 1, n)",
                              "$x",
                              "&$x->y[3]",
                              "$x->y$",
                              "$$parms$$",
                              "@defined($x)",
                              "@cast(n, \"t\")->a",
                              "@cast(n, \"t\", \"m\")->a[n]$$",
                              "@var(\"v\")->a",
                              "@var(\"v@f.c\", \"m\")",
                              "@enum(\"E\")",
                              "@enum(\"E\", \"m\")",
                              "@perf(\"c\")",
                              "@uderef(4, n)",
                              "@kderef(8, n)",
                              "@uregister(3)",
                              "@kregister(0)",
                              "@count(t)",
                              "@max(h[n])",
                              "@variance(v)",
                              "@hist_log(t)[n]",
                              "%{ 1 %}",
                              "sprintf(\"%d%%%s\", n, s)",
                              "\"\\\"\\\\\\n\\t\\001\\037 ~\\177\""})
        EXPECT_EQ(shown(value), value);
    for (const char* operation :
         {"n + 1",    "n - 1",       "n * 2",      "n / 2",       "n % 2",       "n & 1",
          "n | 1",    "n ^ 1",       "n << 1",     "n >> 1",      "n >>> 1",     "n == 1",
          "n != 1",   "n < 1",       "n <= 1",     "n > 1",       "n >= 1",      "n && 1",
          "n || 1",   "n ? 1 : 2",   "s . \"x\"",  "s =~ \"^a\"", "s !~ \"^a\"", "s == \"a\"",
          "[n] in a", "[n, *] in b", "[*, 2] in b"})
        EXPECT_EQ(shown(operation), "(" + std::string(operation) + ")");
    EXPECT_EQ(shown("n in a"), "([n] in a)");
    EXPECT_EQ(shown("n - (2 + n)"), "(n - (2 + n))");
}

TEST(SemanticsDumps, GlobalsAreShownWithWhatTheyKeep) {
    const Analysis analysis(
        "global a[10], w%, k = -7, s = \"x\\n\", e = \"\", z = 0, t, u, h, l\n"
        "probe timer.s(1) { a[1, \"k\"] = 2; w[1] = 2; t <<< 1; u <<< 1; h <<< 1; l[1] <<< 1 }\n"
        "probe timer.s(2) { println(a[1, \"k\"], w[1], k, s, e, z, @min(t), @max(t)); "
        "println(@variance(u, 3)); print(@hist_log(h)); print(@hist_linear(l[1], -5, 5, 2)) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    const std::string dump = analysis.dump();
    for (const char* line :
         {"global a[long, string]: long, locked, size 10\n",
          "global w[long]: long, locked, wraps\n", "global k: long, constant, initially -7\n",
          "global s: string, constant, initially \"x\\n\"\n", "global e: string, constant\n",
          "global z: long, constant\n", "global t: stats, per CPU, keeps count min max\n",
          "global u: stats, per CPU, keeps count sum variance/3\n",
          "global h: stats, per CPU, keeps count hist_log\n",
          "global l[long]: stats, locked, keeps count hist_linear(-5, 5, 2)\n"})
        EXPECT_NE(dump.find(line), std::string::npos) << line << dump;
}

TEST(SemanticsDumps, BodiesAreIndented) {
    expect_dump("function f:long(x:long) %{ STAP_RETURN(STAP_ARG_x); %}\n"
                "function g(x) { if (x) { while (x) { if (x == 2) break; x-- } } return x }\n"
                "function g(x, y) { if (x) return g(x - 1, y); return y }\n"
                "probe begin { foreach (v = [k, l] in a[1, *]) { try { println(k, l, v) } catch "
                "(m) { println(m) } } %{ int i; (void)i; %} delete a[1, 2]; g(1); g(1, f(2)) }\n"
                "global a probe end { a[1, 2] = 3 }",
                "global a[long, long]: long, locked\n"
                "function f(x: long): long %{ STAP_RETURN(STAP_ARG_x); %}\n"
                "function g(x: long): long\n"
                "    # can fail, loops\n"
                "    if x\n"
                "        for (; x; )\n"
                "            if (x == 2)\n"
                "                break\n"
                "            x--\n"
                "    return x\n"
                "function g(x: long, y: long): long, recursive\n"
                "    # can fail, loops\n"
                "    if x\n"
                "        return g((x - 1), y)\n"
                "    return y\n"
                "probe begin\n"
                "    # reads a, writes a, prints, can fail, loops, strings, can exit\n"
                "    local k: long, l: long, v: long, m: string\n"
                "    foreach (v = [k, l] in a[1, *])\n"
                "        try\n"
                "            printf(\"%d%d%d\\n\", k, l, v)\n"
                "        catch (m)\n"
                "            printf(\"%s\\n\", m)\n"
                "    %{ int i; (void)i; %}\n"
                "    delete a[1, 2]\n"
                "    g(1)\n"
                "    g(1, f(2))\n"
                "probe end\n"
                "    # reads a, writes a, can fail\n"
                "    a[1, 2] = 3\n",
                with_guru());
}

} // namespace
} // namespace djstap::test
