// SPDX-License-Identifier: GPL-2.0-or-later
// The callees of functions in programs.
#include "unit/probes/programs.h"

#include "arch/arch.h"

#include <algorithm>
#include <fstream>

namespace djstap::programs {
namespace {

const std::string calls_source = R"c(
#define OWN __attribute__((noinline, noclone))
OWN int leaf(int n) { __asm__ volatile(""); return n + 1; }
static inline __attribute__((always_inline)) int within(int n) { return leaf(n + 2) * 3; }
OWN int middle(int n) { return leaf(n) * 2 + leaf(n + 1); }
OWN int top(int n) { return leaf(n) + middle(n) + within(n); }
OWN int alone(int (*f)(int)) { return f(1) + 1; }
int main(int argc, char **argv) { return top(argc) + alone(leaf); }
)c";

class ProgramCallees : public Programs {
  protected:
    std::string compile_calls(const std::string& options) {
        std::ofstream(path("program.c")) << calls_source;
        return "process(\"" + compile("calls", options) + "\").function(\"";
    }
    static const CallerFrame& frame_of(const Planned& planned, size_t number) {
        return planned.plan->variants.at(0).callers.frames.at(number);
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

constexpr const char* ways[] = {"-g -O0", "-g -O2", "-g -O2 -fno-omit-frame-pointer",
                                "-g -O2 -no-pie", "-g -O0 -fcf-protection"};

TEST_F(ProgramCallees, AreFoundWithAndWithoutOptimization) {
    for (const char* kind : ways) {
        const std::string prefix = compile_calls(kind);
        const std::string leaf = ".callee(\"leaf@program.c:3\")",
                          top = prefix + "top@program.c:6\")";
        EXPECT_EQ(points_of(prefix + "top\").callee(\"leaf\")"), top + leaf + " uprobe\n") << kind;
        EXPECT_EQ(points_of(prefix + "top\").callee(\"leaf\").return"),
                  top + leaf + ".return uretprobe\n")
            << kind;
        EXPECT_EQ(points_of(prefix + "top\").callee(\"middle\").callee(\"leaf\")"),
                  top + ".callee(\"middle@program.c:5\")" + leaf + " uprobe\n")
            << kind;
        const std::string all = points_of(prefix + "top\").callees(2)");
        EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 5) << kind << all;
        EXPECT_NE(all.find(top + ".callee(\"within@program.c:4\")" + leaf), all.npos) << all;
    }
}

// Where the return addresses of a path are depends on how its functions keep their frames.
TEST_F(ProgramCallees, RecognizeTheirCallersByReturnAddresses) {
    for (const char* kind : ways) {
        const Planned planned("probe " + compile_calls(kind) +
                              "top\").callee(\"middle\").callee(\"leaf\") { println(1) }");
        ASSERT_TRUE(planned.plan) << planned.errors();
        const Callers& callers = planned.plan->variants.at(0).callers;
        EXPECT_EQ(callers.reg, arch::stack_pointer());
        EXPECT_EQ(callers.offset, 0);
        ASSERT_EQ(callers.frames.size(), 2U);
        ASSERT_EQ(frame_of(planned, 0).calls.size(), 2U) << kind; // both calls by middle
        EXPECT_EQ(frame_of(planned, 1).code.size(), 1U);
        const std::string options = kind;
        const bool has_frame_pointer =
            options.find("O0") != options.npos || options.find("no-omit") != options.npos;
        for (const CallerFrame::Call& call : frame_of(planned, 0).calls) {
            EXPECT_EQ(call.by_frame_pointer, has_frame_pointer) << kind;
            EXPECT_EQ(call.frame_pointer.has_value(), has_frame_pointer) << kind;
            if (has_frame_pointer) {
                EXPECT_EQ(call.next, 8);
                EXPECT_EQ(call.frame_pointer, -8);
            }
        }
    }
}

TEST_F(ProgramCallees, ThatDoNotExistAreRefused) {
    for (const char* kind : ways) {
        const std::string prefix = compile_calls(kind);
        const std::string none = refusal(prefix + "alone\").callee(\"leaf\")");
        EXPECT_NE(none.find("calls through pointers and of functions in other files"), none.npos)
            << kind << none;
        EXPECT_NE(refusal(prefix + "top\").callee(\"leav\")").find("did you mean 'leaf'?"),
                  std::string::npos)
            << kind;
    }
    compile("bare", "-O2");
    EXPECT_NE(refusal("process(\"" + path("bare") + "\").function(\"top\").callees").find("error"),
              std::string::npos);
}

TEST_F(ProgramCallees, HaveADepthFrom1To20) {
    const std::string top = compile_calls("-g -O2") + "top\")";
    for (const char* depth : {"1", "2", "20"})
        EXPECT_EQ(refusal(top + ".callees(" + depth + ")"), "fine") << depth;
    for (const char* depth : {"0", "-1", "21"})
        EXPECT_NE(refusal(top + ".callees(" + depth + ")").find("the depth must be from 1 to 20"),
                  std::string::npos)
            << depth;
    const std::string leaf = compile_calls("-g -O2") + "leaf\")";
    EXPECT_NE(refusal(leaf + ".callees").find("calls through pointers"), std::string::npos);
    // What is inlined into a function is not the function.
    EXPECT_NE(refusal(top + ".callee(\"top\")").find("no function that"), std::string::npos)
        << refusal(top + ".callee(\"top\")");
}

TEST_F(ProgramCallees, OfSeveralInlineInstancesAreOnePlace) {
    std::ofstream(path("program.c")) << R"c(
#define OWN __attribute__((noinline, noclone))
OWN int leaf(int n) { __asm__ volatile(""); return n + 1; }
static inline __attribute__((always_inline)) int within(int n) { return leaf(n + 2) * 3; }
OWN int one(int n) { return within(n) + 1; }
OWN int two(int n) { return within(n + 1) * 2; }
int main(int argc, char **argv) { return one(argc) + two(argc); }
)c";
    const std::string prefix = "process(\"" + compile("twice", "-g -O2") + "\").function(\"";
    const Planned planned("probe " + prefix + "within\").callee(\"leaf\") { println($n) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    EXPECT_EQ(planned.plan->sites.size(), 1U);
    ASSERT_EQ(planned.plan->variants.size(), 1U);
    EXPECT_GE(frame_of(planned, 0).code.size(), 2U);
    EXPECT_EQ(planned.plan->sites.at(0).function, "leaf");
}

// Data in the code: 0x06 is no instruction of 64-bit mode. What is behind it is not known.
TEST_F(ProgramCallees, AreThoseBeforeDataInTheCode) {
    std::ofstream(path("program.c")) << R"c(
#define OWN __attribute__((noinline, noclone))
OWN int leaf(int n) { return n + 1; }
OWN int after(int n) { return n + 2; }
OWN int top(int n) {
    int first = leaf(n);
    __asm__ volatile("jmp 1f\n.byte 0x06\n1:");
    return first + after(n);
}
int main(int argc, char **argv) { return top(argc); }
)c";
    const std::string top = "process(\"" + compile("data", "-g -O0") + "\").function(\"top";
    EXPECT_EQ(points_of(top + "\").callees"),
              top + "@program.c:5\").callee(\"leaf@program.c:3\") uprobe\n");
}

TEST_F(ProgramCallees, OfLibrariesCountInThePrograms) {
    std::ofstream(path("program.c")) << calls_source;
    shell("gcc -g -O2 -shared -fPIC -Wl,-Bsymbolic -o libcalls.so program.c && "
          "echo 'int top(int); int main(int argc, char **argv) { return top(argc); }' > main.c && "
          "gcc -o main main.c ./libcalls.so");
    const std::string prefix =
        "process(\"" + path("main") + "\").library(\"" + path("libcalls.so") + "\").function(\"";
    const Planned planned("probe " + prefix + "top\").callee(\"middle\") { println(1) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    ASSERT_EQ(planned.plan->sites.size(), 1U);
    EXPECT_EQ(planned.plan->sites[0].function, "middle");
    const auto* place = std::get_if<ProgramPlace>(&planned.plan->variants.at(0).payload);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->program, path("main"));
}

// What is inlined into a block of a function has calls of its own, which are none of the function.
TEST_F(ProgramCallees, InBlocksAreThoseOfWhatIsInlinedThere) {
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
