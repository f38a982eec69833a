// SPDX-License-Identifier: GPL-2.0-or-later
// Each reason for which a jump is refused, apart from what enters the region.
#include "program.h"

using namespace djstap;
using namespace djstap::test;

namespace {

// A function with these instructions from p on.
std::string function(const std::string& from_p, const std::string& before_p = "") {
    return R"(
    .text
    .globl f, p
    .type f, @function
f:  xor %ecx, %ecx
    )" + before_p +
           "\np: " + from_p + R"(
    mov %rcx, %rdx
    ret
    .size f, .-f
    .type g, @function
g:  ret
    .size g, .-g
)";
}

std::string kernel_reason(const std::string& from_p) {
    return reason_at_p(function(from_p), {}, regions::Model::Kernel);
}

} // namespace

TEST(Reasons, FunctionEnd) {
    EXPECT_EQ(reason_at_p(R"(
    .globl f, p
    .type f, @function
f:  xor %ecx, %ecx
p:  ret
    .size f, .-f
    .type g, @function
g:  xor %eax, %eax
    ret
    .size g, .-g
)"),
              "function-end");
}

TEST(Reasons, WhatOnlyFillsSpaceMayBeReplaced) {
    const std::string text = R"(
    .globl f, p
    .type f, @function
f:  xor %ecx, %ecx
p:  ret
    .size f, .-f
    int3
    nopw 0(%rax)
    .type g, @function
g:  ret
    .size g, .-g
)";
    EXPECT_EQ(reason_at_p(text), "");
    // The kernel copies no breakpoint.
    EXPECT_EQ(reason_at_p(text, {}, regions::Model::Kernel), "function-end");
}

TEST(Reasons, Trap) {
    EXPECT_EQ(reason_at_p(function("ud2")), "trap");
    EXPECT_EQ(reason_at_p(function("int3")), "trap");
    EXPECT_EQ(reason_at_p(function("int $0x80")), "trap");
}

TEST(Reasons, WhatIsNotExecutedNeedNotMove) {
    EXPECT_EQ(reason_at_p(function("jmp f\nud2")), "");
    EXPECT_EQ(reason_at_p(function("nop\njmp f\nud2\nud2")), "");
}

TEST(Reasons, Relative) {
    EXPECT_EQ(reason_at_p(function("loop f")), "relative");
    EXPECT_EQ(reason_at_p(function("jrcxz f")), "relative");
    EXPECT_EQ(reason_at_p(function("xbegin f")), "relative");
}

TEST(Reasons, Adjacent) {
    EXPECT_EQ(reason_at_p(function("sti\nhlt")), "adjacent");
    EXPECT_EQ(reason_at_p(function("mov %eax, %ss")), "adjacent");
    EXPECT_EQ(reason_at_p(function("mwait")), "adjacent");
}

TEST(Reasons, CallsAndJumpsMove) {
    for (const char* each : {"call g", "jmp g", "je g", "jmp f", "ret", "mov 0x1000(%rip), %rax"})
        EXPECT_EQ(reason_at_p(function(each)), "") << each;
}

TEST(Reasons, TheKernelCopies) {
    for (const char* each :
         {"mov $1, %eax", "nopl 0(%rax,%rax)", "cmove %eax, %edx\nnop\nnop",
          "rdtsc\nmov %eax, %edx\nnop", "mov 0x1000(%rip), %rax", "lock cmpxchg %ecx, (%rdx)\nnop"})
        EXPECT_EQ(kernel_reason(each), "") << each;
}

TEST(Reasons, TheKernelDoesNotCopy) {
    for (const char* each :
         {"call g", "jmp g", "je g", "jne f", "loop f", "shl $3, %rax\nnop",
          "notl 8(%rax)\nnop\nnop", "incl 8(%rax)\nnop\nnop", "call *0x100(%rax)",
          "popcnt %rax, %rax", "cpuid\nnop\nnop\nnop", "addr32 mov 0x100(%eax), %ecx",
          "ud2\nnop\nnop\nnop", "pushq 0x100(%rax)", "crc32b 0x100(%rax), %ecx",
          "fld1\nmov %eax, %ecx\nnop"})
        EXPECT_EQ(kernel_reason(each), "not-copied") << each;
}

TEST(Reasons, UnknownTargets) {
    const Program program = Program::assembled(function("jmp *%rax"));
    const Analyzed analysis(program.path());
    EXPECT_EQ(analysis.reason("f"), "unknown-targets");
    EXPECT_EQ(analysis->functions()[0].safe, 0U);
    ASSERT_EQ(analysis->unknown_jumps().size(), 1U);
    EXPECT_EQ(analysis->describe(analysis->unknown_jumps()[0].address), "f+0x2");
}

// A jump to a function: where the stack is as the caller left it.
TEST(Reasons, ATailCall) {
    auto with_frames = [](const char* body) {
        return std::string(".globl f, p\n.type f, @function\nf: .cfi_startproc\n") + body +
               "\n.cfi_endproc\n.size f, .-f\n";
    };
    EXPECT_EQ(reason_at_p(with_frames("p: mov %rdi, %rax\nmov %rsi, %rdi\njmp *%rax")), "");
    EXPECT_EQ(reason_at_p(with_frames("push %rbx\n.cfi_def_cfa_offset 16\n"
                                      "p: mov %rdi, %rax\nmov %rsi, %rdi\njmp *%rax")),
              "unknown-targets");
    EXPECT_EQ(reason_at_p(with_frames("push %rbx\n.cfi_def_cfa_offset 16\n"
                                      "p: mov %rdi, %rax\nmov %rsi, %rdi\n"
                                      "pop %rbx\n.cfi_def_cfa_offset 8\njmp *%rax")),
              "");
    EXPECT_EQ(reason_at_p(with_frames("push %rbx\n.cfi_def_cfa_offset 16\n.cfi_remember_state\n"
                                      "pop %rbx\n.cfi_def_cfa_offset 8\nret\n.cfi_restore_state\n"
                                      "p: mov %rdi, %rax\nmov %rsi, %rdi\njmp *%rax")),
              "unknown-targets");
    EXPECT_EQ(reason_at_p(with_frames("mov %rsp, %r10\n.cfi_def_cfa 10, 8\n"
                                      "p: mov %rdi, %rax\nmov %rsi, %rdi\njmp *%rax")),
              "unknown-targets");
}

TEST(Reasons, AJumpThroughASlot) {
    EXPECT_EQ(reason_at_p(function("jmp *slot(%rip)") + ".data\n.balign 8\nslot: .quad 0\n"), "");
}

TEST(Reasons, AJumpWithATable) {
    const std::string text = R"(
    .globl f, p
    .type f, @function
f:  lea table(%rip), %rdx
    movslq (%rdx,%rdi,4), %rax
    add %rdx, %rax
    jmp *%rax
.L1: mov $1, %eax
    ret
p:  mov $2, %eax
    ret
    .size f, .-f
    .section .rodata
    .balign 4
table: .long .L1 - table, p - table
)";
    const Program program = Program::assembled(text);
    const Analyzed analysis(program.path());
    EXPECT_EQ(analysis.reason("p"), "");
    // The kernel's rule refuses the whole function.
    EXPECT_FALSE(analysis.place("p").by_kernel);
    EXPECT_EQ(analysis->functions()[0].by_kernel, 0U);
    EXPECT_TRUE(analysis->unknown_jumps().empty());
}

TEST(Reasons, NotDecoded) {
    EXPECT_EQ(reason_at_p(function("mov $1, %eax", ".byte 0x06")), "not-decoded");
    // A jump into the middle of an instruction: two ways to read it.
    EXPECT_EQ(reason_at_p(function("mov $1, %eax", "jmp .Lodd+1\n.Lodd: mov $5, %edx")),
              "not-decoded");
}

// A region does not end between a prefix and what it belongs to.
TEST(Reasons, PrefixesBelongToTheirInstructions) {
    for (const auto& [instruction, bytes] : {std::pair("lock cmpxchg %ecx, 0x100(%rdx)", 8),
                                             {"lock incl (%rdx)", 3},
                                             {"rep stosb", 2},
                                             {"xacquire lock incl (%rdx)", 4},
                                             {"xrelease movb $1, (%rdx)", 4},
                                             {"repne scasb", 2},
                                             {"bnd jmp g", 3},
                                             {"bnd call g", 6},
                                             {"bnd ret", 2},
                                             {"data16 call g", 6},
                                             {"mov %gs:8, %eax", 8}}) {
        const Program program = Program::assembled(
            function(std::string("mov %rdi, 8(%rax)\n") + instruction + "\nnop\nnop\nnop\nnop"));
        const Analyzed analysis(program.path());
        const regions::Place p = analysis.place("p");
        EXPECT_EQ(p.region, 4 + bytes) << instruction;
        const auto place = analysis->place(p.address + 4);
        ASSERT_TRUE(place) << instruction;
        EXPECT_EQ(place->length, bytes) << instruction;
        EXPECT_FALSE(analysis->place(p.address + 5)) << instruction;
    }
}

TEST(Reasons, AJumpMaySkipAPrefix) {
    const std::string text =
        function("mov $1, %eax", ".globl q\nje .Lskip\nq: lock\n.Lskip: cmpxchg %ecx, 0x100(%rdx)");
    const Program program = Program::assembled(text);
    const Analyzed analysis(program.path());
    EXPECT_EQ(analysis.reason("p"), "");
    EXPECT_EQ(analysis.reason("q"), "jump");
    // Behind it, there is no way to read the instruction, nor in one without a prefix.
    EXPECT_EQ(
        reason_at_p(function("mov $1, %eax", "je .Lin + 2\n.Lin: lock cmpxchg %ecx, 0x100(%rdx)")),
        "not-decoded");
    EXPECT_EQ(reason_at_p(function("mov $1, %eax", "je .Lin + 1\n.Lin: mov $7, %edx")),
              "not-decoded");
}

TEST(Reasons, RestartableSequence) {
    const auto reason_of = [](const std::string& start, int length, const std::string& abort) {
        return reason_at_p(function("xor %eax, %eax\nxor %edx, %edx\nxor %esi, %esi") +
                           ".section __rseq_cs, \"a\"\n.balign 32\n.long 0, 0\n.quad " + start +
                           ", " + std::to_string(length) + ", " + abort + "\n");
    };
    EXPECT_EQ(reason_of("p", 2, "g"), "restartable-sequence");
    EXPECT_EQ(reason_of("f", 2, "g"), "");
    EXPECT_EQ(reason_of("f", 3, "g"), "restartable-sequence");
    // One byte, which is the first of all code.
    const Program first = Program::assembled(
        ".globl f\n.type f, @function\nf: mov $1, %eax\nmov $2, %ecx\nret\n.size f, .-f\n"
        ".section __rseq_cs, \"a\"\n.balign 32\n.long 0, 0\n.quad f, 1, f + 10\n");
    EXPECT_EQ(Analyzed(first.path()).reason("f"), "restartable-sequence");
    EXPECT_EQ(reason_of("p + 4", 2, "g"), "restartable-sequence");
    EXPECT_EQ(reason_of("p + 6", 3, "g"), "");
    // The signature: four bytes before the place where an interrupted one continues.
    EXPECT_EQ(reason_of("f", 2, "p + 9"), "restartable-sequence");
    EXPECT_EQ(reason_of("f", 2, "p + 10"), "");
}

// Marked one after the other, these would take minutes.
TEST(Reasons, ManyRestartableSequencesOfAllTheCode) {
    EXPECT_EQ(reason_at_p(function("xor %eax, %eax", "ret\n.skip 1000000, 0xcc") +
                          ".section __rseq_cs, \"a\"\n.balign 32\n"
                          ".rept 100000\n.long 0, 0\n.quad p, -1, g\n.endr\n"),
              "restartable-sequence");
}
