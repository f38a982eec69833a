// SPDX-License-Identifier: GPL-2.0-or-later
// What listings say of a mechanism, and points that need little: no kernel, one wrapper, a module
// with a short name.
#include "unit/debuginfo/made_kernel.h"
#include "unit/probes/programs.h"
#include "unit/probes/steps.h"
#include "unit/probes/whole_kernel.h"

#include <algorithm>
#include <fstream>

namespace djstap::programs {
namespace {

class Reasons : public Programs {
  protected:
    static std::string reason_in(const std::string& point) {
        const Planned planned("probe " + point + " { println(1) }");
        EXPECT_TRUE(planned.plan && planned.plan->sites.size() == 1) << point << planned.errors();
        return planned.plan && !planned.plan->sites.empty() ? planned.plan->sites[0].reason : "";
    }
    // The callees of a function, or of what is inlined into it; "(NAME)" is inlined.
    static std::vector<std::string> callees(const DebugInfo& info, const CallerScope& caller) {
        std::vector<std::string> names;
        for (const CallSite& site : info.calls(caller).sites)
            names.push_back(site.kind == CallSite::Kind::Inlined ? "(" + site.inlined.function + ")"
                                                                 : site.callee.name);
        std::sort(names.begin(), names.end());
        return names;
    }
};

TEST_F(Reasons, OfPlacesInPrograms) {
    std::ofstream(path("program.c")) << R"c(#include <stdlib.h>
#define OWN __attribute__((noinline, noclone))
OWN int leaf(int n) { __asm__ volatile(""); return n + 1; }
OWN int ends(int n) { return leaf(n * 5); }
int main(int argc, char **argv) { return ends(argc) + rand(); }
)c";
    const std::string program = "process(\"" + compile("reasons", "-g -O2") + "\")";
    EXPECT_EQ(reason_in(program + ".plt(\"rand\")"), "a stub of the procedure linkage table");
    EXPECT_EQ(reason_in(program + ".plt(\"rand\").return"),
              "a stub of the procedure linkage table");
    const Planned stub("probe " + program + ".plt(\"rand\") { println(1) }");
    ASSERT_TRUE(stub.plan) << stub.errors();
    EXPECT_EQ(stub.plan->sites[0].function, "rand");
    EXPECT_EQ(stub.plan->sites[0].entry, stub.plan->sites[0].address);
    EXPECT_EQ(stub.plan->variants[0].kind, HandlerKind::Entry);
    ASSERT_TRUE(stub.plan->sites[0].info);
    EXPECT_EQ(stub.plan->sites[0].info->name, "rand");
    EXPECT_EQ(stub.plan->sites[0].info->symbol, "rand");
    EXPECT_EQ(refusal(program + ".plt(\"rand\")", "println($$name)"), "fine");
    EXPECT_EQ(reason_in(program + ".function(\"ends\").callee(\"leaf\")"),
              "the jump with which its caller ends");
    EXPECT_EQ(reason_in(program + ".begin"), "tracepoints of the kernel");
    EXPECT_EQ(reason_in(program + ".syscall"), "tracepoints of the kernel");
    shell("gcc -w -g -O2 -o marks " DJSTAP_SOURCE_DIR "/testsuite/kernel/process/marks.c");
    const std::string marks = "process(\"" + path("marks") + "\")";
    EXPECT_EQ(reason_in(marks + ".mark(\"all\")"), "a static probe");
    const Planned all("probe " + marks + ".mark(\"all\") { println(1) }");
    ASSERT_TRUE(all.plan) << all.errors();
    EXPECT_EQ(all.plan->sites[0].function, "pass_marks"); // the function around it
    EXPECT_EQ(reason_in(marks + ".mark(\"watched\")"), "a static probe with a semaphore");
}

// What is inlined into a block of a function has calls of its own, which are none of the function.
TEST_F(Reasons, CallsInBlocksAreThoseOfWhatIsInlinedThere) {
    std::ofstream(path("program.c")) << R"c(
#define OWN __attribute__((noinline, noclone))
OWN int leaf(int n) { __asm__ volatile(""); return n + 1; }
static inline __attribute__((always_inline)) int within(int n) { return leaf(n + 2) * 3; }
OWN int top(int n) {
    int all = 0;
    if (n) {
        int first = leaf(n);
        all = within(first);
    }
    return all;
}
int main(int argc, char **argv) { return top(argc); }
)c";
    using Names = std::vector<std::string>;
    for (const char* options : {"-g -O0", "-g -O2"}) {
        Images images(kernel().folder());
        const auto program = images.program(compile("blocks", options));
        ASSERT_TRUE(program) << program.failure().message;
        const auto opened = (*program)->debuginfo();
        ASSERT_TRUE(opened) << opened.failure().message;
        const DebugInfo& info = **opened;
        const uint64_t top = (*program)->image().symbol("top")->address;
        EXPECT_EQ(callees(info, {top, 0}), (Names{"(within)", "leaf"})) << options;
        for (const CallSite& site : info.calls({top, 0}).sites)
            if (site.kind == CallSite::Kind::Inlined) {
                EXPECT_EQ(callees(info, {0, site.inlined.scope}), Names{"leaf"}) << options;
            }
    }
}

} // namespace
} // namespace djstap::programs

namespace djstap::whole {
namespace {

// With what probefunc() is there, and whether no other mechanism could take the place.
TEST(ReasonsOfPoints, AreTheirMechanisms) {
    for (const auto& [point, expected] :
         {std::pair("begin", "called by the session"),
          {"timer.s(1)", "high-resolution timer"},
          {"perf.type(0).config(1)", "an event on each CPU"},
          {"perf.type(0).config(1).process(\"/a/b\")", "an event on each thread of a program"},
          {"perf.type(0).config(1).process", "an event on each thread of the process of -c or -x"},
          {"procfs(\"a\").read", "a file of its own; a"},
          {"procfs.read", "a file of its own; command"},
          {"netfilter.hook(\"0\").pf(\"2\")", "a hook of its own"},
          {"process.end", "tracepoints of the kernel"},
          {"kernel.data(\"shared\").write", "the processor compares addresses; forced"},
          {"kernel.trace(\"first\")", "its own call; first; forced"},
          {"kernel.mark(\"other\")", "its own call; other"}}) {
        const Planned planned(std::string("probe ") + point + " { println(1) }");
        ASSERT_TRUE(planned.plan) << planned.errors();
        ASSERT_EQ(planned.plan->sites.size(), 1U) << point;
        const Site& site = planned.site();
        EXPECT_EQ(site.reason + (site.function.empty() ? "" : "; " + site.function) +
                      (site.forced ? "; forced" : ""),
                  expected)
            << point;
    }
}

// Types of the kernel are needed for variables only.
TEST(PointsWithoutTypes, NeedNoKernelToBeFound) {
    const auto errors = [](const std::string& point, const std::string& body) {
        Images images("no-such-kernel");
        test::Analysis analysis("probe " + point + " { " + body + " }");
        EXPECT_TRUE(analysis.program) << analysis.errors();
        const auto plan = resolve_probes(*analysis.program, images, {}, analysis.diagnostics);
        return plan ? "nothing" : said(analysis.diagnostics);
    };
    for (const char* point :
         {"process.syscall", "process.syscall.return", "netfilter.hook(\"0\").pf(\"2\")"})
        EXPECT_EQ(errors(point, "println(1)"), "nothing") << point;
    EXPECT_NE(errors("process.syscall", "println($syscall)"), "nothing");
    EXPECT_NE(errors("netfilter.hook(\"0\").pf(\"2\")", "println($hooknum)"), "nothing");
    // All others say that there is none.
    Images none("no-such-kernel");
    const auto kernel = none.kernel();
    ASSERT_FALSE(kernel);
    for (const char* point :
         {"kernel.function(\"f\")", "kernel.function(5)", "kernel.function(\"f\").return",
          "kernel.function(\"f\").label(\"l\")", "kernel.function(\"f\").callees",
          "kernel.statement(\"f@a.c:1\")", "kernel.statement(5)", "kernel.statement(5).absolute",
          "kernel.trace(\"t\")", "kernel.mark(\"m\")", "kernel.data(\"d\").write",
          "kernel.data(0xffffffff81000000).rw", "kprobe.function(\"f\")",
          "kprobe.statement(5).absolute", "module(\"m\").function(\"f\")", "timer.jiffies(1)",
          "timer.profile"})
        EXPECT_NE(errors(point, "println(1)").find(kernel.failure().message), std::string::npos)
            << point << ": " << errors(point, "println(1)");
}

// One of those that may call it is not in this kernel.
TEST(ReturnsOfInlined, MayHaveOneWrapper) {
    const MadeKernel kernel(
        {{"fs/sync.c",
          "struct pt_regs { unsigned long r[21]; };\n"
          "static inline __attribute__((always_inline)) int do_fsync(int fd, int data)\n"
          "{ return fd + data; }\n"
          "long __x64_sys_fsync(const struct pt_regs *regs)\n"
          "{ return do_fsync((int)regs->r[14], 0); }\n"}},
        {"-O0"});
    Images images(kernel.folder());
    test::Analysis analysis("probe kernel.function(\"do_fsync\").return { println(1) }");
    const auto plan = resolve_probes(*analysis.program, images, {}, analysis.diagnostics);
    ASSERT_TRUE(plan) << analysis.errors();
    ASSERT_EQ(plan->sites.size(), 1U);
    EXPECT_EQ(plan->sites[0].entry, kernel.address("__x64_sys_fsync"));
    EXPECT_EQ(said(analysis.diagnostics),
              "the compiler inlined 'do_fsync' everywhere: probing the returns of the functions "
              "that return its result: __x64_sys_fsync");
}

// The kernel and its module, which has the shortest of names.
TEST(ModulesOfOneLetter, AreFoundByTheirTracepointsAndFunctions) {
    std::string source = module_source;
    for (size_t at = source.find("extra"); at != source.npos; at = source.find("extra"))
        source.replace(at, 5, "x");
    const test::Folder root;
    const std::string modules = std::string("lib/modules/") + release;
    root.write("x.c", source);
    root.write(modules + "/config", "CONFIG_HZ=1000\n");
    std::filesystem::create_directories(root.file(modules + "/kernel"));
    std::filesystem::copy(files().path() + modules + "/vmlinux", root.file(modules + "/vmlinux"));
    const std::string command =
        "cd " + root.path +
        " && gcc -g -gdwarf-5 -O0 -c -ffreestanding -mcmodel=kernel -fno-pie -fno-stack-protector "
        "-fcf-protection=none -fno-asynchronous-unwind-tables x.c -o " +
        modules + "/kernel/x.ko";
    ASSERT_EQ(std::system(command.c_str()), 0);
    Images images(root.path + "/");
    test::Analysis traced("probe kernel.trace(\"x_sent\") { println(1) }");
    const auto plan = resolve_probes(*traced.program, images, {}, traced.diagnostics);
    ASSERT_TRUE(plan) << traced.errors();
    ASSERT_EQ(plan->sites.size(), 1U);
    EXPECT_EQ(plan->sites[0].point, "module(\"x\").trace(\"x:x_sent\")");
    test::Analysis called("probe kernel.function(\"x_send\") { println(1) }");
    EXPECT_FALSE(resolve_probes(*called.program, images, {}, called.diagnostics));
    EXPECT_EQ(said(called.diagnostics),
              "no function of kernel 6.1.0-whole matches \"x_send\"; it belongs to a module: "
              "module(\"x\").function(\"x_send\")");
}

// A bit-field is read with the fewest bytes that hold it: 1, 2, 4 or 8.
TEST(BitFields, AreReadWithTheFewestBytes) {
    const auto steps = [](const std::string& member) {
        const Planned planned("probe kernel.function(\"takes_fields\") { println($f->" + member +
                              ") }");
        EXPECT_TRUE(planned.plan) << planned.errors();
        return planned.plan ? steps_of(planned.plan->variants.at(0).accesses.begin()->second.value)
                            : "";
    };
    const std::string rdi_is = "register 14 ";
    EXPECT_EQ(steps("eight"), rdi_is + "load1u bits0+8u");
    EXPECT_EQ(steps("nine"), rdi_is + "+4 load2u bits0+9u");
    EXPECT_EQ(steps("sixteen"), rdi_is + "+8 load2u bits0+16u");
    EXPECT_EQ(steps("seventeen"), rdi_is + "+12 load4u bits0+17u");
    EXPECT_EQ(steps("half"), rdi_is + "+16 load4u bits0+32u");
    EXPECT_EQ(steps("more"), rdi_is + "+24 load8u bits0+33u");
}

} // namespace
} // namespace djstap::whole
