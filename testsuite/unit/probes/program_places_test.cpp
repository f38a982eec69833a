// SPDX-License-Identifier: GPL-2.0-or-later
// What a plan has of places in programs: their code, where values are computed, what is left out.
#include "unit/probes/programs.h"
#include "unit/probes/steps.h"

#include "image/elf_file.h"

namespace djstap::programs {
namespace {

class Places : public Programs {
  protected:
    std::string compile_text(const std::string& text, const std::string& options,
                             const std::string& compiler = "gcc") const {
        std::ofstream(path("text.c")) << text;
        shell(compiler + " -w " + options + " text.c -o text");
        return "process(\"" + path("text") + "\")";
    }
};

// A file that nothing identifies may be replaced while it is probed: the runtime compares this.
TEST_F(Places, CodeIsKeptOfFilesWithoutABuildId) {
    compile("program", "-g -O2 -Wl,--build-id=none");
    const std::string point = "process(\"" + path("program") + "\").function(\"sum\")";
    const Planned without("probe " + point + " { println(1) }");
    ASSERT_TRUE(without.plan) << without.errors();
    const Site& site = without.plan->sites.at(0);
    auto elf = ElfFile::open(path("program"));
    ASSERT_TRUE(elf);
    EXPECT_EQ(site.code, (*elf)->bytes_at(site.address, 8));
    EXPECT_EQ(site.code.size(), 8U);
    shell("gcc -w -g -O2 -Wl,--build-id program.c -o program");
    const Planned with("probe " + point + " { println(1) }");
    ASSERT_TRUE(with.plan) << with.errors();
    EXPECT_EQ(with.plan->sites.at(0).code, "");
}

// Whatever else is named, the first program without the function is told.
TEST_F(Places, AMissInSeveralProgramsIsToldOnce) {
    for (const char* name : {"one", "two"})
        compile(name, "-g -O0");
    const std::string point = "process(\"" + path("{one,two}") + "\").statement(\"";
    const Planned planned("probe " + point + "absent@program.c:5\") { println(1) }");
    EXPECT_FALSE(planned.plan);
    EXPECT_EQ(planned.analysis.diagnostics.all().size(), 1U) << planned.errors();
    const Planned there("probe " + point + "sum@program.c:5\") { println(1) }");
    ASSERT_TRUE(there.plan) << there.errors();
    EXPECT_EQ(there.plan->sites.size(), 2U);
}

TEST_F(Places, WhatIsNoCodeIsNotProbed) {
    const std::string program =
        compile_text("__asm__(\".data\\n.globl odd\\n.type odd, @function\\nodd: .quad 0\\n"
                     ".size odd, 8\\n.text\\n\");\nint main(void) { return 0; }\n",
                     "-O0");
    EXPECT_NE(refusal(program + ".function(\"odd\")").find("error"), std::string::npos);
    EXPECT_EQ(refusal(program + ".function(\"main\")"), "fine");
}

// A value that the compiler computes anew where it needs it, and one that it stores (DWARF 5, 2.6).
TEST_F(Places, ComputedValuesAreNoAddresses) {
    const std::string program = compile_text("int sink;\n"
                                             "int f(int a, int *p) {\n"
                                             "    int twice = a * 2 + 1;\n"
                                             "    sink = a;\n"
                                             "    return *p;\n"
                                             "}\n"
                                             "int main(int c, char **v) { return f(c, &c); }\n",
                                             "-g -O2 -fno-inline");
    const auto value = [&](const std::string& variable) {
        const Planned planned("probe " + program + ".statement(\"f@text.c:5\") { println(" +
                              variable + ") }");
        EXPECT_TRUE(planned.plan) << planned.errors();
        if (!planned.plan)
            return std::string();
        const Access& access = planned.plan->variants.at(0).accesses.begin()->second.value;
        return access.base == Access::Base::Computed ? "computed, " + steps_of(access)
                                                     : steps_of(access);
    };
    EXPECT_EQ(value("$twice"), "computed, other extend4s");
    EXPECT_EQ(value("$p"), "register 13");
}

TEST_F(Places, VariablesThatAreGoneAreToldWithThoseThatAreNot) {
    const std::string program = compile_text("int sink;\n"
                                             "void use(long *p);\n"
                                             "long f(double x, int number, char *text) {\n"
                                             "    return number + *text;\n"
                                             "}\n"
                                             "int main(int c, char **v) { return f(1, c, *v); }\n",
                                             "-g -O0");
    const std::string all = refusal(program + ".function(\"f\")", "println($x)");
    EXPECT_NE(all.find("'$x' is not available in function 'f'"), std::string::npos) << all;
    EXPECT_NE(all.find("hint: available variables: $number, $text"), std::string::npos) << all;
    EXPECT_EQ(refusal(program + ".function(\"f\")", "println($number, $text)"), "fine");
}

} // namespace
} // namespace djstap::programs
