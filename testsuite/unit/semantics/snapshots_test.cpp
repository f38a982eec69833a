// SPDX-License-Identifier: GPL-2.0-or-later
// The probe that shows globals regularly.
#include "dumps.h"

namespace djstap::test {
namespace {

// Its lines, without those of locals and effects.
std::string lines_of_snapshot(const Analysis& analysis) {
    const std::string dump = analysis.dump();
    std::string lines;
    bool inside = false;
    for (size_t at = 0; at < dump.size();) {
        const size_t end = dump.find('\n', at);
        const std::string line = dump.substr(at, end - at);
        at = end + 1;
        if (line.starts_with("probe "))
            inside = line.starts_with("probe timer.ms(250)");
        if (inside && !line.starts_with("    # ") && !line.starts_with("    local "))
            lines += line + "\n";
    }
    return lines;
}

SemanticsOptions shown_often() {
    SemanticsOptions options;
    options.shown_every_ms = 250;
    return options;
}

TEST(SemanticsSnapshots, HaveAllOfEachGlobal) {
    SemanticsOptions options = shown_often();
    options.shown_whole = true;
    const Analysis analysis(
        "global n, s, a, h, l, t, set, fixed = 5 probe timer.s(1) { n++; s = \"x\"; a[1, \"k\"] = "
        "2; h <<< 3; l[1] <<< 2; t <<< 4; set = fixed } probe timer.s(2) { println(n, s, a[1, "
        "\"k\"], @count(t), set); print(@hist_log(h)); print(@hist_linear(l[1], 0, 9, 3)) }",
        options);
    ASSERT_TRUE(analysis.program) << analysis.errors();
    const std::string statistic = " @count=%d @min=%d @max=%d @sum=%d @avg=%d\\n\", ";
    const auto reads = [](const std::string& of) {
        return "@count(" + of + "), @min(" + of + "), @max(" + of + "), @sum(" + of + "), @avg(" +
               of + "))\n";
    };
    EXPECT_EQ(lines_of_snapshot(analysis),
              "probe timer.ms(250), end(2147483647) (synthetic)\n"
              "    printf(\"%d\", 250)\n"
              "    printf(\"n=%d\\n\", n)\n"
              "    printf(\"s=\\\"%s\\\"\\n\", s)\n"
              "    foreach ([key1, key2] in a)\n"
              "        printf(\"a[%d,\\\"%s\\\"]=%d\\n\", key1, key2, a[key1, key2])\n"
              "    if @count(h)\n"
              "        printf(\"h" +
                  statistic + reads("h") +
                  "    if @count(h)\n"
                  "        printf(\"h\\n%H\", @hist_log(h))\n"
                  "    foreach ([key1] in l)\n"
                  "        printf(\"l[%d]" +
                  statistic + "key1, " + reads("l[key1]") +
                  "        printf(\"l[%d]\\n%H\", key1, @hist_linear(l[key1]))\n"
                  "    if @count(t)\n"
                  "        printf(\"t" +
                  statistic + reads("t") +
                  "    printf(\"set=%d\\n\", set)\n"
                  "    printf(\"fixed=%d\\n\", fixed)\n"
                  "    printf(\"%d\", 250)\n");
    std::string sums;
    for (const auto& global : analysis.program->globals) {
        EXPECT_TRUE(global->is_published) << global->name;
        sums += global->adds_up ? global->name + " " : "";
    }
    EXPECT_EQ(sums, "n fixed ");
    // How many elements there are is not known.
    EXPECT_GE(analysis.program->probes.back()->most_statements, INT32_MAX);
}

TEST(SemanticsSnapshots, OfAMonitorHaveProbesAndTheGreatestElements) {
    SemanticsOptions options = shown_often();
    options.shown_probes = true;
    const Analysis analysis("global a, n probe timer.s(1) { a[1]++; n = 2; println(a[2], n) }",
                            options);
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_EQ(lines_of_snapshot(analysis),
              "probe timer.ms(250) (synthetic)\n"
              "    printf(\"%d\", 250)\n"
              "    if @count(probe 2)\n"
              "        printf(\"%d %s %d %d %d %d %d\", 0, \"timer.s(1)\", @count(probe 2), "
              "@min(probe 2), @max(probe 2), @sum(probe 2), @avg(probe 2))\n"
              "    else\n"
              "        printf(\"%d %s %d %d %d %d %d\", 0, \"timer.s(1)\", 0, 0, 0, 0, 0)\n"
              "    foreach ([key1] in a sorted by value, falling limit 1000)\n"
              "        printf(\"a[%d]=%d\\n\", key1, a[key1])\n"
              "    printf(\"n=%d\\n\", n)\n"
              "    printf(\"%d\", 250)\n");
    EXPECT_FALSE(analysis.global("a").is_published);
    // A thousand elements take a loop's round and its body each.
    EXPECT_GE(analysis.program->probes.back()->most_statements, 2000);
    const Analysis scalar("global n probe timer.s(1) { n = 2; println(n) }", options);
    EXPECT_LT(scalar.program->probes.back()->most_statements, 1000);
    EXPECT_GT(scalar.program->probes.back()->most_statements, 4);
}

// A library's globals are its own.
TEST(SemanticsSnapshots, LeaveOutThoseOfLibraries) {
    SemanticsOptions options = shown_often();
    options.shown_whole = true;
    const Analysis analysis("global n probe timer.s(1) { n = counted(); println(n) }", options,
                            "global inner\nfunction counted() { inner++; return inner }\n", false);
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_EQ(lines_of_snapshot(analysis), "probe timer.ms(250), end(2147483647) (synthetic)\n"
                                           "    printf(\"%d\", 250)\n"
                                           "    printf(\"n=%d\\n\", n)\n"
                                           "    printf(\"%d\", 250)\n");
    EXPECT_TRUE(analysis.global("n").is_published);
    EXPECT_FALSE(analysis.global("inner").is_published);
}

} // namespace
} // namespace djstap::test
