// SPDX-License-Identifier: GPL-2.0-or-later
// Short jumps to unused space between functions, and traps that programs do not execute.
#include "program.h"

using namespace djstap;
using namespace djstap::test;
using regions::Model;

namespace {

// A function whose second instruction at p is followed by a target; behind it `space`, and another
// function.
std::string before_space(const std::string& space, const std::string& end = "ret",
                         const std::string& at_p = "mov %rdi, %rax") {
    return R"(
    .text
    .globl f, p, long, space
    .type f, @function
f:  xor %ecx, %ecx
    jmp .Lt
p:  )" + at_p +
           R"(
.Lt:
long: mov %rsi, %rbx
    mov %rcx, %rdx
    )" + end +
           R"(
    .size f, .-f
space:
)" + space +
           R"(
    .type g, @function
g:  ret
    .size g, .-g
)";
}

std::string without_symbol(std::string text) {
    text.replace(text.find("space:\n"), 7, "");
    return text;
}

std::string short_reason(const std::string& space, const std::string& end = "ret",
                         const std::string& at_p = "mov %rdi, %rax") {
    return reason_at_p(without_symbol(before_space(space, end, at_p)), {}, Model::Short);
}

} // namespace

TEST(ShortJump, LeadsToUnusedSpace) {
    const Program program = Program::assembled(without_symbol(before_space(".skip 9, 0xcc")));
    EXPECT_EQ(Analyzed(program.path()).reason("p"), "jump");
    const Analyzed analysis(program.path(), Model::Short);
    const regions::Place place = analysis.place("p");
    EXPECT_TRUE(place.safe());
    EXPECT_EQ(place.region, 3U);
    const regions::FunctionResult& f = analysis->functions()[0];
    EXPECT_EQ(place.space, f.address + f.size);
    // Where the long one fits, it is taken.
    EXPECT_EQ(analysis.place("long").space, 0U);
}

TEST(ShortJump, AnyFiller) {
    EXPECT_EQ(short_reason("nopw 0(%rax,%rax)"), "");
    EXPECT_EQ(short_reason("nop\nnop\nnop\nint3\nint3"), "");
    EXPECT_EQ(short_reason(".skip 4, 0xcc"), "jump");        // the jump takes five
    EXPECT_EQ(short_reason("nop\nnop\nnop\nhlt\n"), "jump"); // it is no filler
}

TEST(ShortJump, SpaceThatIsExecuted) {
    EXPECT_EQ(short_reason(".skip 9, 0x90", "ret"), "");
    EXPECT_EQ(short_reason(".skip 9, 0x90", "nop"), "jump");    // the function does not end
    EXPECT_EQ(short_reason(".skip 9, 0x90", "call f"), "jump"); // perhaps it returns
    EXPECT_EQ(short_reason(".Ls: .skip 9, 0x90", "je .Ls\nret"), "jump");
    // What is before that byte is free.
    EXPECT_EQ(short_reason(".skip 5, 0x90\n.Ls: .skip 9, 0x90", "je .Ls\nret"), "");
    EXPECT_EQ(short_reason(".skip 4, 0x90\n.Ls: .skip 9, 0x90", "je .Ls\nret"), "jump");
    // So is what no symbol names.
    EXPECT_EQ(reason_at_p(before_space(".skip 9, 0xcc"), {}, Model::Short), "jump");
    // An address in data.
    EXPECT_EQ(
        reason_at_p(without_symbol(before_space(".Ls: .skip 9, 0x90")) + "\n.data\n.quad .Ls\n",
                    {"-no-pie"}, Model::Short),
        "jump");
}

TEST(ShortJump, Reach) {
    EXPECT_EQ(short_reason(".skip 9, 0xcc", ".skip 110, 0x90\nret"), "");
    EXPECT_EQ(short_reason(".skip 9, 0xcc", ".skip 130, 0x90\nret"), "jump");
}

TEST(ShortJump, ItsOwnRegion) {
    EXPECT_EQ(short_reason(".skip 9, 0xcc", "ret", "push %rax"), "jump"); // it has one byte
    EXPECT_EQ(short_reason(".skip 9, 0xcc", "ret", "ud2"), "trap");
    EXPECT_EQ(short_reason(".skip 9, 0xcc", "ret", "call *%rax"), "");
    EXPECT_EQ(short_reason(".skip 9, 0xcc", "ret", "jrcxz .Lt"), "relative");
}

// The reason of what is behind the instruction at p.
TEST(Traps, BehindACallInAProgram) {
    auto reason_behind = [](const std::string& at_p, const std::string& trap,
                            const std::string& before = "") {
        const Program program = Program::assembled(
            ".text\n.globl f, p\n.type f, @function\nf: test %eax, %eax\n" + before +
            "\np: " + at_p + "\n.Ltrap: " + trap + "\n.size f, .-f\n.skip 9, 0xcc\n");
        const Analyzed analysis(program.path());
        const regions::Place p = analysis.place("p");
        const auto place = analysis->place(p.address + p.length);
        EXPECT_TRUE(place);
        return std::string(place ? regions::reason_tag(place->reason) : "none");
    };
    EXPECT_EQ(reason_behind("call f", "ud2"), "");
    EXPECT_EQ(reason_behind("call *%rax", "ud2"), "");
    // Whoever jumps there wants the trap.
    EXPECT_EQ(reason_behind("call f", "ud2", "je .Ltrap"), "trap");
    EXPECT_EQ(reason_behind("xor %eax, %eax", "ud2"), "trap");
    EXPECT_EQ(reason_behind("call f", "int3\nret\nnop\nnop\nnop\nnop"), "trap");
}
