// SPDX-License-Identifier: GPL-2.0-or-later
// Which of a handler's values are resolved at a place, and what of a script's points is left out.
#include "unit/probes/steps.h"
#include "unit/probes/whole_kernel.h"

namespace djstap::whole {
namespace {

const std::string site = "kernel.function(\"with_site\").call";

std::string in_body(const std::string& body) {
    return said(site, {}, body);
}

// What is never executed need not exist.
TEST(Bodies, WhatADefinedRulesOutIsNotResolved) {
    for (const char* good : {
             "if (@defined($a)) println($a) else println($c)",
             "if (!@defined($c)) println($a) else println($c)",
             "if (@defined($c)) println($c) else println($a)",
             "if (@defined($c)) println($c)",
             "println(@defined($c) ? $c : $a)",
             "println(@defined($a) ? $a : $c)",
             "println(!@defined($c) ? $a : $c)",
             "println(@defined($c) && $c == 1)",
             "println(!@defined($c) || $c == 1)",
             "if (@defined($c) && $c) println($c)",
             "if (@defined($c) && @defined($a)) println($c) else println($a)",
             "if (@defined($a) && @defined($b)) println($b) else println($c)",
             "if (@defined($c) || @defined($a)) println($a) else println($c)",
             "if (@defined($c) || @defined($d)) println($c) else println($a)",
             "if (0) println($c)",
             "if (1) println($a) else println($c)",
             "if (!0) println($a) else println($c)",
             "if (@defined($c) && pid() == 1) println($c)",
             "if (!@defined($c) || pid() == 1) println($a) else println($c)",
             "if (@defined($c) == 1) println($c) else println($a)",
             "if (@defined($a) != 0) println($a) else println($c)",
             "if (@defined($c) + @defined($d) > 0) println($c) else println($a)",
             "if (@defined($a) * 2 - 1 >= 1) println($a) else println($c)",
             "if (@defined($c) | @defined($d) << 1) println($c) else println($a)",
             "if (-@defined($c) < 0) println($c) else println($a)",
             "if (-@defined($a) + 1 == 0) println($a) else println($c)",
             "if (~@defined($a) == -2) println($a) else println($c)",
             "if (7 % 4 / (@defined($a) ? 3 : 0) <= 1) println($a) else println($c)",
             "if ((-1 << 62 ^ -1) >> 60 == 3) println($a) else println($c)",
             "println(@defined(@cast($a, \"struct thing\")->number) ? $a : $c)",
             "println(@defined(@cast($a, \"struct thing\")->none) ? $c : $a)",
             "println(@defined(@cast($c, \"struct thing\")->number) ? $c : $a)",
         })
        EXPECT_EQ(in_body(good), "nothing") << good;
    for (const char* bad : {
             "if (@defined($a)) println($c) else println($a)",
             "if (!@defined($a)) println($a) else println($c)",
             "if (@defined($c)) println($a) else println($c)",
             "println(@defined($c) ? $a : $c)",
             "println(@defined($a) ? $c : $a)",
             "println(@defined($a) && $c == 1)",
             "println(@defined($c) || $c == 1)",
             "if (pid() == 1) println($c)",
             "if (pid() == 1) println($a) else println($c)",
             "println(pid() == 1 ? $c : $a)",
             "println(pid() == 1 ? $a : $c)",
             "println(pid() == 1 && $c)",
             "println(pid() == 1 || $c)",
             "if (@defined($a) && pid() == 1) println($a) else println($c)",
             "if (@defined($c) || pid() == 1) println($c) else println($a)",
             "if (1) println($c)",
             "if (0) println($a) else println($c)",
             "if (-1) println($c)",
             "if (@defined($a) == 1) println($c) else println($a)",
             "if (@defined($a) + @defined($c) < 1) println($a) else println($c)",
             "if (@defined($a) / @defined($c)) println($a) else println($c)",
             "if (@defined($a) % @defined($c)) println($c) else println($a)",
             "for (i = 0; i < $c; i++) println(i)",
             "while ($c) println(1)",
             "println(-$c)",
             "println(@cast($c, \"struct thing\")->number)",
         })
        EXPECT_NE(in_body(bad).find("'$c'"), std::string::npos) << bad << ": " << in_body(bad);
}

TEST(Bodies, ValuesOfTheEntryAreResolvedToo) {
    EXPECT_NE(said("kernel.function(\"with_site\").return", {}, "println(@entry($c))").find("'$c'"),
              std::string::npos);
    EXPECT_EQ(said("kernel.function(\"with_site\").return", {}, "println(@entry($a))"), "nothing");
    EXPECT_EQ(said("kernel.function(\"with_site\").return", {},
                   "println(@defined(@entry($c)) ? @entry($c) : @entry($a))"),
              "nothing");
    EXPECT_NE(said("kernel.function(\"with_site\").return", {},
                   "println(@defined(@entry($a)) ? @entry($c) : @entry($a))"),
              "nothing");
    // What a cast is applied to is kept from the entry, too.
    EXPECT_EQ(said("kernel.function(\"with_site\").return", {},
                   "println(@defined(@cast($c, \"struct thing\")->number) ? @cast($c, \"struct "
                   "thing\")->number : 1)"),
              "nothing");
    EXPECT_EQ(said("kernel.function(\"with_site\").return", {},
                   "println(@defined(@cast($a, \"struct thing\")->number) ? 1 : $c)"),
              "nothing");
}

// With --skip-badvars they are 0.
TEST(Bodies, BadVariablesMayBeSkipped) {
    ProbeOptions options;
    options.skip_bad_variables = true;
    const Planned planned("probe " + site + " { println($c, $a) }", options);
    ASSERT_TRUE(planned.plan) << planned.errors();
    EXPECT_EQ(planned.plan->variants.at(0).accesses.size(), 1U);
    EXPECT_EQ(said(site, options, "println($c)"), "nothing");
    EXPECT_NE(said(site, {}, "println($c)"), "nothing");
}

TEST(Bodies, PlacesThatResolveAlikeShareAHandler) {
    const auto variants = [](const std::string& point, const std::string& body) {
        const Planned planned("probe " + point + " { " + body + " }");
        EXPECT_TRUE(planned.plan) << planned.errors();
        return planned.plan ? planned.plan->variants.size() : 0;
    };
    const std::string two = "kernel.function(\"{six,seven}\").call",
                      other = "kernel.function(\"{with_site,six}\").call";
    EXPECT_EQ(variants(two, "println(1)"), 1U);
    EXPECT_EQ(variants(two, "println($a)"), 1U);
    EXPECT_EQ(variants(two, "println($a + $f)"), 1U);
    EXPECT_EQ(variants(other, "println($a)"), 2U); // an int and a long
    EXPECT_EQ(variants(other, "println($b)"), 1U);
    EXPECT_EQ(variants("kernel.function(\"{with_site,without_site}\").call", "println($a)"), 1U);
    EXPECT_EQ(variants(two, "println(@defined($g))"), 2U);
    EXPECT_EQ(variants(other, "println(@defined($c))"), 2U);
    EXPECT_EQ(variants(two, "println(@defined($f))"), 1U);
    EXPECT_EQ(variants(two, "println($$parms)"), 2U);
    EXPECT_EQ(
        variants("kernel.function(\"six\").call, kernel.function(\"six\").return", "println(1)"),
        2U);
    // Arrays of characters are shown up to their ends.
    EXPECT_EQ(variants("kernel.function(\"takes_{short,long}\").call", "println($n$)"), 2U);
    EXPECT_EQ(variants("kernel.function(\"takes_{short,long}\").call", "println($n->name[1])"), 1U);
    // Where the kernel handles a fault, a handler must not cause one.
    EXPECT_EQ(
        variants("kernel.function(\"{fixup_exception,without_site}\").call", "println(1 / $a)"),
        2U);
    EXPECT_EQ(variants("kernel.function(\"{fixup_exception,without_site}\").call", "println($a)"),
              1U);
    EXPECT_EQ(variants("timer.s(1), timer.s(2), timer.s(1)", "println(1)"), 2U);
}

// ---- points of one probe ------------------------------------------------------------------------

std::vector<std::string> names_of(const std::string& points, const std::string& library = "") {
    const Planned planned("probe " + points + " { println(1) }", {}, library);
    EXPECT_TRUE(planned.plan) << planned.errors();
    std::vector<std::string> names;
    for (size_t i = 0; planned.plan && i < planned.plan->sites.size(); i++)
        names.push_back(planned.site(i).name);
    return names;
}

using Names = std::vector<std::string>;

TEST(PointsOfAProbe, ASufficientOneMakesOthersSuperfluous) {
    EXPECT_EQ(names_of("kernel.trace(\"first\")!, kernel.trace(\"second\")"),
              Names{"kernel.trace(\"made:first\")"});
    EXPECT_EQ(names_of("kernel.trace(\"none\")!, kernel.trace(\"second\")"),
              Names{"kernel.trace(\"other:second\")"});
    EXPECT_EQ(names_of("kernel.trace(\"first\")?, kernel.trace(\"second\")"),
              (Names{"kernel.trace(\"made:first\")", "kernel.trace(\"other:second\")"}));
    EXPECT_EQ(
        names_of("kernel.trace(\"first\"), kernel.trace(\"second\")!, kernel.trace(\"alone\")"),
        (Names{"kernel.trace(\"made:first\")", "kernel.trace(\"other:second\")"}));
    EXPECT_EQ(
        names_of("kernel.trace(\"none\")!, kernel.trace(\"first\"), kernel.trace(\"second\")"),
        (Names{"kernel.trace(\"made:first\")", "kernel.trace(\"other:second\")"}));
    // Returns and tracepoints are parts of a probe that are resolved on their own.
    EXPECT_EQ(names_of("kernel.function(\"none\").return!, kernel.trace(\"first\")!, "
                       "kernel.function(\"six\").return"),
              Names{"kernel.trace(\"made:first\")"});
    const std::string library = "probe lib.old = kernel.trace(\"none\")!, kernel.trace(\"first\")! "
                                "{} probe lib.new = lib.old!, kernel.trace(\"second\") {}";
    EXPECT_EQ(names_of("lib.new", library), Names{"lib.new"});
    EXPECT_EQ(names_of("lib.old, kernel.trace(\"second\")", library),
              (Names{"lib.old", "kernel.trace(\"other:second\")"}));
}

TEST(PointsOfAProbe, OptionalOnesMayBeMissing) {
    EXPECT_EQ(names_of("kernel.trace(\"none\")?"), Names());
    EXPECT_EQ(names_of("kernel.trace(\"none\")?, kernel.trace(\"first\")"),
              Names{"kernel.trace(\"made:first\")"});
    EXPECT_EQ(said("kernel.trace(\"none\")?, kernel.trace(\"fist\")"),
              "no tracepoint of kernel 6.1.0-whole matches \"fist\"; did you mean 'first'?");
    // A value that is not there, too.
    EXPECT_EQ(said("kernel.function(\"six\").call?", {}, "println($none)"), "nothing");
    EXPECT_NE(said("kernel.function(\"six\").call", {}, "println($none)"), "nothing");
    const Planned both("probe kernel.function(\"six\").call?, kernel.function(\"seven\").call { "
                       "println($g) }");
    ASSERT_TRUE(both.plan) << both.errors();
    ASSERT_EQ(both.plan->sites.size(), 1U);
    EXPECT_EQ(both.site().function, "seven");
    EXPECT_EQ(names_of("never"), Names());
}

// A suffix need not apply to all that a library's alias leads to, if that is optional.
TEST(PointsOfAProbe, SuffixesOfAliasesMayNotApply) {
    const std::string library =
        "probe lib.mixed = kernel.trace(\"first\"), kernel.function(\"six\") {}";
    const Planned planned("probe lib.mixed.call ? { println(1) }", {}, library);
    ASSERT_TRUE(planned.plan) << planned.errors();
    ASSERT_EQ(planned.plan->sites.size(), 1U);
    EXPECT_EQ(planned.site().function, "six");
    EXPECT_EQ(said(planned.analysis.diagnostics), "nothing");
    EXPECT_EQ(said(Planned("probe lib.mixed.call { println(1) }", {}, library).analysis.diagnostics)
                  .substr(0, 29),
              "unknown probe point component");
}

// * in the name of a component stands for any; one of those must exist.
TEST(PointsOfAProbe, StarsStandForSeveralFamilies) {
    EXPECT_EQ(names_of("kernel.*(\"first\")"), Names{"kernel.trace(\"made:first\")"});
    EXPECT_EQ(names_of("kernel.*(\"six\").c*"),
              Names{"kernel.function(\"" + declared("six") + "\").call"});
    EXPECT_EQ(said("kernel.*(\"nothing_of_that_name\")").find("no "), 0U)
        << said("kernel.*(\"nothing_of_that_name\")");
    EXPECT_EQ(said("kernel.*(\"first\"), kernel.*(\"second\")"), "nothing");
    EXPECT_NE(said("kernel.*(\"first\"), kernel.*(\"nothing_of_that_name\")"), "nothing");
}

// The type of a global is that of what was stored in it, wherever that was.
TEST(Values, KeepTheTypesOfTheirOrigins) {
    const auto use = [](const std::string& value, const std::string& member) {
        return said(Planned("global t probe kernel.function(\"returns_pointer\").call { t = " +
                            value + " } probe timer.s(1) { println(t->" + member + ") }")
                        .analysis.diagnostics);
    };
    EXPECT_EQ(use("$t", "number"), "nothing");
    EXPECT_EQ(use("&$things[1]", "text[2]"), "nothing");
    EXPECT_EQ(use("@var(\"things\")", "number"), "nothing");
    EXPECT_EQ(use("@cast($t, \"struct thing\")", "number"), "nothing");
    EXPECT_EQ(use("@cast($t, \"struct parcel\", \"extra\")", "weight"), "nothing");
    EXPECT_NE(use("@cast($t, \"struct parcel\")", "weight"), "nothing");
    const Planned planned("global t probe kernel.function(\"takes_holder\").call { t = &$h->to } "
                          "probe timer.s(1) { println(t->b) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    EXPECT_EQ(steps_of(planned.plan->variants.at(1).accesses.begin()->second.value),
              "operand load8u +8 load8s");
    EXPECT_NE(use("$t", "none").find("has no member 'none'"), std::string::npos);
    EXPECT_NE(use("$t->number", "number"), "nothing");
    EXPECT_NE(use("pid()", "number"), "nothing");
    // In a function, what its callers pass.
    const auto function = [](const std::string& body) {
        return said(Planned("function f(p) { return " + body +
                            " } probe kernel.function(\"returns_pointer\").call { println(f($t)) }")
                        .analysis.diagnostics);
    };
    EXPECT_EQ(function("p->number"), "nothing");
    EXPECT_NE(function("p->none").find("has no member 'none'"), std::string::npos);
    EXPECT_EQ(function("@cast(p, \"struct none\")->x"),
              "the kernel has no type 'struct none'; write it as in C: \"struct task_struct\"");
    EXPECT_EQ(function("@cast(p, \"struct none\", \"kernel<made/none.h>\")->x")
                  .find("'kernel<made/none.h>' has no type 'struct none'; kernel<made/none.h>: "),
              0U)
        << function("@cast(p, \"struct none\", \"kernel<made/none.h>\")->x");
}

// It is a member of what another global points to.
TEST(Values, KeepTypesThroughOthers) {
    const auto said_of = [](const std::string& member) {
        return said(Planned("global t, u probe kernel.function(\"six\").call { t = &$buffer "
                            "u = t->next } probe timer.s(1) { println(u->" +
                            member + ") }")
                        .analysis.diagnostics);
    };
    EXPECT_EQ(said_of("len"), "nothing");
    EXPECT_NE(said_of("none").find("has no member 'none'"), std::string::npos) << said_of("none");
}

// Its type is not known either.
TEST(Values, OfPointsThatAreNotThereHaveNoType) {
    const std::string stores = "global t probe kernel.function(\"none\").call ? { t = $t } ";
    const Planned planned(stores + "probe timer.s(1) { println(t->number) }");
    EXPECT_FALSE(planned.plan);
    EXPECT_NE(planned.errors().find("t->number"), std::string::npos) << planned.errors();
    EXPECT_TRUE(Planned(stores + "probe timer.s(1) { println(t) }").plan);
}

// What a condition reads is resolved like the body, also if the body has no such value.
TEST(Values, OfConditionsAreResolved) {
    const std::string stores =
        "global t probe kernel.function(\"returns_pointer\").call { t = $t } ";
    for (const char* condition :
         {"t->number == 3", "@cast(t, \"struct thing\")->number == 3", "t && t->number"}) {
        const Planned planned(stores + "probe timer.s(1) if (" + condition + ") { println(1) }");
        ASSERT_TRUE(planned.plan) << condition << planned.errors();
        const AccessMap& accesses = planned.plan->variants.at(1).accesses;
        ASSERT_EQ(accesses.size(), 1U) << condition;
        EXPECT_EQ(steps_of(accesses.begin()->second.value), "operand load4s") << condition;
    }
    EXPECT_NE(said(Planned(stores + "probe timer.s(1) if (t->none == 3) { println(1) }")
                       .analysis.diagnostics)
                  .find("has no member 'none'"),
              std::string::npos);
}

// The body runs once for each of them.
TEST(PointsOfAProbe, OnePlaceMayBeNamedTwice) {
    const auto handlers = [](const std::string& points) {
        const Planned planned("probe " + points + " { println(1) }");
        EXPECT_TRUE(planned.plan) << planned.errors();
        return planned.plan ? std::pair(planned.plan->sites.size(), planned.plan->variants.size())
                            : std::pair<size_t, size_t>(0, 0);
    };
    const std::string six = "kernel.function(\"six\").call", all = "kernel.function(\"si*\").call";
    EXPECT_EQ(handlers(six), std::pair(size_t{1}, size_t{1}));
    EXPECT_EQ(handlers(six + ", " + six), std::pair(size_t{2}, size_t{2}));
    EXPECT_EQ(handlers(six + ", " + all + ", " + six), std::pair(size_t{3}, size_t{3}));
    EXPECT_EQ(handlers("kernel.function(\"{six,six}\").call"), std::pair(size_t{1}, size_t{1}));
    EXPECT_EQ(handlers(six + " { } probe " + six), std::pair(size_t{2}, size_t{2}));
    EXPECT_EQ(handlers("begin, begin"), std::pair(size_t{2}, size_t{1}));
}

TEST(PointsOfAProbe, HandlersOfAFunctionFollowEachOther) {
    const Planned planned("probe kernel.function(\"six\").call { println(1) } "
                          "probe kernel.function(\"six\").return { println(2) } "
                          "probe kernel.function(\"{six,seven}\").call { println(3) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    const ProbePlan& plan = *planned.plan;
    ASSERT_EQ(plan.sites.size(), 4U);
    ASSERT_EQ(plan.trampolines.size(), 2U);
    uint32_t at = 0;
    std::vector<std::string> order;
    for (; at != no_index; at = plan.sites.at(at).next)
        order.push_back(plan.sites.at(at).point.substr(17, 3));
    EXPECT_EQ(order, (std::vector<std::string>{"six", "six", "six"}));
    EXPECT_TRUE(plan.trampolines[plan.sites[0].trampoline].returns(plan));
}

// ---- names of earlier kernels -------------------------------------------------------------------

TEST(FormerNames, StandForThoseOfToday) {
    const auto current = [](const std::string& point, const std::string& body = "println(1)") {
        const Planned planned("probe " + point + " { " + body + " }");
        std::string text = said(planned.analysis.diagnostics);
        for (size_t i = 0; planned.plan && i < planned.plan->sites.size(); i++)
            text = planned.site(i).function + ": " + text;
        return text;
    };
    EXPECT_TRUE(current("kernel.function(\"do_fork\")").starts_with("kernel_clone: "))
        << current("kernel.function(\"do_fork\")");
    EXPECT_TRUE(current("kprobe.function(\"_do_fork\")").starts_with("kernel_clone: "));
    EXPECT_TRUE(current("kernel.function(\"__vfs_read\").return").starts_with("vfs_read: "));
    EXPECT_NE(current("kernel.function(\"do_fork\")"), "kernel_clone: nothing");
    EXPECT_EQ(current("kernel.function(\"do_fork\")?"), "nothing");
    EXPECT_EQ(current("kernel.function(\"kernel_clone\")"), "kernel_clone: nothing");
    // The name of today does not exist here either: what was written is not found.
    EXPECT_EQ(current("kernel.function(\"generic_make_request\")"),
              "no function of kernel 6.1.0-whole matches \"generic_make_request\"");
    EXPECT_TRUE(
        current("kernel.trace(\"mm_vmscan_writepage\")")
            .starts_with("no tracepoint of kernel 6.1.0-whole matches \"mm_vmscan_writepage\""));
    EXPECT_TRUE(current("module(\"extra\").function(\"do_fork\")").find("do_fork") !=
                std::string::npos);
}

TEST(FormerNames, VariablesAreMembersOfOthers) {
    const auto value = [](const std::string& variable) {
        const Planned planned("probe kernel.function(\"kernel_clone\").call { println(" + variable +
                              ") }");
        return planned.plan
                   ? steps_of(planned.plan->variants.at(0).accesses.begin()->second.value) + ", " +
                         said(planned.analysis.diagnostics)
                   : said(planned.analysis.diagnostics);
    };
    const std::string today = "register 14 load8u, ";
    EXPECT_EQ(value("$args->flags"), today + "nothing");
    const std::string former = value("$clone_flags");
    EXPECT_TRUE(former.starts_with(today)) << former;
    EXPECT_NE(former.find("$args->flags"), std::string::npos) << former;
    // Today's structure lacks this one.
    EXPECT_TRUE(value("$stack_size").find("has no variable '$stack_size'") != std::string::npos)
        << value("$stack_size");
    EXPECT_TRUE(said("kernel.function(\"six\")", {}, "println($clone_flags)")
                    .find("has no variable '$clone_flags'") != std::string::npos);
}

} // namespace
} // namespace djstap::whole
