// SPDX-License-Identifier: GPL-2.0-or-later
// Each source of targets, on a program where no other one tells that control may enter a region.
#include "program.h"

using namespace djstap;
using namespace djstap::test;

namespace {

// Control passes through g, which names the target in the way that is tested.
std::string from_g(const std::string& body, const std::string& data = "") {
    return entered_region("", ".type g, @function\ng: " + body + "\nret\n.size g, .-g\n" + data);
}

} // namespace

TEST(Targets, NothingEnters) {
    EXPECT_EQ(reason_at_p(entered_region("")), "");
}

TEST(Targets, AJumpOfTheFunction) {
    EXPECT_EQ(reason_at_p(entered_region("test %rdi, %rdi\nje .Lt")), "jump");
}

TEST(Targets, AJumpOfAnotherFunction) {
    EXPECT_EQ(reason_at_p(from_g("jmp .Lt")), "jump");
}

TEST(Targets, AJumpFromCodeOfNoFunction) {
    EXPECT_EQ(reason_at_p(entered_region("", "jmp .Lt")), "jump");
}

TEST(Targets, ACall) {
    EXPECT_EQ(reason_at_p(from_g("call .Lt")), "jump");
}

TEST(Targets, AnAbortedTransaction) {
    EXPECT_EQ(reason_at_p(from_g("xbegin .Lt")), "jump");
}

TEST(Targets, ATableOfOffsets) {
    const std::string table = ".section .rodata\n.balign 4\ntable: .long g - table, .Lt - table\n";
    EXPECT_EQ(reason_at_p(from_g("lea table(%rip), %rdx", table)), "table");
}

TEST(Targets, ATableEndsBeforeTheFirstOffsetOfNoInstruction) {
    const std::string table =
        ".section .rodata\n.balign 4\ntable: .long g - table, 7, .Lt - table\n";
    EXPECT_EQ(reason_at_p(from_g("lea table(%rip), %rdx", table)), "");
}

TEST(Targets, ATableOfDistancesToALabel) {
    const std::string table = ".section .rodata\n.balign 4\ntable: .long 0, .Lt - .Lbase\n";
    EXPECT_EQ(reason_at_p(from_g("lea table(%rip), %rdx\nlea .Lbase(%rip), %rcx\n"
                                 "jmp *%rcx\n.Lbase: nop",
                                 table)),
              "table");
}

TEST(Targets, ATableOfAddresses) {
    // Not aligned, so that it is found by the instruction only.
    const std::string table = ".section .rodata\n.balign 8\n.byte 0\ntable: .quad g, .Lt\n";
    EXPECT_EQ(reason_at_p(from_g("mov table(,%rax,8), %rdx", table)), "table");
}

TEST(Targets, AnAddressInData) {
    EXPECT_EQ(reason_at_p(from_g("nop", ".data\n.balign 8\n.quad .Lt\n")), "address");
}

TEST(Targets, AnAddressThatTheDynamicLinkerRelocates) {
    EXPECT_EQ(reason_at_p(from_g("nop", ".data\n.balign 8\n.quad .Lt\n"),
                          {"-pie", "--no-dynamic-linker"}),
              "address");
}

TEST(Targets, APackedRelocation) {
    const std::string data = ".data\n.balign 8\n.quad g, 0, g, .Lt\n";
    EXPECT_EQ(reason_at_p(from_g("nop", data),
                          {"-pie", "--no-dynamic-linker", "-z", "pack-relative-relocs"}),
              "address");
}

TEST(Targets, ARelocationThatTheLinkerKept) {
    // Four bytes, which are no address of data otherwise.
    EXPECT_EQ(reason_at_p(from_g("nop", ".data\n.long .Lt\n"), {"-q"}), "address");
    EXPECT_EQ(reason_at_p(from_g("nop", ".data\n.long .Lt\n")), "");
}

TEST(Targets, AComputedAddress) {
    EXPECT_EQ(reason_at_p(from_g("lea .Lt(%rip), %rdx")), "address");
}

TEST(Targets, AnImmediateAddress) {
    EXPECT_EQ(reason_at_p(from_g("mov $.Lt, %edx")), "address");
    EXPECT_EQ(reason_at_p(from_g("pushq $.Lt")), "address");
    EXPECT_EQ(reason_at_p(from_g("movq $.Lt, 8(%rax)")), "address");
}

TEST(Targets, ALandingPad) {
    EXPECT_EQ(reason_at_p(entered_region("", "", "endbr64")), "landing-pad");
}

TEST(Targets, ASymbol) {
    EXPECT_EQ(reason_at_p(entered_region("", "", ".globl other\nother: mov %rsi, %rbx")), "symbol");
}

TEST(Targets, AnExceptionHandler) {
    // A table of one call site, whose exceptions continue at the target.
    const std::string table = R"(
    .section .gcc_except_table, "a"
lsda: .byte 0xff, 0xff, 1
    .uleb128 .Lend - .Lsites
.Lsites:
    .uleb128 0
    .uleb128 4
    .uleb128 .Lt - f
    .uleb128 0
.Lend:
)";
    const std::string unwind = ".cfi_startproc\n.cfi_personality 0x1b, f\n.cfi_lsda 0x1b, lsda\n";
    std::string text = entered_region(unwind, table);
    text.replace(text.find(".size f"), 0, ".cfi_endproc\n");
    EXPECT_EQ(reason_at_p(text), "exception");
}

TEST(Targets, AReturnOfACallInside) {
    EXPECT_EQ(reason_at_p(R"(
    .globl f, p
    .type f, @function
f:  nop
p:  call *%rax
    mov %rax, %rdx
    ret
    .size f, .-f
)"),
              "return-inside");
}

TEST(Targets, AReturnBehindTheRegion) {
    EXPECT_EQ(reason_at_p(R"(
    .globl f, p
    .type f, @function
f:  nop
p:  mov %rdi, %rdx
    call *%rax
    ret
    .size f, .-f
)"),
              "");
}

TEST(Targets, AJumpToTheByteBehindTheJumpIsHarmless) {
    const Program program = Program::assembled(R"(
    .globl f, p
    .type f, @function
f:  je .Lbehind
p:  mov $1, %eax
.Lbehind:
    mov %eax, %edx
    ret
    .size f, .-f
)");
    const Analyzed analysis(program.path());
    EXPECT_EQ(analysis.reason("p"), "");
    EXPECT_FALSE(analysis.place("p").by_kernel);
    EXPECT_TRUE(analysis.place("p").region == 5);
}
