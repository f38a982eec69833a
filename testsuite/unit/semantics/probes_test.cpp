// SPDX-License-Identifier: GPL-2.0-or-later
// Aliases, return probes and conditions: the resulting points and body of a probe.
#include "dumps.h"

using namespace djstap;
using namespace djstap::test;

TEST(SemanticsAliases, WrapTheBodyFromTheInsideOut) {
    const std::string library = "probe inner = kernel.function(\"f\"), "
                                "kernel.function(\"g\").return { println(\"inner\") }\n"
                                "probe outer = inner { println(\"outer\") }\n"
                                "probe tail += inner { println(\"tail\") }\n";
    const std::string in_order =
        "printf(\"%s\\n\", \"inner\") | printf(\"%s\\n\", \"outer\") | printf(\"%s\\n\", \"own\")";
    EXPECT_EQ(body("probe outer { println(\"own\") }", library), in_order + " | " + in_order)
        << "one for the entry, one for the return";
    Analysis analysis("probe tail?, outer { println(\"own\") }", {}, library);
    ASSERT_TRUE(analysis.program) << analysis.errors();
    const auto& probes = analysis.program->probes;
    ASSERT_EQ(probes.size(), 4u) << "two bodies, each for an entry and a return";
    EXPECT_FALSE(probes[0]->is_return);
    EXPECT_TRUE(probes[1]->is_return);
    EXPECT_TRUE(probes[0]->points[0]->optional);
    EXPECT_FALSE(probes[2]->points[0]->optional);
    EXPECT_EQ(probes[0]->alias_names[0], (std::vector<std::string>{"tail", "inner"}));
    EXPECT_EQ(ast::to_string(*probes[2]->points[0]), "kernel.function(\"f\")");
    for (const auto& probe : probes)
        EXPECT_EQ(probe->declaration, 0u);
    EXPECT_EQ(probes[3]->point_numbers, std::vector<uint32_t>{3});
}

TEST(SemanticsAliases, MayHaveBothAPrologueAndAnEpilogue) {
    EXPECT_EQ(
        body("probe mine { println(2) }", "probe mine = begin { println(1) }, { println(3) }"),
        "printf(\"%d\\n\", 1) | printf(\"%d\\n\", 2) | printf(\"%d\\n\", 3)");
}

TEST(SemanticsAliases, MayExtendABuiltinFamily) {
    Analysis analysis("probe timer.profile { exit() }", {},
                      "probe timer.profile = timer.profile.tick !, timer.s(1) { }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    ASSERT_EQ(analysis.program->probes[0]->points.size(), 2u);
    EXPECT_EQ(ast::to_string(*analysis.program->probes[0]->points[0]), "timer.profile.tick!");
}

TEST(SemanticsAliases, WildcardsAndSuffixes) {
    const std::string library =
        "probe unheard.read = kernel.function(\"r\") { name = \"read\" }\n"
        "probe unheard.write = kernel.function(\"w\") { name = \"write\" }\n";
    Analysis wild("probe unheard.* { println(name) }", {}, library);
    ASSERT_TRUE(wild.program) << wild.errors();
    EXPECT_EQ(wild.program->probes.size(), 2u);
    Analysis suffix("probe unheard.read.return { println(name) }", {}, library);
    ASSERT_TRUE(suffix.program) << suffix.errors();
    EXPECT_TRUE(suffix.program->probes[0]->is_return);
    EXPECT_EQ(ast::to_string(*suffix.program->probes[0]->points[0]),
              "kernel.function(\"r\").return");
    Analysis crossing("probe unh**.return { println(name) }", {}, library);
    ASSERT_TRUE(crossing.program) << crossing.errors();
    ASSERT_EQ(crossing.program->probes.size(), 2u);
    EXPECT_EQ(ast::to_string(*crossing.program->probes[0]->points[0]),
              "kernel.function(\"r\").return?");
    Analysis optional("probe nowhere.at.all ?, begin { exit() }", {}, library);
    ASSERT_TRUE(optional.program) << optional.errors();
    EXPECT_EQ(optional.program->probes[0]->points.size(), 1u);
}

// What `!` makes superfluous, as "first-last: until" of the points' numbers.
TEST(SemanticsAliases, AllThatASufficientPointStandsForIsEnough) {
    const std::string library =
        "probe two = kernel.function(\"a\"), kernel.function(\"b\") {}\n"
        "probe choice = kernel.function(\"c\")!, kernel.function(\"d\") {}\n";
    auto enough = [&](const std::string& script) {
        Analysis analysis(script, {}, library);
        std::string text;
        if (analysis.program)
            for (const program::Sufficient& each : analysis.program->probes[0]->sufficient)
                text += std::to_string(each.first) + "-" + std::to_string(each.last) + ":" +
                        (each.until == UINT32_MAX ? "" : std::to_string(each.until)) + " ";
        return text;
    };
    EXPECT_EQ("0-2: ", enough("probe two!, begin { exit() }"));
    EXPECT_EQ("0-1:2 ", enough("probe choice, begin { exit() }"));
    EXPECT_EQ("2-3:4 2-4: ", enough("probe two, choice!, begin { exit() }"));
    EXPECT_EQ("", enough("probe two, begin { exit() }"));
}

TEST(SemanticsReturnProbes, TakeParametersAtTheEntry) {
    expect_dump(
        "probe kernel.function(\"f\").return { printf(\"%d %d %d %d %s\", $x->y, $x->y, $return, "
        "gettimeofday_ns() - @entry(gettimeofday_ns()), $$vars) }",
        "function gettimeofday_ns(): long, pure, intrinsic\n"
        "probe kernel.function(\"f\").return (return)\n"
        "    # prints, can fail, strings\n"
        "    entry#0 = $x->y\n"
        "    entry#1 = gettimeofday_ns()\n"
        "    entry#2 = $$vars\n"
        "    printf(\"%d %d %d %d %s\", entry#0, entry#0, $return, (gettimeofday_ns() - entry#1), "
        "entry#2)\n");
}

TEST(SemanticsReturnProbes, OneProbeOfBothKindsIsSplit) {
    Analysis analysis(
        "probe kernel.function(\"f\"), kernel.function(\"f\").return { println($x) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    ASSERT_EQ(analysis.program->probes.size(), 2u);
    EXPECT_TRUE(analysis.program->probes[0]->entry_values.empty());
    EXPECT_EQ(analysis.program->probes[1]->entry_values.size(), 1u);
}

TEST(SemanticsConditions, AreJoined) {
    const std::string library = "global level = 2\nprobe mine = timer.s(1) if (level > 1) { }\n";
    EXPECT_EQ(body("global on probe mine if (on) { exit() } probe begin { on = 1 }", library),
              "if ((level > 1) && on) | exit() | on = 1");
}
