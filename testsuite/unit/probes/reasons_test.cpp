// SPDX-License-Identifier: GPL-2.0-or-later
// What listings say of a mechanism.
#include "unit/probes/programs.h"
#include "unit/probes/whole_kernel.h"

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

} // namespace
} // namespace djstap::whole
