// SPDX-License-Identifier: GPL-2.0-or-later
// Static probes in programs (SystemTap's notes): their places and arguments.
#include "unit/probes/programs.h"
#include "unit/probes/steps.h"

#include "image/libraries.h"
#include "image/program.h"
#include "image/sdt_notes.h"

#include <fstream>

namespace djstap::programs {
namespace {

class Marks : public Programs {
  protected:
    std::string compile_marks(const std::string& options) const {
        shell("gcc -w " + options +
              " -o marks " DJSTAP_SOURCE_DIR "/testsuite/kernel/process/marks.c");
        return path("marks");
    }
    static std::unique_ptr<Image> open(const std::string& file) {
        static Images images(kernel().folder());
        auto opened = images.kernel();
        EXPECT_TRUE(opened);
        auto program = open_program(**opened, file);
        return program ? std::move(*program) : nullptr;
    }
};

TEST_F(Marks, HaveTheirPlacesAndArguments) {
    for (const char* options : {"-g -O2", "-O2 -no-pie", "-O2 -static"}) {
        const auto program = open(compile_marks(options));
        ASSERT_TRUE(program);
        const std::vector<SdtMark> marks = sdt_marks(*program);
        ASSERT_EQ(marks.size(), 4U) << options;
        EXPECT_EQ(marks[0].provider + "/" + marks[0].name, "shop/all");
        const auto around = program->symbol_at(marks[0].address);
        ASSERT_TRUE(around);
        EXPECT_EQ(around->name, "pass_marks");
        EXPECT_EQ(marks[1].address, marks[0].address + 1);
        EXPECT_EQ(marks[0].semaphore, 0U);
        const auto semaphore = program->symbol("watched_semaphore");
        ASSERT_TRUE(semaphore);
        uint64_t distance = 0;
        for (const Segment& segment : program->segments())
            if (segment.contains(semaphore->address))
                distance = segment.file_distance;
        EXPECT_EQ(marks[1].semaphore, semaphore->address - distance);
        const LocationKind kinds[] = {
            LocationKind::Register, LocationKind::Register,       LocationKind::Register,
            LocationKind::Register, LocationKind::Register,       LocationKind::Computed,
            LocationKind::Memory,   LocationKind::ComputedMemory, LocationKind::Address,
            LocationKind::Address,  LocationKind::Constant,       LocationKind::Register};
        ASSERT_EQ(marks[0].arguments.size(), std::size(kinds));
        for (size_t i = 0; i < std::size(kinds); i++)
            EXPECT_EQ(marks[0].arguments[i].location.kind, kinds[i]) << i;
        EXPECT_TRUE(marks[0].arguments[0].is_signed);
        EXPECT_EQ(marks[0].arguments[0].size, 4);
        EXPECT_EQ(marks[0].arguments[9].location.constant,
                  marks[0].arguments[8].location.constant + 4);
        EXPECT_EQ(marks[3].arguments[0].location.kind, LocationKind::None);
        EXPECT_EQ(marks[3].arguments[1].location.kind, LocationKind::Register);
    }
}

TEST_F(Marks, OperandsThatAreNotUnderstoodHaveAReason) {
    const auto program = open(compile_marks("-O2"));
    ASSERT_TRUE(program);
    for (const char* text : {"8@%nothing", "8@$x", "8@", "8@()", "8@(%nothing)", "8@8(%,1)", "3@$1",
                             "8@nowhere(1)", "8@%fs:8", "8@$", "8@-", "8@9999999999999999999999"}) {
        const std::vector<SdtArgument> arguments = sdt_arguments(text, *program);
        ASSERT_EQ(arguments.size(), 1U) << text;
        EXPECT_EQ(arguments[0].location.kind, LocationKind::None) << text;
        EXPECT_FALSE(arguments[0].location.why.empty()) << text;
    }
    EXPECT_TRUE(sdt_arguments("", *program).empty());
    EXPECT_TRUE(sdt_arguments("   ", *program).empty());
}

TEST_F(Marks, AreNamedInPoints) {
    const std::string prefix = "process(\"" + compile_marks("-g -O2") + "\")";
    EXPECT_EQ(points_of(prefix + ".mark(\"wat*\")"), prefix + ".mark(\"watched\") uprobe\n");
    EXPECT_EQ(points_of(prefix + ".provider(\"shop\").mark(\"order-sent\")"),
              prefix + ".provider(\"shop\").mark(\"order__sent\") uprobe\n");
    EXPECT_NE(refusal(prefix + ".mark(\"watched\")", "println($x)")
                  .find("mark 'watched' has no variable '$x'"),
              std::string::npos);
    EXPECT_NE(refusal(prefix + ".mark(\"xyz*\")").find("hint: it has "), std::string::npos)
        << refusal(prefix + ".mark(\"xyz*\")");
    EXPECT_NE(refusal(prefix + ".mark(\"watchd\")").find("did you mean 'watched'?"),
              std::string::npos);
    EXPECT_NE(
        refusal(prefix + ".provider(\"other\").mark(\"*\")").find("has no such static probes"),
        std::string::npos);
    EXPECT_NE(refusal(prefix + ".mark(\"watched\")", "println($arg2)").find("$arg1"),
              std::string::npos);
    EXPECT_NE(refusal(prefix + ".mark(\"watched\")", "println($arg1->x)").find("use @cast($arg1"),
              std::string::npos);
    EXPECT_NE(refusal(prefix + ".mark(\"watched\")", "println($arg1$)").find("use @cast($arg1"),
              std::string::npos);
    EXPECT_NE(refusal(prefix + ".mark(\"watched\")", "println(&$arg1)").find("use @cast($arg1"),
              std::string::npos);
    EXPECT_NE(refusal(prefix + ".mark(\"floating\")", "println($arg1)").find("not an integer"),
              std::string::npos);
}

// The second parameter of the function around the mark is none of its arguments.
TEST_F(Marks, HaveNoMoreArgumentsThanTheirOwn) {
    std::ofstream(path("one.c")) << R"c(int main(int argc, char **argv) {
    __asm__ volatile("990: nop\n"
        ".pushsection .note.stapsdt,\"\",@note\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n"
        "991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b, 0, 0\n"
        ".asciz \"shop\"\n.asciz \"one\"\n.asciz \"-4@$5\"\n994: .balign 4\n.popsection\n");
    return argc + (argv != 0);
}
)c";
    shell("gcc -w -g -O0 -no-pie one.c -o one");
    const std::string mark = "process(\"" + path("one") + "\").mark(\"one\")";
    const Planned planned("probe " + mark + " { println($arg1) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    EXPECT_EQ(steps_of(planned.plan->variants.at(0).accesses.begin()->second.value),
              "constant 5 extend4s");
    EXPECT_EQ(refusal(mark, "println($$name, $$provider, $$parms, $$vars)"), "fine");
    const Planned texts("probe " + mark + " { println($$parms) }");
    ASSERT_TRUE(texts.plan) << texts.errors();
    const TargetAccess& parameters = texts.plan->variants.at(0).accesses.begin()->second;
    EXPECT_EQ(parameters.format.at(0).literal, "arg1=");
    EXPECT_EQ(parameters.format.at(0).conversion, 'x');
    EXPECT_EQ(parameters.parts.size(), 1U);
    EXPECT_NE(refusal(mark, "println($arg2)").find("has no variable '$arg2'"), std::string::npos);
}

// No byte of a file is trusted: run with a sanitizer, this finds what reads beyond it.
TEST_F(Marks, ChangedBytesDoNoHarm) {
    std::ifstream file(compile_marks("-g -O2"), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    uint64_t state = 1;
    auto random = [&state] {
        return (state = state * 6364136223846793005U + 1442695040888963407U) >> 33;
    };
    size_t opened = 0;
    for (int round = 0; round < 300; round++) {
        std::string changed = bytes;
        // The headers, the notes and the tables are in these parts.
        for (uint64_t i = random() % 8 + 1; i > 0; i--)
            changed[random() % (round % 2 ? 1024 : changed.size())] = static_cast<char>(random());
        std::ofstream(path("changed"), std::ios::binary) << changed;
        if (const auto program = open(path("changed"))) {
            opened++;
            for (const SdtMark& mark : sdt_marks(*program))
                EXPECT_TRUE(program->in_text(mark.address));
            linkage_stubs(*program);
            libraries_of(*program);
        }
    }
    EXPECT_GT(opened, 100U);
}

} // namespace
} // namespace djstap::programs
