// SPDX-License-Identifier: GPL-2.0-or-later
// Each source of targets, on a program where no other one tells that control may enter a region.
#include "program.h"

#include <cstring>
#include <elf.h>

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

// Nothing is taken from it that is behind the last section, or before the first one.
TEST(Targets, ATableAtTheBeginningOfTheFile) {
    const std::string table = ".section .rodata\n.balign 4\ntable: .long .Lt - table\n";
    EXPECT_EQ(reason_at_p(from_g("lea table(%rip), %rdx", table),
                          {"--section-start=.rodata=0x400000", "-Ttext=0x500000"}),
              "table");
}

// What is known of the table that one function has named says nothing about another one's.
TEST(Targets, ATableOfAnotherFunctionExplainsNoJump) {
    auto after_g = [](const std::string& g, const std::string& f, const std::string& data) {
        return ".text\n.type g, @function\ng: " + g + "\nret\n.size g, .-g\n" +
               entered_region(f + "\njmp *%rax") + ".section .rodata\n.balign 4\n" + data;
    };
    EXPECT_EQ(reason_at_p(after_g("lea table(%rip), %rdx", "lea number(%rip), %rdx",
                                  "table: .long .Lt - table\nnumber: .long 7\n")),
              "unknown-targets");
    // Distances to a label of the first.
    EXPECT_EQ(reason_at_p(after_g("lea table(%rip), %rdx\nlea .Lbase(%rip), %rcx\njmp *%rcx\n"
                                  ".Lbase: nop",
                                  "lea table(%rip), %rdx", "table: .long .Lt - .Lbase\n")),
              "unknown-targets");
    EXPECT_EQ(reason_at_p(after_g("nop", "lea table(%rip), %rdx", "table: .long .Lt - table\n")),
              "table");
}

// It must lead into the function: neither to its entry nor to what begins where it ends.
TEST(Targets, ATableOfOtherFunctionsExplainsNoJump) {
    auto leads_to = [](const std::string& target) {
        return reason_at_p(entered_region("lea table(%rip), %rdx\njmp *%rax",
                                          ".type g, @function\ng: ret\n.size g, .-g\n"
                                          ".section .rodata\n.balign 4\ntable: .long " +
                                              target + " - table\n"));
    };
    EXPECT_EQ(leads_to("f"), "unknown-targets");
    EXPECT_EQ(leads_to("g"), "unknown-targets");
    EXPECT_EQ(leads_to(".Lt"), "table");
}

// The label may be where the function begins.
TEST(Targets, ATableOfDistancesToTheFunction) {
    EXPECT_EQ(reason_at_p(from_g("lea table(%rip), %rdx\nlea g(%rip), %rcx\njmp *%rcx",
                                 ".section .rodata\n.balign 4\ntable: .long 0, .Lt - g\n")),
              "table");
}

// A table may be read in two ways, if both lead to instructions.
TEST(Targets, ATableOfDistancesThatCouldBeOffsets) {
    EXPECT_EQ(
        reason_at_p(".text\n.skip 64, 0x90\n.type g, @function\ng: lea table(%rip), %rdx\n"
                    "lea .Lbase(%rip), %rcx\njmp *%rcx\n.Lbase: nop\nret\n.size g, .-g\n" +
                        entered_region("") +
                        ".section .rodata\n.balign 4\ntable: .long .Lt - .Lbase\n",
                    {"--section-start=.rodata=0x4ffffc", "-Ttext=0x500000", "--no-check-sections"}),
        "table");
}

// A function that does not jump by a table has none, whatever the next one does.
TEST(Targets, DistancesInAFunctionWithoutAJump) {
    auto reason_with = [](const std::string& end) {
        return reason_at_p(
            from_g("lea table(%rip), %rdx\nlea .Lbase(%rip), %rcx\n.Lbase: nop\n" + end,
                   ".type h, @function\nh: jmp *%rcx\n.size h, .-h\n"
                   ".section .rodata\n.balign 4\ntable: .long .Lt - .Lbase\n"));
    };
    EXPECT_EQ(reason_with("nop"), "");
    EXPECT_EQ(reason_with("jmp *%rcx"), "table");
}

// Where no data is.
TEST(Targets, AnAddressBeforeAllData) {
    EXPECT_EQ(reason_at_p(from_g("lea p + 1(%rip), %rdx", ".data\n.quad 0\n")), "");
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

// An address, and maps of the 63 words behind it, each.
TEST(Targets, EachPackedRelocation) {
    const std::vector<std::string> options{"-pie", "--no-dynamic-linker", "-z",
                                           "pack-relative-relocs", "-Ttext=0x10000"};
    // Of 200 words, `at` has the target's address; it is relocated, as two before it are, or just a
    // number.
    auto with = [&](int at, bool relocated) {
        std::string data = ".data\n.balign 8\n";
        for (int i = 0; i < 200; i++)
            data += i == at  ? relocated ? ".quad .Lt\n" : ".quad .Lt - f + 0x10000\n"
                    : i <= 1 ? ".quad g\n"
                             : ".quad 0\n";
        return reason_at_p(from_g("nop", data), options);
    };
    for (const int at : {0, 1, 63, 64, 65, 126, 127, 128}) {
        EXPECT_EQ(with(at, true), "address") << at;
        EXPECT_EQ(with(at, false), "") << at;
    }
}

TEST(Targets, ARelocationThatTheLinkerKept) {
    // Four bytes, which are no address of data otherwise.
    EXPECT_EQ(reason_at_p(from_g("nop", ".data\n.long .Lt\n"), {"-q"}), "address");
    EXPECT_EQ(reason_at_p(from_g("nop", ".data\n.long .Lt\n")), "");
}

TEST(Targets, AComputedAddress) {
    EXPECT_EQ(reason_at_p(from_g("lea .Lt(%rip), %rdx")), "address");
}

// It is 0 bytes away.
TEST(Targets, TheAddressOfTheNextInstruction) {
    const std::string text = R"(
    .text
    .globl f, p, room
    .type f, @function
f:  xor %eax, %eax
    je .Lbehind
p:  cltq
.Lbehind: nop
    jmp f
room: lea .Lnext(%rip), %rdx
.Lnext: mov $1, %ecx
    ret
    .size f, .-f
)";
    // Else two jumps would fit where these instructions are.
    EXPECT_EQ(reason_at_p(text, {}, regions::Model::Short), "jump");
    std::string without = text;
    without.replace(without.find(".Lnext(%rip)"), 12, "0x1000(%rsp)");
    EXPECT_EQ(reason_at_p(without, {}, regions::Model::Short), "");
    // A slot behind the jump through it.
    EXPECT_EQ(reason_at_p(from_g("nop", ".text\n.type h, @function\nh: mov $1, %eax\njmp *0(%rip)\n"
                                        ".size h, .-h\n.quad 0\n")),
              "");
}

TEST(Targets, AnImmediateAddress) {
    EXPECT_EQ(reason_at_p(from_g("mov $.Lt, %edx")), "address");
    EXPECT_EQ(reason_at_p(from_g("pushq $.Lt")), "address");
    EXPECT_EQ(reason_at_p(from_g("movq $.Lt, 8(%rax)")), "address");
}

// Code is not entered because it is read.
TEST(Targets, WhatIsReadIsNoAddress) {
    EXPECT_EQ(reason_at_p(from_g("mov .Lt, %edx")), "");
}

TEST(Targets, AnAddressThatCodeOfNoFunctionComputes) {
    EXPECT_EQ(reason_at_p(entered_region("", "lea .Lt(%rip), %rdx\nret")), "address");
    EXPECT_EQ(reason_at_p(".text\nlea .Lt(%rip), %rdx\nret\n" + entered_region("")), "address");
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

// Sections that name others by numbers that no section has.
TEST(Targets, DamagedNumbersOfSections) {
    const std::string text = from_g("nop", ".data\n.balign 8\n.quad .Lt\n");
    for (const std::vector<std::string>& options :
         {std::vector<std::string>{"-q"}, {"-pie", "--no-dynamic-linker"}}) {
        const Program program = Program::assembled(text, options);
        const auto whole = read_file(program.path());
        ASSERT_TRUE(whole);
        Elf64_Ehdr header;
        std::memcpy(&header, whole->data(), sizeof header);
        for (const uint32_t number : {uint32_t{header.e_shnum}, UINT32_MAX})
            for (const size_t field :
                 {offsetof(Elf64_Shdr, sh_link), offsetof(Elf64_Shdr, sh_info)}) {
                std::string bytes = *whole;
                for (size_t i = 0; i < header.e_shnum; i++)
                    std::memcpy(bytes.data() + header.e_shoff + i * sizeof(Elf64_Shdr) + field,
                                &number, sizeof number);
                const auto file = ElfFile::hold(std::move(bytes), "damaged");
                ASSERT_TRUE(file);
                EXPECT_TRUE(regions::Analysis::of(**file, {}));
            }
    }
}
