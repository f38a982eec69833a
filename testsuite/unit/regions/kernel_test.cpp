// SPDX-License-Identifier: GPL-2.0-or-later
// The tables of a kernel image, on small ones.
#include "program.h"

using namespace djstap;
using namespace djstap::test;
using regions::Model;

namespace {

// What makes an image a kernel's, with these lines in its tables.
std::string kernel(const std::string& code, const std::string& tables = "",
                   const std::string& ftrace = "", const std::string& exceptions = "") {
    return code + R"(
    .section .init.data, "a"
    .balign 8
    .globl __start_mcount_loc, __stop_mcount_loc
__start_mcount_loc:
    )" + ftrace +
           R"(
__stop_mcount_loc:
    .section __ex_table, "a"
    .balign 4
    .long 0, 0, 0
    )" + exceptions +
           "\n" + tables;
}

std::string bounded(const std::string& name, const std::string& lines) {
    return ".data\n.balign 8\n.globl __start_" + name + ", __stop_" + name + "\n__start_" + name +
           ":\n" + lines + "\n__stop_" + name + ":\n";
}

// A function whose region at p can be replaced, unless a table says otherwise. .Lsite is in it.
const std::string code = R"(
    .text
    .globl f, p
    .type f, @function
f:  xor %ecx, %ecx
p:  mov %rdi, %rax
.Lsite:
    mov %rsi, %rdx
    mov %rcx, %rdx
    mov %rcx, %rdx
    ret
    .size f, .-f
)";

std::string reason(const std::string& text, Model model = Model::Relocate) {
    return reason_at_p(text, {}, model);
}

} // namespace

TEST(KernelTables, Nothing) {
    EXPECT_EQ(reason(kernel(code)), "");
    EXPECT_EQ(reason(kernel(code), Model::Kernel), "");
}

TEST(KernelTables, Ftrace) {
    EXPECT_EQ(reason(kernel(code, "", ".quad .Lsite")), "ftrace");
}

// The sites of ftrace are no targets.
TEST(KernelTables, FtraceSitesAreNotEntered) {
    const Program program = Program::assembled(kernel(code, "", ".quad .Lsite"));
    const Analyzed analysis(program.path());
    EXPECT_EQ(analysis.place("p").by_kernel, false);
    EXPECT_TRUE(analysis->unsafe().empty());
}

TEST(KernelTables, ExceptionTable) {
    const std::string fixup = ".long f - ., .Lsite - ., 0";
    EXPECT_EQ(reason(kernel(code, "", "", fixup)), "fixup");
    const std::string fault = ".long .Lsite - ., f - ., 0";
    const Program program = Program::assembled(kernel(code, "", "", fault));
    const Analyzed analysis(program.path());
    EXPECT_EQ(analysis.reason("p"), "fault");
    // The kernel refuses all of the function.
    EXPECT_EQ(analysis->functions()[0].by_kernel, 0U);
    EXPECT_EQ(analysis.reason("p"), "fault");
}

TEST(KernelTables, JumpLabels) {
    const std::string other =
        ".text\n.type g, @function\ng: .Lg: nopl 0(%rax,%rax)\nret\n.size g, .-g\n";
    EXPECT_EQ(
        reason(kernel(code + other, bounded("__jump_table", ".long .Lg - ., .Lsite - .\n.quad 0"))),
        "jump-label");
    EXPECT_EQ(
        reason(kernel(code + other, bounded("__jump_table", ".long .Lsite - ., .Lg - .\n.quad 0"))),
        "patched-jump-label");
}

TEST(KernelTables, StaticCalls) {
    EXPECT_EQ(reason(kernel(code, bounded("static_call_sites", ".long .Lsite - ., 0"))),
              "patched-static-call");
    EXPECT_EQ(reason(kernel(code + "\n.globl __static_call_text_end\n__static_call_text_end:\n"
                                   ".globl __static_call_text_start\n"
                                   ".set __static_call_text_start, f\n")),
              "patched-static-call");
}

TEST(KernelTables, Alternatives) {
    for (const char* features : {".short 7", ".long 7"}) {
        const std::string tables = std::string(".section .altinstructions, \"a\"\n") +
                                   ".long .Lsite - ., .Lnew - .\n" + features +
                                   "\n.byte 3, 1\n.section .altinstr_replacement, \"ax\"\n"
                                   ".Lnew: nop\n";
        EXPECT_EQ(reason(kernel(code, tables)), "patched-alternative") << features;
    }
}

// Where a replacement jumps to.
TEST(KernelTables, AReplacementIsExecutedElsewhere) {
    const std::string tables = ".section .altinstructions, \"a\"\n"
                               ".long f - ., .Lnew - .\n.short 7\n.byte 2, 5\n"
                               ".section .altinstr_replacement, \"ax\"\n"
                               ".Lnew: jmp .Lsite\n";
    EXPECT_EQ(reason(kernel(code, tables)), "jump");
}

TEST(KernelTables, ParavirtSites) {
    EXPECT_EQ(reason(kernel(code, ".section .parainstructions, \"a\"\n.balign 8\n.quad .Lsite\n"
                                  ".byte 1, 3\n.balign 8\n")),
              "patched-alternative");
}

// A kernel that replaces them has done so before a probe can be planted, or has them back for good;
// the bytes are compared then.
TEST(KernelTables, LockPrefixes) {
    EXPECT_EQ(reason(kernel(code, ".section .smp_locks, \"a\"\n.long .Lsite - .\n")), "");
}

// The text of a kernel that runs, in which alternatives are what they stay.
TEST(KernelTables, TextFromMemory) {
    const std::string tables = R"(
    .section .altinstructions, "a"
    .long .Lsite - ., .Lnew - .
    .word 0, 0
    .byte 3, 3
    .section .altinstr_replacement, "ax"
.Lnew: mov %rsi, %rcx
)";
    const Program program = Program::assembled(kernel(code, tables));
    EXPECT_EQ(Analyzed(program.path()).reason("p"), "patched-alternative");
    const auto file = ElfFile::open(program.path());
    ASSERT_TRUE(file);
    const ElfSection* section = (*file)->section(".text");
    std::string text(section->bytes);
    auto reason_of = [&](std::string_view live) {
        const auto analysis = regions::Analysis::of(**file, {Model::Relocate, 1, live});
        EXPECT_TRUE(analysis) << analysis.failure().message;
        const auto place = analysis->place(*analysis->address_of("p"));
        EXPECT_TRUE(place);
        return std::string(regions::reason_tag(place->reason));
    };
    EXPECT_EQ(reason_of(text), "");
    // A jump to the second instruction behind p, where the file has another one.
    const size_t site = 2 + 3;
    ASSERT_EQ(text.substr(site, 3), "\x48\x89\xf2");
    std::string jumping = text;
    jumping.replace(site + 3, 3, "\xeb\xfb\x90");
    EXPECT_EQ(reason_of(jumping), "jump");
    // Breakpoints behind a return are no instructions of their own.
    std::string returning = text;
    returning.replace(site + 3, 6, "\xc3\xcc\xcc\xcc\xcc\x90");
    const auto with_return =
        regions::Analysis::of(**file, {Model::Relocate, 1, std::string_view(returning)});
    ASSERT_TRUE(with_return);
    EXPECT_EQ(with_return->functions()[0].instructions, 6U); // one of them is the no-op
    EXPECT_FALSE(regions::Analysis::of(**file, {Model::Relocate, 1, text.substr(0, 4)}));
}

TEST(KernelTables, NoProbes) {
    EXPECT_EQ(reason(kernel(code, bounded("kprobe_blacklist", ".quad p"))), "no-probes");
    for (const char* part : {"entry", "noinstr", "kprobes"}) {
        const std::string name = std::string("__") + part + "_text_";
        EXPECT_EQ(reason(kernel(code + ".globl " + name + "start, " + name + "end\n.set " + name +
                                "start, f\n" + name + "end:\n")),
                  "no-probes");
    }
    for (const char* section : {".init.text", ".exit.text", ".altinstr_aux"}) {
        std::string other = code;
        other.replace(other.find(".text"), 5, ".section " + std::string(section) + ", \"ax\"");
        EXPECT_EQ(reason(kernel(other)), "no-probes") << section;
    }
}

// The call becomes shorter where the mitigation is not needed.
TEST(KernelTables, CallsOfThunks) {
    const std::string thunk = ".globl __x86_indirect_thunk_rax, __x86_indirect_thunk_r11\n"
                              "__x86_indirect_thunk_rax: ret\nret\n__x86_indirect_thunk_r11: ret\n";
    const std::string calls = R"(
    .text
    .globl f, p, q
    .type f, @function
f:  xor %ecx, %ecx
p:  call __x86_indirect_thunk_rax
    mov %rcx, %rdx
q:  mov %ecx, %edx
    call __x86_indirect_thunk_r11
    mov %rcx, %rdx
    ret
    .size f, .-f
)";
    const Program program = Program::assembled(kernel(calls + thunk));
    const Analyzed analysis(program.path());
    EXPECT_EQ(analysis.reason("p"), "return-inside");
    // It returns to 2 + 3 bytes from q: behind the jump.
    EXPECT_EQ(analysis.reason("q"), "");
}

// A return through a thunk becomes a return of one byte, and breakpoints.
TEST(KernelTables, ReturnThunks) {
    const std::string text = R"(
    .text
    .globl f, p, q, __x86_return_thunk
    .type f, @function
f:  xor %ecx, %ecx
q:  mov 8(%rax,%rcx,8), %edx
    mov %rcx, %rdx
p:  mov %ecx, %edx
    jmp __x86_return_thunk
    .size f, .-f
    .balign 8, 0xcc
__x86_return_thunk: ret
)";
    const Program program = Program::assembled(kernel(text));
    const Analyzed kernels(program.path(), Model::Kernel);
    EXPECT_EQ(kernels.reason("p"), "not-copied");
    EXPECT_EQ(kernels.reason("q"), "");
    EXPECT_EQ(Analyzed(program.path()).reason("p"), "");
}

TEST(KernelTables, TheKernelSeesOneSymbolAtATime) {
    const std::string text = R"(
    .text
    .globl f, p
    .type f, @function
f:  xor %ecx, %ecx
p:  mov %rdi, %rax
.Lback:
    mov %rsi, %rdx
    ret
    .size f, .-f
    .type f.cold, @function
f.cold: jmp .Lback
    .size f.cold, .-f.cold
)";
    const Program program = Program::assembled(kernel(text));
    const Analyzed analysis(program.path());
    EXPECT_TRUE(analysis.place("p").by_kernel);
    EXPECT_EQ(analysis.reason("p"), "jump");
    const auto unsafe = analysis->unsafe();
    ASSERT_EQ(unsafe.size(), 1U);
    EXPECT_EQ(analysis->describe(unsafe[0].address), "f+0x2");
    EXPECT_EQ(analysis->describe(unsafe[0].entered_at), "f+0x5");
    ASSERT_TRUE(unsafe[0].entered_from);
    EXPECT_EQ(analysis->describe(*unsafe[0].entered_from), "f.cold");
}

// A table whose entries have no known size says nothing.
TEST(KernelTables, AlternativesOfAnotherForm) {
    auto alternatives = [&](const std::string& lines) {
        return reason(kernel(code, ".section .altinstructions, \"a\"\n" + lines +
                                       ".section .altinstr_replacement, \"ax\"\n.Lnew: nop\n"));
    };
    const std::string entry = ".long .Lsite - ., .Lnew - .\n.short 7\n.byte 3, 1\n";
    EXPECT_EQ(alternatives(entry), "patched-alternative");
    EXPECT_EQ(alternatives(entry + ".byte 1, 2, 3, 4, 5\n"), "");
    EXPECT_EQ(alternatives(".long .Lsite - ., .Lsite - .\n.short 7\n.byte 3, 1\n"), "");
    EXPECT_EQ(alternatives(".long .Lsite - ., .Lnew - .\n.short 7\n.byte 3, 200\n"), "");
    EXPECT_EQ(alternatives(".long .Lsite - . + 0x100000, .Lnew - .\n.short 7\n.byte 3, 1\n"), "");
    EXPECT_EQ(alternatives(".byte 1\n"), "");
}

// Each entry of a table is read, and no other bytes.
TEST(KernelTables, EachEntry) {
    const std::string more = ".text\n.type g, @function\ng: .L1: nopl 0(%rax,%rax)\n"
                             ".L2: nopl 0(%rax,%rax)\nret\n.size g, .-g\n";
    auto repeated = [](const std::string& entry, int times) {
        std::string lines;
        for (int i = 0; i < times; i++)
            lines += entry;
        return lines;
    };
    auto alternatives = [&](const std::string& entries) {
        return reason(kernel(code + more, ".section .altinstructions, \"a\"\n" + entries +
                                              ".section .altinstr_replacement, \"ax\"\n"
                                              ".Lnew: nop\n"));
    };
    auto labels = [&](const std::string& entries) {
        return reason(kernel(code + more, bounded("__jump_table", entries)));
    };
    for (const int before : {0, 1, 2, 5, 11}) {
        EXPECT_EQ(reason(kernel(code + more, "", repeated(".quad .L1\n", before) + ".quad .Lsite")),
                  "ftrace");
        EXPECT_EQ(reason(kernel(code + more, "", repeated(".quad .L1\n", before))), "");
        EXPECT_EQ(labels(repeated(".long .L1 - ., .L2 - .\n.quad 0\n", before) +
                         ".long .Lsite - ., .L2 - .\n.quad 0\n"),
                  "patched-jump-label");
        EXPECT_EQ(labels(repeated(".long .L1 - ., .L2 - .\n.quad 0\n", before) +
                         ".long .L1 - ., .Lsite - .\n.quad 0\n"),
                  "jump-label");
        EXPECT_EQ(reason(kernel(code + more, bounded("static_call_sites",
                                                     repeated(".long .L1 - ., 0\n", before) +
                                                         ".long .Lsite - ., 0\n"))),
                  "patched-static-call");
        EXPECT_EQ(reason(kernel(code + more, "", "",
                                repeated(".long .L1 - ., .L2 - ., 0\n", before) +
                                    ".long .L1 - ., .Lsite - ., 0\n")),
                  "fixup");
        EXPECT_EQ(
            reason(kernel(code + more, ".section .parainstructions, \"a\"\n.balign 8\n" +
                                           repeated(".quad .L1\n.byte 1, 3\n.balign 8\n", before) +
                                           ".quad .Lsite\n.byte 1, 3\n.balign 8\n")),
            "patched-alternative");
        EXPECT_EQ(reason(kernel(code + more, bounded("kprobe_blacklist",
                                                     repeated(".quad g\n", before) + ".quad p\n"))),
                  "no-probes");
        // Entries of 12 or of 14 bytes; a table may have a size that fits both.
        for (const char* features : {".short 7", ".long 7"})
            EXPECT_EQ(alternatives(repeated(".long .L1 - ., .Lnew - .\n" + std::string(features) +
                                                "\n.byte 3, 1\n",
                                            before) +
                                   ".long .Lsite - ., .Lnew - .\n" + features + "\n.byte 3, 1\n"),
                      "patched-alternative")
                << features << before;
    }
}

// As the kernel does: the byte behind the jump counts, too, and only jumps of the same symbol.
TEST(KernelTables, WhatTheKernelTakesForEntered) {
    auto by_kernel = [](const std::string& at_p, const std::string& before = "",
                        const std::string& behind = "") {
        const Program program = Program::assembled(
            kernel(".text\n.globl f, p\n.type f, @function\nf: xor %ecx, %ecx\n" + before +
                   "\np: " + at_p + "\n.size f, .-f\n" + behind));
        return Analyzed(program.path()).place("p").by_kernel;
    };
    for (int distance = 1; distance < 8; distance++) {
        std::string text;
        for (int i = 0; i < 12; i++)
            text += (i == distance ? "1: " : "") + std::string("cltd\n");
        EXPECT_EQ(by_kernel(text + "je 1b\nret\n"), distance > 5) << distance;
    }
    // The next symbol begins behind the jump.
    const std::string five = "mov $1, %eax";
    EXPECT_TRUE(by_kernel(five, "", ".type g, @function\ng: ret\n.size g, .-g\n"));
    EXPECT_TRUE(
        by_kernel(five, "", ".type g, @function\ng: sub $1, %edi\njne g\nret\n.size g, .-g\n"));
}

// The function's own jump to its end is one to the byte behind the jump.
TEST(KernelTables, AJumpToTheEndOfTheSymbol) {
    for (const auto& [before, by_kernel] : {std::pair("je g", false), {"xor %ecx, %ecx", true}}) {
        const Program program = Program::assembled(
            kernel(".text\n.globl f\n.type f, @function\nf: " + std::string(before) +
                   "\nmov $1, %eax\n.size f, .-f\n.type g, @function\ng: ret\n.size g, .-g\n"));
        const Analyzed analysis(program.path());
        EXPECT_EQ(analysis->place(*analysis->address_of("f") + 2)->by_kernel, by_kernel) << before;
    }
}

// What another symbol's jump enters is unsafe from the second byte of the jump to its last one.
TEST(KernelTables, UnsafePlaces) {
    auto unsafe = [](const std::string& before) {
        const std::string text = R"(
    .text
    .globl f, p
    .type f, @function
f:  xor %ecx, %ecx
p:  )" + before + R"(
.Lback:
    mov $7, %edx
    ret
    .size f, .-f
    .type f.cold, @function
f.cold: jmp .Lback
    .size f.cold, .-f.cold
)";
        const Program program = Program::assembled(kernel(text));
        const Analyzed analysis(program.path());
        std::string places;
        for (const regions::UnsafePlace& each : analysis->unsafe())
            places +=
                analysis->describe(each.address) + "-" + analysis->describe(each.entered_at) + " ";
        return places;
    };
    EXPECT_EQ(unsafe("cltd"), "f+0x2-f+0x3 ");
    EXPECT_EQ(unsafe("mov %rdi, 8(%rax)"), "f+0x2-f+0x6 ");
    EXPECT_EQ(unsafe("mov %rdi, 8(%rax,%rcx)"), "");
}

// Indirect calls lead there, and the processor checks for it. (The kernel plants the probe behind.)
TEST(KernelTables, LandingPadsStay) {
    const std::string text = R"(
    .text
    .globl f, p, q
    .type f, @function
f:  xor %ecx, %ecx
    ret
    .size f, .-f
    .type p, @function
p:  endbr64
q:  mov %rsi, %rdx
    mov %rcx, %rdx
    ret
    .size p, .-p
)";
    for (const Model model : {Model::Relocate, Model::Short}) {
        const Program program = Program::assembled(kernel(text));
        EXPECT_EQ(Analyzed(program.path(), model).reason("p"), "landing-pad");
        EXPECT_EQ(Analyzed(program.path(), model).reason("q"), "");
    }
    std::string unnamed = text;
    unnamed.replace(unnamed.find("q:"), 2, "");
    unnamed.replace(unnamed.find(", q"), 3, "");
    EXPECT_EQ(reason(kernel(unnamed)), "landing-pad");
    EXPECT_EQ(reason_at_p(unnamed), "");
}

// Of a BUG, the kernel looks up the address.
TEST(KernelTables, TrapsBehindCalls) {
    const Program program = Program::assembled(
        kernel(".text\n.globl f, p\n.type f, @function\nf: xor %eax, %eax\np: call f\nud2\n"
               ".size f, .-f\n.skip 8, 0xcc\n"));
    const Analyzed analysis(program.path());
    const auto trap = analysis->place(analysis.place("p").address + 5);
    ASSERT_TRUE(trap);
    EXPECT_EQ(trap->reason, regions::Reason::Trap);
}
