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

// Whether a short jump at p leads to unused space.
bool finds_unused(const std::string& text, const std::vector<std::string>& options = {}) {
    const Program program = Program::assembled(text, options);
    const regions::Place place = Analyzed(program.path(), Model::Short).place("p");
    return place.space && !place.room;
}

bool finds_space(const std::string& space, const std::string& end = "ret") {
    return finds_unused(without_symbol(before_space(space, end)));
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
    EXPECT_TRUE(finds_space("nopw 0(%rax,%rax)"));
    EXPECT_TRUE(finds_space("nop\nnop\nnop\nint3\nint3"));
    EXPECT_FALSE(finds_space(".skip 4, 0xcc"));        // the jump takes five
    EXPECT_FALSE(finds_space("nop\nnop\nnop\nhlt\n")); // it is no filler
}

TEST(ShortJump, SpaceThatIsExecuted) {
    EXPECT_TRUE(finds_space(".skip 9, 0x90", "ret"));
    EXPECT_FALSE(finds_space(".skip 9, 0x90", "nop"));    // the function does not end
    EXPECT_FALSE(finds_space(".skip 9, 0x90", "call f")); // perhaps it returns
    EXPECT_FALSE(finds_space(".Ls: .skip 9, 0x90", "je .Ls\nret"));
    // What is before that byte is free.
    EXPECT_TRUE(finds_space(".skip 5, 0x90\n.Ls: .skip 9, 0x90", "je .Ls\nret"));
    EXPECT_FALSE(finds_space(".skip 4, 0x90\n.Ls: .skip 9, 0x90", "je .Ls\nret"));
    // So is what no symbol names.
    EXPECT_FALSE(finds_unused(before_space(".skip 9, 0xcc")));
    // An address in data.
    EXPECT_FALSE(finds_unused(
        without_symbol(before_space(".Ls: .skip 9, 0x90")) + "\n.data\n.quad .Ls\n", {"-no-pie"}));
}

// It may be behind the function before.
TEST(ShortJump, SpaceBeforeTheFunction) {
    auto finds = [](const std::string& space, const std::string& between = "") {
        return finds_unused(
            ".text\n.type before, @function\nbefore: ret\n.size before, .-before\n" + space + R"(
    .globl f, p
    .type f, @function
f:  xor %ecx, %ecx
    )" + between +
            R"(
    jmp .Lt
p:  mov %rdi, %rax
.Lt: mov %rsi, %rbx
    mov %rcx, %rdx
    ret
    .size f, .-f
)");
    };
    EXPECT_TRUE(finds(".skip 9, 0xcc\n"));
    EXPECT_TRUE(finds(".skip 5, 0xcc\n"));
    EXPECT_FALSE(finds(".skip 4, 0xcc\n"));
    EXPECT_TRUE(finds(".skip 9, 0xcc\n", ".skip 100, 0x90"));
    EXPECT_FALSE(finds(".skip 9, 0xcc\n", ".skip 130, 0x90"));
}

TEST(ShortJump, Reach) {
    EXPECT_TRUE(finds_space(".skip 9, 0xcc", ".skip 110, 0x90\nret"));
    EXPECT_FALSE(finds_space(".skip 9, 0xcc", ".skip 130, 0x90\nret"));
}

TEST(ShortJump, ItsOwnRegion) {
    EXPECT_EQ(short_reason(".skip 9, 0xcc", "ret", "push %rax"), "jump"); // it has one byte
    EXPECT_EQ(short_reason(".skip 9, 0xcc", "ret", "ud2"), "trap");
    EXPECT_EQ(short_reason(".skip 9, 0xcc", "ret", "call *%rax"), "");
    EXPECT_EQ(short_reason(".skip 9, 0xcc", "ret", "jrcxz .Lt"), "relative");
}

namespace {

// A place p of a function whose region has a target behind two bytes, in a function without unused
// space beside it; `more` are instructions of ten bytes or not.
std::string before_room(const std::string& more, const std::string& between = "",
                        const std::string& after = "") {
    return R"(
    .text
    .globl f, p, room
    .type f, @function
f:  test %eax, %eax
    je .Lt
p:  cltq
.Lt: nop
    )" + between +
           R"(
    jmp f
room: )" + more +
           R"(
    ret
    .size f, .-f
)" + after;
}

} // namespace

// Two jumps fit where instructions are that nobody enters.
TEST(ShortJump, LeadsToWhatIsMoved) {
    const std::string ten = "mov $1, %eax\n mov $2, %ecx";
    const Program program = Program::assembled(before_room(ten));
    const Analyzed analysis(program.path(), Model::Short);
    const regions::Place place = analysis.place("p"), room = analysis.place("room");
    EXPECT_TRUE(place.safe());
    EXPECT_EQ(place.region, 2U);
    EXPECT_EQ(place.room, room.address);
    EXPECT_EQ(place.space, room.address + 5);
    EXPECT_EQ(Analyzed(program.path()).reason("p"), "jump");
}

TEST(ShortJump, WhatCannotBeMoved) {
    auto reason = [](const std::string& more, const std::string& between = "",
                     const std::string& after = "") {
        return reason_at_p(before_room(more, between, after), {}, Model::Short);
    };
    const std::string ten = "mov $1, %eax\n mov $2, %ecx";
    EXPECT_EQ(reason(ten), "");
    EXPECT_EQ(reason("mov $1, %eax\n mov $2, %cl\n nop"), "jump"); // nine and the return
    EXPECT_EQ(reason("mov $1, %eax\n .Lin: mov $2, %ecx", "jc .Lin"), "jump");
    EXPECT_EQ(reason("mov $1, %eax\n mov $2, %ecx\n .Lin: nop", "jc .Lin"), "");
    EXPECT_EQ(reason("mov $1, %eax\n .Lin: mov $2, %ecx", "", ".data\n.quad .Lin\n"), "jump");
    EXPECT_EQ(reason("mov $1, %eax\n call f\n"), ""); // it returns behind both
    EXPECT_EQ(reason("call f\n mov $1, %eax\n"), "jump");
    EXPECT_EQ(reason("mov $1, %eax\n jrcxz f\n mov $2, %ecx\n"), "jump");
    // Of 128 bytes before the target; the short jump has two.
    EXPECT_EQ(reason(ten, ".rept 55\n jrcxz .\n .endr"), "");
    EXPECT_EQ(reason(ten, ".rept 65\n jrcxz .\n .endr"), "relative");
}

// It may end where the place begins.
TEST(ShortJump, LeadsToWhatIsMovedBeforeIt) {
    const Program program = Program::assembled(R"(
    .text
    .globl f, p, room
    .type f, @function
f:  test %eax, %eax
    je .Lt
room: mov $1, %eax
    mov $2, %ecx
p:  cltq
.Lt: nop
    ret
    .size f, .-f
)");
    const Analyzed analysis(program.path(), Model::Short);
    EXPECT_EQ(analysis.place("p").room, analysis.place("room").address);
}

// The next room may begin where one ends.
TEST(ShortJump, LeadsToTheNearerOfTwoBesideEachOther) {
    const Program program = Program::assembled(R"(
    .text
    .globl f, p, room, next
    .type f, @function
f:  test %eax, %eax
    je .Lt
room: mov $1, %eax
    mov $2, %ecx
next: mov $3, %edx
    mov $4, %esi
p:  cltq
.Lt: nop
    ret
    .size f, .-f
)");
    const Analyzed analysis(program.path(), Model::Short);
    EXPECT_EQ(analysis.place("p").room, analysis.place("next").address);
}

// Neither the place's own instructions.
TEST(ShortJump, NoRoomInItsOwnRegion) {
    const std::string text = R"(
    .text
    .globl f, p, first
    .type f, @function
first:
f:  mov $1, %eax
p:  mov $2, %ecx
    ret
    .size f, .-f
)";
    const Program program = Program::assembled(text);
    const Analyzed analysis(program.path(), Model::Short);
    EXPECT_EQ(analysis.place("f").room, 0U);
    EXPECT_EQ(analysis.place("p").room, 0U);
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
