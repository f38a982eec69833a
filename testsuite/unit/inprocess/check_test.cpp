// SPDX-License-Identifier: GPL-2.0-or-later
// What a script may not use in user space, and why.
#include "inprocess/check.h"

#include "unit/semantics/analysis.h"

#include <gtest/gtest.h>

namespace djstap {
namespace {

// The message of each thing that a script in a program may not use.
std::string refused(const std::string& script) {
    SemanticsOptions options;
    options.guru = true;
    test::Analysis analysis(script, options);
    EXPECT_TRUE(analysis.program) << analysis.errors();
    if (!analysis.program)
        return "";
    Diagnostics diagnostics(analysis.sources);
    const bool good = check_for_user_space(*analysis.program, UserRuntime::InProgram, diagnostics);
    std::string text;
    for (const Diagnostic& each : diagnostics.all())
        text += each.message + "\n";
    EXPECT_EQ(good, text.empty()) << text;
    return text;
}

std::string in_program(const std::string& value) {
    return refused("probe process(\"/bin/p\").function(\"f\") { println(" + value + ") }");
}
std::string at_begin(const std::string& value) {
    return refused("probe begin { println(" + value + ") }");
}
std::string needs_kernel(const std::string& what) {
    return what + " requires a kernel, which --runtime=process does not have\n";
}

TEST(UserSpaceCheck, VariablesAndTypesOfAProgramAreKnownInItsFunctions) {
    for (const std::string value :
         {"$x", "@var(\"v\")", "@var(\"v\", \"/bin/p\")", "@cast(0, \"struct s\")->n",
          "@cast(0, \"struct s\", \"/bin/p\")->n"})
        EXPECT_EQ(in_program(value), "");
    for (const std::string value :
         {"@var(\"v\", \"/bin/p\")", "@cast(0, \"struct s\", \"/bin/p\")->n"})
        EXPECT_EQ(at_begin(value),
                  "'" + value +
                      "' is not available in this function or probe: with --runtime=process, "
                      "variables and types of a program are known only in probes of its "
                      "functions\n");
}

TEST(UserSpaceCheck, ValuesOfTheEntryAreChecked) {
    const auto saved = [](const std::string& value) {
        return refused("probe process(\"/bin/p\").function(\"f\").return { println(@entry(" +
                       value + ")) }");
    };
    EXPECT_EQ(saved("$x + @var(\"v\")"), "");
    EXPECT_EQ(saved("@kregister(5)"), needs_kernel("a register"));
    EXPECT_EQ(saved("@var(\"v\", \"kernel\")"), needs_kernel("a variable of the kernel"));
}

TEST(UserSpaceCheck, WhatIsTheKernelsIsRefused) {
    EXPECT_EQ(at_begin("@var(\"v\")"), needs_kernel("a variable of the kernel"));
    EXPECT_EQ(at_begin("@cast(0, \"struct s\")->n"), needs_kernel("a type of the kernel"));
    EXPECT_EQ(at_begin("@cast(0, \"struct s\", \"<sys/p.h>\")->n"),
              needs_kernel("a type of the kernel"));
    EXPECT_EQ(in_program("@var(\"v\", \"kernel\")"), needs_kernel("a variable of the kernel"));
    EXPECT_EQ(in_program("@cast(0, \"struct s\", \"kernel\")->n"),
              needs_kernel("a type of the kernel"));
    EXPECT_EQ(in_program("@const(\"E\")"), needs_kernel("C code"));
    EXPECT_EQ(refused("probe perf.sw.cpu_clock.process(\"/bin/p\").counter(\"c\") {}\n"
                      "probe process(\"/bin/p\").function(\"f\") { println(@perf(\"c\")) }"),
              needs_kernel("a perf event"));
}

} // namespace
} // namespace djstap
