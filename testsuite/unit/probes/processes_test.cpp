// SPDX-License-Identifier: GPL-2.0-or-later
// The lives and the system calls of processes; functions with qualified names.
#include "unit/probes/programs.h"

namespace djstap::programs {
namespace {

const std::string qualified_source = R"c(#include <stdlib.h>
namespace shop {
__attribute__((noinline)) int thrower(int n) { return n * 2 + rand(); }
template <class T> __attribute__((noinline)) T twice(T n) { return n + n; }
struct order {
    int id; int total(int n) const;
    __attribute__((always_inline)) operator long() const { return id + rand(); }
};
__attribute__((noinline)) int order::total(int n) const { return id + n + rand(); }
namespace deep { static inline __attribute__((always_inline)) int inner(int n) { return n + rand(); } }
namespace { __attribute__((noinline)) int hidden(int n) { return n + rand(); } }
int use(int n) { return hidden(n) + deep::inner(n); }
inline namespace v2 {
__attribute__((noinline)) int stamp(int n) { return n * 3 + rand(); }
static inline __attribute__((always_inline)) int seal(int n) { return n + rand(); }
}
namespace plain { __attribute__((noinline)) int stamp(int n) { return n * 5 + rand(); } }
}
namespace store { __attribute__((noinline)) int thrower(int n) { return n * 7 + rand(); } }
__attribute__((noinline)) int thrower(int n) { return n + rand(); }
int main(int argc, char**) {
    shop::order o{argc};
    return shop::thrower(argc) + shop::twice(argc) + o.total(3) + long(o) + shop::use(argc) + store::thrower(4) + thrower(5)
        + shop::stamp(1) + shop::plain::stamp(2) + shop::seal(argc);
}
)c";

// Compilers put definitions into the namespace, or beside it.
TEST_F(Programs, FunctionsInNamespacesHaveQualifiedNames) {
    std::ofstream(path("program.cpp")) << qualified_source;
    for (const char* compiler : {"g++", "clang++-19"}) {
        for (const char* debug : {"-g", "-g0"}) {
            const bool has_debug = std::string(debug) == "-g";
            shell(std::string(compiler) + " -w -O1 " + debug + " program.cpp -o program");
            auto functions = [&](const std::string& name) {
                const Planned planned("probe process(\"" + path("program") + "\").function(\"" +
                                      name + "\").call { println(1) }");
                std::string text = planned.plan ? "" : planned.errors();
                if (planned.plan)
                    for (const Site& site : planned.plan->sites)
                        text += site.info->symbol + " ";
                return text;
            };
            EXPECT_EQ(functions("shop::thrower"), "_ZN4shop7throwerEi ") << compiler << debug;
            EXPECT_EQ(functions("::thrower"), "_Z7throweri ") << compiler << debug;
            EXPECT_EQ(functions("st*::thrower"), "_ZN5store7throwerEi ") << compiler << debug;
            EXPECT_EQ(functions("order::total"), "_ZNK4shop5order5totalEi ") << compiler << debug;
            EXPECT_EQ(functions("shop::hidden"), "_ZN4shop12_GLOBAL__N_16hiddenEi ")
                << compiler << debug;
            EXPECT_NE(functions("shop::throwre").find("did you mean 'shop::thrower'"),
                      std::string::npos)
                << compiler << debug << functions("shop::throwre");
            EXPECT_NE(functions("shpo::thrower").find("did you mean 'shop::thrower'"),
                      std::string::npos)
                << compiler << debug;
            EXPECT_NE(functions("_ZN4shop7throwreEi").find("did you mean '_ZN4shop7throwerEi'"),
                      std::string::npos)
                << compiler << debug << functions("_ZN4shop7throwreEi");
            EXPECT_EQ(functions("shop::v2::stamp"), "_ZN4shop2v25stampEi ") << compiler << debug;
            EXPECT_NE(functions("shop::deep::thrower").find("no function"), std::string::npos);
            if (!has_debug)
                continue;
            EXPECT_EQ(functions("shop::thrower@program.cpp:3"), "_ZN4shop7throwerEi ") << compiler;
            EXPECT_EQ(functions("shop::twice<int>"), "_ZN4shop5twiceIiEET_S1_ ") << compiler;
            EXPECT_EQ(functions("shop::stamp"), "_ZN4shop2v25stampEi ") << compiler;
            const std::string prefix = "process(\"" + path("program") + "\")";
            EXPECT_NE(points_of(prefix + ".function(\"deep::inner\")").find(".inline uprobe"),
                      std::string::npos)
                << compiler;
            EXPECT_NE(points_of(prefix + ".function(\"shop::seal\")").find(".inline uprobe"),
                      std::string::npos)
                << compiler;
            EXPECT_NE(
                points_of(prefix + ".function(\"order::operator long\")").find(".inline uprobe"),
                std::string::npos)
                << compiler;
            EXPECT_NE(points_of(prefix + ".statement(\"shop::thrower@program.cpp:3\")")
                          .find(".statement(\"thrower@"),
                      std::string::npos)
                << compiler;
            EXPECT_EQ(refusal(prefix + ".function(\"shop::thrower\")", "println($n)"), "fine");
        }
    }
}

TEST_F(Programs, LivesAndSystemCallsAreThoseOfProcesses) {
    const std::string program = compile("program", "-g -O2");
    const std::string prefix = "process(\"" + program + "\")";
    std::ofstream(path("script")) << "#!" << program << "\n";
    for (const char* moment :
         {".begin", ".end", ".thread.begin", ".thread.end", ".syscall", ".syscall.return"}) {
        EXPECT_EQ(points_of(prefix + moment), prefix + moment + " process\n");
        EXPECT_EQ(points_of("process(\"" + path("script") + "\")" + moment),
                  prefix + moment + " process\n");
        EXPECT_EQ(points_of(std::string("process") + moment),
                  std::string("process") + moment + " process\n");
        EXPECT_NE(refusal("process(\"" + path("none") + "\")" + moment).find("there is no file"),
                  std::string::npos);
        EXPECT_EQ(refusal("process(\"" + path("none") + "\")" + moment + "?"), "fine");
        for (const char* number : {"0", "-7", "3000000000"})
            EXPECT_NE(refusal(std::string("process(") + number + ")" + moment)
                          .find("there is no process"),
                      std::string::npos);
    }
    for (const char* number : {"1", "2147483647"})
        EXPECT_EQ(refusal(std::string("process(") + number + ").begin"), "fine");
    EXPECT_NE(refusal("process(2147483648).end").find("there is no process"), std::string::npos);
    const Planned numbered("probe process(4711).thread.end { println(1) }", program);
    ASSERT_TRUE(numbered.plan) << numbered.errors();
    const auto* moment = std::get_if<ProcessMoment>(&numbered.plan->variants.at(0).payload);
    ASSERT_TRUE(moment);
    const Planned any("probe process.begin { println(1) }");
    ASSERT_TRUE(any.plan) << any.errors();
    EXPECT_EQ(mechanism_arguments(any.plan->variants.at(0).payload)[DJS_PROCESS_ID], 0U);
    EXPECT_EQ(moment->process, 4711U);
    EXPECT_EQ(moment->moment, DJS_PROCESS_THREAD_END);
    EXPECT_EQ(moment->program, "");
    compile("one", "-O0");
    compile("two", "-O0");
    const Planned several("probe process(\"" + path("{one,two}") + "\").begin { println(1) }");
    ASSERT_TRUE(several.plan) << several.errors();
    ASSERT_EQ(several.plan->variants.size(), 2U);
    EXPECT_EQ(mechanism_program(several.plan->variants[1].payload), path("two"));
}

TEST_F(Programs, SystemCallsHaveTheirNumbersAndArguments) {
    EXPECT_EQ(refusal("process.syscall", "println($syscall, $arg1, $arg6, $$parms, $$vars)"),
              "fine");
    EXPECT_EQ(refusal("process.syscall.return",
                      "println($syscall, $arg1, $return, $$return, @entry(pid()), returnval())"),
              "fine");
    EXPECT_NE(refusal("process.syscall", "println($arg7)").find("$arg7"), std::string::npos);
    EXPECT_NE(refusal("process.syscall", "println($return)").find("add .return"),
              std::string::npos);
    EXPECT_NE(refusal("process.begin", "println($syscall)").find("$syscall"), std::string::npos);
    EXPECT_NE(refusal("process.insn").find("each of its instructions"), std::string::npos);
}

} // namespace
} // namespace djstap::programs
