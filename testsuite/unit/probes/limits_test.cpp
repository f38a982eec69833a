// SPDX-License-Identifier: GPL-2.0-or-later
// How much of a value is shown, how many names a hint has, and other ends of lists.
#include "unit/probes/programs.h"
#include "unit/probes/whole_kernel.h"

#include "image/elf_file.h"

#include <fstream>
#include <functional>

namespace djstap::programs {
namespace {

class Limits : public Programs {
  protected:
    std::string compile_source(const std::string& text, const std::string& options = "-g -O0") {
        std::ofstream(path("limits.c")) << text;
        shell("gcc -w " + options + " -shared -fPIC limits.c -o limits");
        return "process(\"" + path("limits") + "\").function(\"";
    }
    // The literals of a text with its conversions as '%', and how many these are.
    static std::pair<std::string, size_t> shown(const std::string& point,
                                                const std::string& value) {
        const Planned planned("probe " + point + " { println(" + value + ") }");
        EXPECT_TRUE(planned.plan) << planned.errors();
        std::string text;
        size_t count = 0;
        if (planned.plan)
            for (const program::FormatPiece& piece :
                 planned.plan->variants.at(0).accesses.begin()->second.format) {
                text += piece.literal + (piece.conversion ? "%" : "");
                count += piece.conversion != 0;
            }
        return {text, count};
    }
};

std::string repeated(int count, const std::function<std::string(int)>& each) {
    std::string text;
    for (int i = 1; i <= count; i++)
        text += each(i);
    return text;
}

TEST_F(Limits, StructuresShowSixtyFourValues) {
    const auto members = [](int count) {
        return repeated(count, [](int i) { return "int m" + std::to_string(i) + "; "; });
    };
    const std::string prefix =
        compile_source("struct some { " + members(64) + "}; struct more { " + members(65) +
                       "}; struct few { int a; int b[3]; };\n"
                       "int takes(struct some *s, struct more *m, struct few *f) { return 0; }\n");
    const std::string all =
        repeated(64, [](int i) { return (i > 1 ? ", .m" : ".m") + std::to_string(i) + "=%"; });
    EXPECT_EQ(shown(prefix + "takes\")", "$s$"), std::pair("{" + all + "}", size_t{64}));
    EXPECT_EQ(shown(prefix + "takes\")", "$m$"), std::pair("{" + all + ", ...}", size_t{64}));
    EXPECT_EQ(shown(prefix + "takes\")", "$f$"),
              std::pair(std::string("{.a=%, .b=[...]}"), size_t{1}));
    EXPECT_EQ(shown(prefix + "takes\")", "$f$$"),
              std::pair(std::string("{.a=%, .b=[%, %, %]}"), size_t{4}));
}

TEST_F(Limits, HintsNameSixteenVariables) {
    const std::string prefix = compile_source(
        "int many(" +
        repeated(17,
                 [](int i) { return (i > 1 ? ", int p" : "int p") + std::to_string(100 + i); }) +
        ") { return 0; }\n");
    const std::string said = refusal(prefix + "many\")", "println($zzzzzzzz)");
    EXPECT_NE(
        said.find(
            "hint: available variables: " +
            repeated(16, [](int i) { return (i > 1 ? ", $p" : "$p") + std::to_string(100 + i); }) +
            "\n"),
        std::string::npos)
        << said;
}

TEST_F(Limits, HintsNameTwelveMembers) {
    const auto members = [](int count) {
        return repeated(count, [](int i) { return "int m" + std::to_string(i) + "; "; });
    };
    const std::string prefix =
        compile_source("struct twelve { " + members(12) + "}; struct more { " + members(13) +
                       "};\n"
                       "int takes(struct twelve *t, struct more *m) "
                       "{ return 0; }\n");
    const std::string names = "its members are " + repeated(12, [](int i) {
                                  return (i > 1 ? ", m" : "m") + std::to_string(i);
                              });
    for (const auto& [variable, end] : {std::pair("$t", "\n"), std::pair("$m", " …\n")}) {
        const std::string said =
            refusal(prefix + "takes\")", "println(" + std::string(variable) + "->zzzzzzzz)");
        EXPECT_NE(said.find(names + end), std::string::npos) << said;
    }
}

TEST_F(Limits, HintsNameEightMarks) {
    const auto source = [](int count) {
        return "int main(void) {\n" +
               repeated(
                   count,
                   [](int i) {
                       const std::string name = "m" + std::to_string(i);
                       return "    __asm__ volatile(\"990: nop\\n"
                              ".pushsection .note.stapsdt,\\\"\\\",@note\\n.balign 4\\n"
                              ".4byte 992f-991f, 994f-993f, 3\\n991: .asciz \\\"stapsdt\\\"\\n"
                              "992: .balign 4\\n993: .8byte 990b, 0, 0\\n.asciz \\\"shop\\\"\\n"
                              ".asciz \\\"" +
                              name + "\\\"\\n.asciz \\\"\\\"\\n994: .balign 4\\n.popsection\");\n";
                   }) +
               "    return 0;\n}\n";
    };
    const std::string names =
        "hint: it has " +
        repeated(8, [](int i) { return (i > 1 ? ", m" : "m") + std::to_string(i); }) + "\n";
    for (const int count : {8, 9}) {
        std::ofstream(path("marks.c")) << source(count);
        shell("gcc -w -g -O0 marks.c -o marks");
        const std::string said = refusal("process(\"" + path("marks") + "\").mark(\"zzzzzzzz\")");
        EXPECT_NE(said.find(names), std::string::npos) << said;
    }
}

TEST_F(Limits, HintsNameEightCallees) {
    const std::string prefix = compile_source(
        repeated(9,
                 [](int i) {
                     return "__attribute__((noinline, noclone, visibility(\"hidden\"))) int c" +
                            std::to_string(i) + "(int n) { __asm__ volatile(\"\"); return n + " +
                            std::to_string(i) + "; }\n";
                 }) +
            "int calls(int n) { return " +
            repeated(9, [](int i) { return "c" + std::to_string(i) + "(n) * "; }) + "2; }\n",
        "-g -O2");
    const std::string said = refusal(prefix + "calls\").callee(\"zzzzzzzz\")");
    EXPECT_NE(said.find("hint: it calls c1, c2, c3, c4, c5, c6, c7, c8\n"), std::string::npos)
        << said;
}

// Without an identity, a file is recognized by its code.
TEST_F(Limits, CodeOfFilesWithoutABuildId) {
    const auto site_of = [&](const std::string& options) {
        const std::string prefix = compile_source("int f(int a) { return a * 3; }\n", options);
        const Planned planned("probe " + prefix + "f\") { println(1) }");
        EXPECT_TRUE(planned.plan) << planned.errors();
        return planned.plan
                   ? std::pair(planned.plan->sites.at(0).code, planned.plan->sites.at(0).address)
                   : std::pair(std::string("none"), uint64_t{0});
    };
    EXPECT_EQ(site_of("-g -O0 -Wl,--build-id").first, "");
    const auto [code, address] = site_of("-g -O0 -Wl,--build-id=none");
    auto file = ElfFile::open(path("limits"));
    ASSERT_TRUE(file) << file.failure().message;
    EXPECT_EQ(code, (*file)->bytes_at(address, 8));
    EXPECT_EQ(code.size(), 8U);
}

TEST_F(Limits, ArgumentsOfMarksAreNumberedFromOne) {
    shell("gcc -w -g -O2 -o marks " DJSTAP_SOURCE_DIR "/testsuite/kernel/process/marks.c");
    const auto [text, count] = shown("process(\"" + path("marks") + "\").mark(\"all\")", "$$parms");
    EXPECT_EQ(text, repeated(12, [](int i) {
                  return (i > 1 ? " arg" : "arg") + std::to_string(i) + "=%";
              }));
    EXPECT_EQ(count, 12U);
}

} // namespace
} // namespace djstap::programs

namespace djstap::whole {
namespace {

std::vector<std::string> arguments_of_mark(const std::string& name) {
    Images images(files().path());
    const test::Analysis analysis("probe kernel.mark(\"" + name + "\") { println(1) }");
    EXPECT_TRUE(analysis.program) << analysis.errors();
    Diagnostics diagnostics(analysis.sources);
    const auto listed =
        list_probes(*analysis.program->probes.at(0)->points.at(0), {true}, images, diagnostics);
    EXPECT_TRUE(listed && listed->size() == 1) << render_all(diagnostics);
    std::vector<std::string> types;
    if (listed && listed->size() == 1)
        for (const std::string& each : listed->front().variables)
            types.push_back(each.substr(each.find(':') + 1));
    return types;
}

// By the lengths of printf(3). Where the kernel lacks a type, a wider one has the same value.
TEST(MarkerFormats, HaveTheTypesOfTheirConversions) {
    using Types = std::vector<std::string>;
    EXPECT_EQ(arguments_of_mark("lengths"),
              (Types{"signed char", "short int", "int", "long int", "long int", "unsigned char",
                     "unsigned int", "unsigned int", "long unsigned int", "long int"}));
    EXPECT_EQ(arguments_of_mark("modifiers"), (Types{"long int", "long int", "long int", "long int",
                                                     "long int", "long unsigned int"}));
    EXPECT_EQ(arguments_of_mark("parts"),
              (Types{"int", "int", "int", "unsigned int", "int", "int", "long unsigned int", "int",
                     "int", "unsigned int"}));
    for (const char* name : {"cut", "letters"})
        EXPECT_NE(said("kernel.mark(\"" + std::string(name) + "\")").find("that a marker can have"),
                  std::string::npos)
            << name;
}

// nm shows offsets in a module's .text; what a listing shows is accepted, too.
TEST(ModuleAddresses, AreOffsetsInItsText) {
    Images images(files().path());
    auto view = images.module("extra");
    ASSERT_TRUE(view) << view.failure().message;
    const Image& image = (*view)->image();
    const uint64_t address = image.symbol("extra_more")->address,
                   text = image.elf()->section(".text")->address;
    ASSERT_GT(address, text);
    const std::string point =
        "module(\"extra\").function(\"" + declared("extra_more", true) + "\") kprobe\n";
    for (const uint64_t number : {address - text, address})
        EXPECT_EQ(places_of("module(\"extra\").function(" + address_text(number) + ")"), point);
    EXPECT_TRUE(said("module(\"extra\").function(0xffffff)")
                    .ends_with("; addresses are offsets in the module's .text (nm)"))
        << said("module(\"extra\").function(0xffffff)");
}

// Three letters of a name suffice, or all of one that is long enough.
TEST(WrittenComponents, MayBeCutOrGoOn) {
    EXPECT_TRUE(said("timer.jif(5)").ends_with("did you mean 'jiffies'?")) << said("timer.jif(5)");
    EXPECT_TRUE(said("timer.ji(5)").ends_with("lists the probe points")) << said("timer.ji(5)");
    EXPECT_TRUE(said("kernel.tracepointer(\"x\")").ends_with("did you mean 'trace'?"));
    EXPECT_TRUE(said("timer.hzzzzzzz(5)").ends_with("lists the probe points"))
        << said("timer.hzzzzzzz(5)");
}

} // namespace
} // namespace djstap::whole
