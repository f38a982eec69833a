// SPDX-License-Identifier: GPL-2.0-or-later
// Where functions return, and whether a jump can replace that.
#include "program.h"

using namespace djstap;
using namespace djstap::test;

namespace {

// Returns "address+region,… of each return, from the function's beginning", or why there is none.
std::string exits_of_f(const Program& program) {
    auto file = ElfFile::open(program.path());
    EXPECT_TRUE(file);
    auto analysis = regions::Analysis::of(**file, {});
    EXPECT_TRUE(analysis);
    const uint64_t f = *analysis->address_of("f");
    const regions::Exits exits = analysis->exits(f);
    if (!exits.objection().empty())
        return std::string(exits.objection());
    std::string out;
    for (const auto& each : exits.returns)
        out += (out.empty() ? "" : ",") + std::to_string(each.address - f) + ":" +
               std::to_string(each.places.front().address - f) + "+" +
               std::to_string(each.places.front().region);
    return out;
}

std::string exits_of_f(const std::string& text) {
    return exits_of_f(Program::assembled(".text\n.globl f, g\n" + text));
}

const std::string second = "\n.type g, @function\ng: xor %eax, %eax\n ret\n .size g, .-g\n";

std::string code_of_f(const std::string& body, const std::string& behind = second) {
    return ".type f, @function\nf: .cfi_startproc\n" + body + "\n.cfi_endproc\n.size f, .-f\n" +
           behind;
}

} // namespace

TEST(Exits, IncludeWhatPrecedesTheReturn) {
    EXPECT_EQ(exits_of_f(code_of_f("xor %ecx, %ecx\n lea 1(%rdi), %rax\n ret")), "6:2+5");
}

TEST(Exits, ReplaceMoreThanTheJumpTakes) {
    EXPECT_EQ(exits_of_f(code_of_f("push %rbx\n mov $1, %eax\n pop %rbx\n ret")), "7:1+7");
}

TEST(Exits, MayExtendOverWhatFillsTheSpaceBehind) {
    EXPECT_EQ(exits_of_f(code_of_f("mov $1, %eax\n test %edi, %edi\n jz 1f\n mov $2, %eax\n1: ret",
                                   "\n.p2align 5\n" + second)),
              "14:14+12");
}

TEST(Exits, AreAllOfTheFunctions) {
    EXPECT_EQ(exits_of_f(code_of_f("test %edi, %edi\n jz 1f\n mov $2, %eax\n ret\n"
                                   "1: mov $3, %eax\n ret")),
              "9:4+6,15:10+6");
}

TEST(Exits, JumpsIntoWhatIsReplacedAreAReason) {
    EXPECT_EQ(exits_of_f(code_of_f("test %edi, %edi\n jz 1f\n mov $2, %eax\n 1: ret\n"
                                   "2: sub $1, %edi\n jnz 2b\n mov $3, %eax\n ret")),
              "a jump leads into it");
}

TEST(Exits, CallsReturnIntoWhatIsReplaced) {
    EXPECT_EQ(exits_of_f(code_of_f("push %rbx\n call g\n pop %rbx\n ret")),
              "a call returns into it");
}

TEST(Exits, AJumpToAnotherFunctionIsOne) {
    EXPECT_EQ(exits_of_f(code_of_f("add $1, %edi\n jmp g")),
              "it may end by a jump to another function, which returns in its place");
    EXPECT_EQ(exits_of_f(code_of_f("mov $1, %eax\n test %edi, %edi\n jz g\n ret")),
              "it may end by a jump to another function, which returns in its place");
    EXPECT_EQ(exits_of_f(code_of_f("mov (%rdi), %rax\n jmp *%rax")),
              "it may end by a jump to another function, which returns in its place");
}

TEST(Exits, OnlyAJumpToAnotherFunction) {
    EXPECT_EQ(exits_of_f(code_of_f("jmp *%rax")),
              "it may end by a jump to another function, which returns in its place");
}

// The next function begins where this one ends.
TEST(Exits, JumpsToTheNextFunctionAreNoneIntoThisOne) {
    EXPECT_EQ(exits_of_f(code_of_f("xor %ecx, %ecx\n lea 1(%rdi), %rax\n ret",
                                   "\n.type g, @function\ng: sub $1, %edi\n jne g\n ret\n")),
              "6:2+5");
    EXPECT_EQ(exits_of_f(code_of_f("xor %ecx, %ecx\n lea 1(%rdi), %rax\n ret",
                                   "\n.type g, @function\ng: jmp *%rax\n")),
              "6:2+5");
}

TEST(Exits, PartsThatWereSplitOffReturnForTheFunction) {
    const std::string cold = "\n.type f.cold, @function\nf.cold: mov $7, %eax\n ret\n"
                             ".size f.cold, .-f.cold\n";
    EXPECT_EQ(
        exits_of_f(code_of_f("test %edi, %edi\n jz f.cold\n mov $2, %eax\n ret", cold + second)),
        "9:4+6,15:10+6");
}

TEST(Exits, WhatIsJumpedToWithAUsedStackIsAPart) {
    const std::string part = "\n.type p, @function\np: .cfi_startproc\n.cfi_def_cfa_offset 16\n"
                             "mov $7, %eax\n pop %rbx\n ret\n.cfi_endproc\n.size p, .-p\n";
    const std::string body = "push %rbx\n.cfi_def_cfa_offset 16\n test %edi, %edi\n jz p\n"
                             "mov $2, %eax\n pop %rbx\n.cfi_def_cfa_offset 8\n ret";
    EXPECT_EQ(exits_of_f(code_of_f(body, part + second)), "11:5+7,18:12+7");
    // Not if it is a function as well.
    EXPECT_EQ(exits_of_f(code_of_f(body, part + "\n.type g, @function\ng: call p\n ret\n")),
              "another function has a part of it in common");
    EXPECT_EQ(exits_of_f(code_of_f(body, part + "\n.type g, @function\ng: jmp p\n")),
              "a jump from another function leads into it");
    // A part is found once, and ends where its function does.
    EXPECT_EQ(exits_of_f(code_of_f("push %rbx\n.cfi_def_cfa_offset 16\n test %edi, %edi\n jz p\n"
                                   "jc p\n mov $2, %eax\n pop %rbx\n.cfi_def_cfa_offset 8\n ret",
                                   part + second)),
              "13:7+7,20:14+7");
    EXPECT_EQ(exits_of_f(code_of_f("push %rbx\n.cfi_def_cfa_offset 16\n test %edi, %edi\n jz 1f\n"
                                   "mov $2, %eax\n pop %rbx\n.cfi_def_cfa_offset 8\n ret",
                                   part + "1: int3\n.skip 8, 0xcc\n" + second)),
              "it may end by a jump to another function, which returns in its place");
}

// Without .eh_frame, the debug information tells it, in any version.
TEST(Exits, FramesMayBeInTheDebugInformation) {
    const std::string part = "\n.type p, @function\np: .cfi_startproc\n.cfi_def_cfa_offset 16\n"
                             "mov $7, %eax\n pop %rbx\n ret\n.cfi_endproc\n.size p, .-p\n";
    const std::string body = "push %rbx\n.cfi_def_cfa_offset 16\n test %edi, %edi\n jz p\n"
                             "mov $2, %eax\n pop %rbx\n.cfi_def_cfa_offset 8\n ret";
    for (const char* version : {"1", "3", "4"}) {
        const Program program = Program::compiled(
            ".text\n.globl f, g\n.cfi_sections .debug_frame\n" + code_of_f(body, part + second),
            "program.s",
            {"gcc", "-nostdlib", "-static", "-Wl,-e,f",
             std::string("-Wa,--gdwarf-cie-version=") + version});
        EXPECT_EQ(exits_of_f(program), "11:5+7,18:12+7") << version;
    }
}

TEST(Exits, OthersThatJumpIntoTheFunctionReturnWithoutAnEntry) {
    EXPECT_EQ(exits_of_f(code_of_f("mov $2, %eax\n1: mov $3, %ecx\n ret",
                                   "\n.type g, @function\ng: jmp 1b\n .size g, .-g\n")),
              "a jump from another function leads into it");
}

TEST(Exits, AJumpBackToTheEntryIsAnotherCall) {
    EXPECT_EQ(exits_of_f(code_of_f("sub $1, %edi\n jnz f\n mov $3, %ecx\n ret")),
              "a jump leads back to its beginning");
    EXPECT_EQ(exits_of_f(code_of_f("endbr64\n1: sub $1, %edi\n jnz 1b\n mov $3, %ecx\n ret")),
              "a jump leads back to its beginning");
}

TEST(Exits, OfWhatNobodyCanRead) {
    EXPECT_EQ(exits_of_f(code_of_f("mov $1, %eax\n.byte 0x06\n mov $2, %eax\n ret")),
              regions::reason_text(regions::Reason::NotDecoded));
}

TEST(Exits, FunctionsMayNotReturn) {
    EXPECT_EQ(exits_of_f(code_of_f("1: jmp 1b")), "a jump leads back to its beginning");
    EXPECT_EQ(exits_of_f(code_of_f("xor %eax, %eax\n1: jmp 1b")), "it has no return instruction");
    EXPECT_EQ(exits_of_f(code_of_f("mov $1, %eax\n add $1, %eax")),
              "it may end without a return instruction");
}

TEST(Exits, ALoopBehindALandingPadIsNoEntry) {
    const Program program = Program::assembled(
        ".text\n.globl f\n" + code_of_f("endbr64\n1: sub $1, %edi\n jnz 1b\n mov $3, %ecx\n ret"));
    auto file = ElfFile::open(program.path());
    ASSERT_TRUE(file);
    auto analysis = regions::Analysis::of(**file, {});
    ASSERT_TRUE(analysis);
    const auto entry = analysis->entry(*analysis->address_of("f"));
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->reason, regions::Reason::Jump);
}
