// SPDX-License-Identifier: GPL-2.0-or-later
// The callees of functions in a kernel; functions of which there are very many.
#include "unit/debuginfo/made_kernel.h"
#include "unit/probes/whole_kernel.h"

namespace djstap::whole {
namespace {

const std::string point = "kernel.function(\"sys_made\")";

// Only what is optimized has its calls in DWARF.
const MadeKernel& calls() {
    static const MadeKernel made(
        {{"calls.c",
          R"c(#define OWN __attribute__((noinline, noclone))
struct pt_regs { unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di; };
OWN int with_site(int a, long b) { __asm__ volatile("" : : "r"(a)); return a + (int)b; }
OWN int without_site(int a) { __asm__ volatile("" : : "r"(a)); return a; }
static inline __attribute__((always_inline)) long __do_sys_made(int fd, char *buf) { return without_site(fd) + with_site(fd, 1); }
OWN long __se_sys_made(long fd, long buf) { return __do_sys_made((int)fd, (char *)buf) + 1; }
long __x64_sys_made(const struct pt_regs *regs) { return __se_sys_made((long)regs->di, (long)regs->si) + 2; }
)c"},
         {"table.s", ".section .rodata, \"a\"\n.globl __start_mcount_loc, __stop_mcount_loc\n"
                     "__start_mcount_loc: .quad with_site, __x64_sys_made\n__stop_mcount_loc:\n"
                     ".section .note.GNU-stack, \"\", @progbits\n"}},
        {"-O2"});
    return made;
}

struct Plan {
    explicit Plan(const std::string& script, const ProbeOptions& options = {})
        : images(calls().folder()), analysis(script) {
        EXPECT_TRUE(analysis.program) << analysis.errors();
        if (analysis.program)
            plan = resolve_probes(*analysis.program, images, options, analysis.diagnostics);
    }
    Images images;
    test::Analysis analysis;
    std::optional<ProbePlan> plan;
};

// "callee mechanism" of each place, or what is wrong.
std::string callees(const std::string& point, const ProbeOptions& options = {},
                    const std::string& body = "println(1)") {
    const Plan planned("probe " + point + " { " + body + " }", options);
    if (!planned.plan)
        return said(planned.analysis.diagnostics);
    std::string text;
    for (const Site& site : planned.plan->sites)
        text += site.point.substr(site.point.find(").") + 2) + " " +
                std::string(mechanism_name(site.mechanism)) + "\n";
    return text;
}

const std::string with = "callee(\"with_site@calls.c:3\")",
                  without = "callee(\"without_site@calls.c:4\")";

// The bodies of a system call are where its callees are called.
TEST(KernelCallees, OfSystemCallsAreThoseOfTheirBodies) {
    EXPECT_EQ(callees(point + ".callee(\"with_site\")"), with + " djprobe\n");
    EXPECT_EQ(callees(point + ".callee(\"with_site\").return"), with + ".return return-djprobe\n");
    EXPECT_EQ(callees(point + ".callee(\"w*_site\").call"),
              without + ".call kprobe\n" + with + ".call djprobe\n");
    EXPECT_EQ(callees(point + ".callee(\"__se*\")"),
              "callee(\"__se_sys_made@calls.c:6\") kprobe\n");
    const std::string all = callees(point + ".callees");
    for (const std::string& each :
         {with, without, std::string("callee(\"__se_sys_made@calls.c:6\")"),
          std::string("callee(\"__do_sys_made@calls.c:5\")")})
        EXPECT_NE(all.find(each), std::string::npos) << each << all;
    EXPECT_EQ(callees(point + ".callee(\"with_site\")", {}, "println($a, $b)"),
              with + " djprobe\n");
    EXPECT_TRUE(callees(point + ".callee(\"with_site\")", {}, "println($c)")
                    .starts_with("function 'with_site' has no variable '$c'"));
}

TEST(KernelCallees, AreLimitedLikeFunctions) {
    ProbeOptions options;
    options.max_kprobes = 0;
    EXPECT_EQ(callees(point + ".callee(\"w*_site\").call", options), with + ".call djprobe\n");
    EXPECT_EQ(callees(point + ".callee(\"without_site\")", options), without + " kprobe\n");
    EXPECT_TRUE(callees(point + ".callee(\"without_site\")", forced(Mechanism::Djprobe))
                    .ends_with("it has no fentry site"));
    EXPECT_EQ(callees(point + ".callee(\"w*_site\").call", forced(Mechanism::Djprobe)),
              with + ".call djprobe\n");
    EXPECT_EQ(callees(point + ".callee(\"wth_site\")"),
              "no function that \"sys_made\" calls directly matches \"wth_site\"; did you mean "
              "'with_site'?");
    EXPECT_NE(callees(point + ".callee(\"x*\")").find("; it calls __"), std::string::npos)
        << callees(point + ".callee(\"x*\")");
    EXPECT_EQ(callees(point + ".callee(\"x*\")?"), "");
    EXPECT_EQ(callees("kernel.function(\"absent\").callees"),
              "no function of kernel 6.1.0-made matches \"absent\"");
    EXPECT_EQ(callees("kernel.function(\"absent\").callees?"), "");
}

TEST(KernelCallees, HaveTheirCallers) {
    const std::string script = "probe " + point + ".callee(\"with_site\") { println(1) }";
    const Plan planned(script);
    ASSERT_TRUE(planned.plan) << planned.analysis.errors();
    const Callers& callers = planned.plan->variants.at(0).callers;
    ASSERT_EQ(callers.frames.size(), 1U);
    EXPECT_EQ(callers.image, planned.plan->sites.at(0).image);
    ProbeOptions any;
    any.any_callers = true;
    EXPECT_TRUE(Plan(script, any).plan->variants.at(0).callers.frames.empty());
    // By the address of the caller, too.
    const uint64_t caller = calls().address("__x64_sys_made");
    EXPECT_EQ(callees("kernel.function(" + std::to_string(static_cast<int64_t>(caller + 1)) +
                      ").callee(\"__se_sys_made\")"),
              "callee(\"__se_sys_made@calls.c:6\") kprobe\n");
    EXPECT_NE(callees("kernel.function(5).callees").find("no function is there"),
              std::string::npos);
}

// A trampoline searches for the function that called it.
TEST(ManyFunctions, HaveNoReturnDjprobesAboveAThousand) {
    std::string source = "int extra(int a) { return a; }\n", table = ".section .rodata, \"a\"\n"
                                                                     ".globl __start_mcount_loc, "
                                                                     "__stop_mcount_loc\n"
                                                                     "__start_mcount_loc: .quad "
                                                                     "extra\n";
    for (int i = 0; i < 1000; i++) {
        const std::string name = "f" + std::to_string(i);
        source += "int " + name + "(int a) { return a; }\n";
        table += ".quad " + name + "\n";
    }
    table += "__stop_mcount_loc:\n.section .note.GNU-stack, \"\", @progbits\n";
    const MadeKernel kernel({{"many.c", source}, {"table.s", table}});
    const auto reason = [&](const std::string& pattern) {
        Images images(kernel.folder());
        test::Analysis analysis("probe kernel.function(\"" + pattern + "\").return { println(1) }");
        const auto plan = resolve_probes(*analysis.program, images, {}, analysis.diagnostics);
        EXPECT_TRUE(plan) << analysis.errors();
        return plan ? plan->sites.at(0).reason : "";
    };
    EXPECT_EQ(reason("f*"), "all arguments in registers");
    EXPECT_EQ(reason("*"), "the pattern matches more than 1000 functions");
}

} // namespace
} // namespace djstap::whole
