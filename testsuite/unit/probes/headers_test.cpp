// SPDX-License-Identifier: GPL-2.0-or-later
// Types of C headers that a script names: which headers are asked for, and where a type is found.
#include "unit/probes/steps.h"
#include "unit/probes/whole_kernel.h"

#include <cstdlib>

namespace djstap::whole {
namespace {

class OfHeaders : public testing::Test {
  protected:
    // Whatever the headers are, they declare one structure.
    Images::HeaderCompiler compiler(const std::string& options = "-g -gdwarf-5") {
        return [this, options](const Kernel&, const std::vector<std::string>& headers,
                               AddressSpace space) -> Result<std::string> {
            asked_ += space == AddressSpace::Kernel ? "kernel:" : "user:";
            for (const std::string& each : headers)
                asked_ += " " + each;
            asked_ += "\n";
            folder_.write("types.c", "struct of_header { int first; short second; };\n"
                                     "void djs_headers(void) {}\n");
            const std::string commands = "cd " + folder_.path + " && gcc -w -c " + options +
                                         " -fno-eliminate-unused-debug-types types.c -o one.o && "
                                         "ld -m elf_x86_64 -r --build-id -o types.o one.o";
            EXPECT_EQ(std::system(commands.c_str()), 0) << commands;
            return folder_.path + "/types.o";
        };
    }
    // How a cast to one of their types is read, or what is wrong.
    static std::string cast(const std::string& value, Images::HeaderCompiler compile) {
        Images images(files().path());
        images.set_header_compiler(std::move(compile));
        test::Analysis analysis("probe kernel.function(\"six\") { println(@cast($a, " + value +
                                ") }");
        EXPECT_TRUE(analysis.program) << analysis.errors();
        if (!analysis.program)
            return "no program";
        const auto plan = resolve_probes(*analysis.program, images, {}, analysis.diagnostics);
        if (!plan)
            return said(analysis.diagnostics);
        for (const auto& [node, access] : plan->variants.at(0).accesses)
            if (access.value.base == Access::Base::Operand)
                return steps_of(access.value);
        return "no value";
    }

    const test::Folder folder_;
    std::string asked_;
};

TEST_F(OfHeaders, TypesAreReadAsTheyDeclareThem) {
    EXPECT_EQ(cast("\"of_header\", \"<own.h>\")->second", compiler()), "operand +4 load2s");
    EXPECT_EQ(asked_, "user: own.h\n");
    asked_.clear();
    EXPECT_EQ(cast("\"struct of_header\", \"kernel<own.h><linux/more-2.h>\")->first", compiler()),
              "operand load4s");
    EXPECT_EQ(asked_, "kernel: own.h linux/more-2.h\n");
}

// Nothing is compiled for a type that the kernel's own debug information has.
TEST_F(OfHeaders, TypesOfTheKernelComeFirst) {
    EXPECT_EQ(cast("\"thing\", \"kernel<own.h>\")->number", compiler()), "operand load4s");
    EXPECT_EQ(asked_, "");
    // Headers of user space do not describe the kernel.
    EXPECT_TRUE(cast("\"thing\", \"<own.h>\")->number", compiler())
                    .starts_with("'<own.h>' has no type 'thing'; "));
    EXPECT_EQ(asked_, "user: own.h\n");
}

TEST_F(OfHeaders, WhyTheyAreOfNoUseIsTold) {
    const auto fails = [](const Kernel&, const std::vector<std::string>&,
                          AddressSpace) -> Result<std::string> {
        return Failure{"they do not compile", ""};
    };
    for (const std::string& name : {std::string("<own.h>"), std::string("kernel<own.h>")})
        EXPECT_EQ(cast("\"of_header\", \"" + name + "\")->second", fails),
                  "'" + name + "' has no type 'of_header'; " + name + ": they do not compile");
    EXPECT_EQ(cast("\"of_header\", \"<own.h>\")->second", nullptr),
              "'<own.h>' has no type 'of_header'; <own.h>: headers cannot be compiled here");
}

TEST_F(OfHeaders, AreNamedInAngleBrackets) {
    Images images(files().path());
    images.set_header_compiler(compiler());
    for (const std::string& wrong :
         {std::string("<>"), std::string("<own.h"), std::string("own.h>"),
          std::string("<own.h>more"), std::string("kernel<own.h>>"), std::string("<own.h;>"),
          std::string("<own h>"), std::string("<own.h><>")}) {
        const auto found = images.headers(wrong);
        ASSERT_FALSE(found) << wrong;
        EXPECT_EQ(found.failure().message, "'" + wrong + "' does not name headers");
    }
    EXPECT_EQ(asked_, "");
    EXPECT_TRUE(images.headers("<sys/own_2-a+b.h>"));
    EXPECT_EQ(asked_, "user: sys/own_2-a+b.h\n");
}

TEST_F(OfHeaders, AreCompiledOnce) {
    Images images(files().path());
    images.set_header_compiler(compiler());
    const auto first = images.headers("<own.h>");
    ASSERT_TRUE(first) << first.failure().message;
    EXPECT_TRUE((*first)->info().type_by_name("struct of_header"));
    EXPECT_EQ((*first)->image().address_space(), AddressSpace::User);
    const auto again = images.headers("<own.h>");
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *first);
    EXPECT_EQ(asked_, "user: own.h\n");
    const auto of_kernel = images.headers("kernel<own.h>");
    ASSERT_TRUE(of_kernel);
    EXPECT_EQ((*of_kernel)->image().address_space(), AddressSpace::Kernel);
}

TEST_F(OfHeaders, NeedTheKernelAndDebugInformation) {
    Images none("no-such-kernel");
    none.set_header_compiler(compiler());
    const auto kernel = none.kernel();
    ASSERT_FALSE(kernel);
    for (const char* name : {"<own.h>", "kernel<own.h>"}) {
        const auto found = none.headers(name);
        ASSERT_FALSE(found) << name;
        EXPECT_EQ(found.failure().message, kernel.failure().message);
    }
    EXPECT_EQ(asked_, "");
    Images images(files().path());
    images.set_header_compiler(compiler("-g0"));
    EXPECT_FALSE(images.headers("<own.h>"));
    EXPECT_EQ(asked_, "user: own.h\n");
}

} // namespace
} // namespace djstap::whole
