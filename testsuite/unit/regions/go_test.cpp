// SPDX-License-Identifier: GPL-2.0-or-later
// Programs of Go, by its table of functions.
#include "program.h"

#include "regions/go_table.h"

#include <algorithm>
#include <cstring>

using namespace djstap;
using namespace djstap::test;

namespace {

// Two functions without symbols, `main.f`, whose place p is global, and another one; `deferred` is
// where deferred calls return in the first.
struct Source {
    std::string first = "xor %ecx, %ecx";
    std::string code = "mov %rdi, %rax\n.Linside: mov %rsi, %rdx\n mov %rcx, %rdx\n ret\n";
    std::string deferred = "0";
    std::string name = "main.f";
    std::string magic = "0xfffffff1";
    std::string section = ".gopclntab, \"a\"";
    std::string flags = "4"; // it is written in assembler
    std::string other = "main.g";
    // The tables of the first function: how deep the stack is, whether it may be preempted, what is
    // inlined. Each says one thing about all of it.
    std::string stack = "2, 127, 0", preemption = "0, 127, 0", inlined = "0, 127, 0";
};

std::string text_of(const Source& source) {
    return R"(
    .text
    .globl f, p
f:
.Lf: )" + source.first +
           R"(
p:  )" + source.code +
           R"(
    .byte 0xcc, 0xcc, 0xcc, 0xcc
    .balign 16, 0xcc
.Lg: mov %rdi, %rax
    ret
    .balign 16, 0xcc
.Lend:
    .section .go.buildinfo, "a"
    .quad 0
    .section )" +
           source.section + R"(
    .balign 32
.Lheader:
    .long )" +
           source.magic + R"(
    .byte 0, 0, 1, 8
    .quad 2, 0
    .quad .Lf
    .quad .Lnames - .Lheader, 0, 0, .Lnumbers - .Lheader, .Ltable - .Lheader
.Lnames:
    .asciz "", ")" +
           source.name + R"(", ")" + source.other + R"("
.Lnumbers:
    .byte 0
.Lstack: .byte )" +
           source.stack + R"(
.Lpreemption: .byte )" +
           source.preemption + R"(
.Linlined: .byte )" +
           source.inlined + R"(
    .balign 8
.Ltable:
    .long .Lf - .Lf, .Lfirst - .Ltable, .Lg - .Lf, .Lsecond - .Ltable, .Lend - .Lf
.Lfirst:
    .long 0, 1, 0, )" +
           source.deferred + R"(, .Lstack - .Lnumbers, 0, 0, 3, 0
    )" + (source.magic == "0xfffffff0" ? "" : ".long 0") +
           R"(
    .byte 0, )" +
           source.flags + R"(, 0, 0
    .long .Lpreemption - .Lnumbers, 0, .Linlined - .Lnumbers
.Lsecond:
    .long .Lg - .Lf, )" +
           std::to_string(source.name.size() + 2) + R"(, 0, 0, 0, 0, 0, 0, 0
    )" + (source.magic == "0xfffffff0" ? "" : ".long 0") +
           R"(
    .byte 0, 4, 0, 0
)";
}

std::string reason(const Source& source, const std::vector<std::string>& options = {}) {
    return reason_at_p(text_of(source), options);
}

// The reason of the place that follows `before`.
std::string behind(Source source, const std::string& before, const std::string& instruction,
                   const std::string& more = "") {
    source.code =
        before + "\n.Lplace: " + instruction + "\n nopl 0(%rax)\n nopl 0(%rax)\n" + "ret\n" + more;
    const Program program =
        Program::assembled(text_of(source) + "\n.section .place, \"a\"\n.quad .Lplace - .Lf\n");
    const Analyzed analysis(program.path());
    const ElfSection* section = analysis.file().section(".place");
    uint64_t offset = 0;
    std::memcpy(&offset, section->bytes.data(), sizeof offset);
    const auto place = analysis->place(analysis->functions()[0].address + offset);
    EXPECT_TRUE(place) << instruction;
    return std::string(place ? regions::reason_tag(place->reason) : "none");
}

} // namespace

TEST(Go, FunctionsOfTheTable) {
    for (const char* magic : {"0xfffffff0", "0xfffffff1"}) {
        Source source;
        source.magic = magic;
        const Program program = Program::assembled(text_of(source));
        program.strip();
        const Analyzed analysis(program.path() + ".stripped");
        ASSERT_TRUE(analysis.ok());
        ASSERT_EQ(analysis->functions().size(), 2U);
        const regions::FunctionResult& f = analysis->functions()[0];
        EXPECT_EQ(f.name, "main.f");
        EXPECT_EQ(f.instructions, 5U); // without the space behind it
        EXPECT_EQ(analysis->functions()[1].name, "main.g");
        EXPECT_EQ(analysis->functions()[1].size, 4U);
    }
}

TEST(Go, WhereAPanicContinues) {
    Source source;
    EXPECT_EQ(reason(source), "");
    source.deferred = ".Linside - .Lf";
    EXPECT_EQ(reason(source), "deferred");
    source.deferred = "4096"; // not in the function
    EXPECT_EQ(reason(source), "");
    for (const auto& [deferred, resumed] :
         {std::pair("0", uint64_t{0}), {"1", 1}, {".Lg - .Lf - 1", 15}, {".Lg - .Lf", 0}}) {
        source.deferred = deferred;
        const Program program = Program::assembled(text_of(source));
        const auto file = ElfFile::open(program.path());
        const regions::GoFunction f = regions::read_go_table(**file).functions.at(0);
        EXPECT_EQ(f.resumed, resumed ? f.address + resumed : 0) << deferred;
    }
}

// Also one that has no bytes, and one that is alone.
TEST(Go, EachFunctionOfTheTable) {
    auto changed = [](Source source, const std::string& number, const std::string& entries) {
        std::string text = text_of(source);
        text.replace(text.find(".quad 2, 0"), 10, ".quad " + number + ", 0");
        const std::string own =
            ".long .Lf - .Lf, .Lfirst - .Ltable, .Lg - .Lf, .Lsecond - .Ltable, .Lend - .Lf";
        text.replace(text.find(own), own.size(), ".long " + entries);
        return Program::assembled(text);
    };
    const Program empty = changed({}, "3",
                                  "0, .Lfirst - .Ltable, .Lg - .Lf, .Lfirst - .Ltable, "
                                  ".Lg - .Lf, .Lsecond - .Ltable, .Lend - .Lf");
    const auto file = ElfFile::open(empty.path());
    const regions::GoTable table = regions::read_go_table(**file);
    ASSERT_EQ(table.functions.size(), 3U);
    EXPECT_EQ(table.functions[1].size, 0U);
    EXPECT_EQ(table.functions[2].name, "main.g");
    EXPECT_EQ(table.functions[2].size, 4U);
    EXPECT_EQ(table.at(table.functions[2].address)->name, "main.g");
    EXPECT_EQ(table.at(table.functions[2].address + 3)->name, "main.g");
    EXPECT_FALSE(table.at(table.functions[2].address + 4));
    EXPECT_FALSE(table.at(table.functions[0].address - 1));
    // As many as the table says it has.
    const Program first =
        changed({}, "1", "0, .Lfirst - .Ltable, .Lg - .Lf, .Lsecond - .Ltable, .Lend - .Lf");
    EXPECT_EQ(regions::read_go_table(**ElfFile::open(first.path())).functions.size(), 1U);
    // What is known of its pointers.
    Source source;
    source.code = "test %al, (%rax)\n mov 8(%rax), %rcx\n nopl 0(%rax)\n ret\n";
    const Program alone = changed(source, "1", "0, .Lfirst - .Ltable, .Lend - .Lf");
    const Analyzed analysis(alone.path());
    EXPECT_EQ(analysis->functions().size(), 1U);
    EXPECT_EQ(analysis.reason("p"), "go-fault");
    EXPECT_TRUE(analysis->place(analysis.place("p").address + 2)->safe());
}

// Each goroutine's first function returns to the byte behind the entry of this one.
TEST(Go, TheBottomOfTheStack) {
    Source source;
    source.code = "nop\n mov %rdi, %rax\n ret\n";
    for (const auto& [name, entered] :
         {std::pair("main.f", false), {"runtime.goexit", true}, {"runtime.goexit.abi0", true}}) {
        source.name = name;
        const Program program = Program::assembled(text_of(source));
        const auto file = ElfFile::open(program.path());
        const regions::GoTable table = regions::read_go_table(**file);
        ASSERT_EQ(table.functions.size(), 2U);
        EXPECT_EQ(table.functions[0].resumed, entered ? table.functions[0].address + 1 : 0) << name;
        const Analyzed analysis(program.path());
        EXPECT_EQ(analysis.reason("f") == "deferred", entered) << name;
    }
}

// The runtime unwinds the stack from a fault, and knows only addresses of the table.
TEST(Go, FaultsElsewhere) {
    auto of = [](const std::string& instruction) {
        Source source;
        source.code = instruction + "\n nopl 0(%rax)\n nopl 0(%rax)\n ret\n";
        return reason(source);
    };
    EXPECT_EQ(of("mov (%rax), %rcx"), "go-fault");
    EXPECT_EQ(of("mov %rcx, 8(%rax)"), "go-fault");
    EXPECT_EQ(of("test %al, (%rax)"), "go-fault");
    EXPECT_EQ(of("mov 16(%rsp, %rax, 8), %rcx"), "go-fault");
    EXPECT_EQ(of("rep stosq"), "go-fault");
    EXPECT_EQ(of("mov %gs:(%rax), %rcx"), "go-fault");
    EXPECT_EQ(of("mov %fs:(%rax), %rcx"), "go-fault");
    EXPECT_EQ(of("mov 16(%rsp), %rcx"), "");
    EXPECT_EQ(of("mov p(%rip), %rcx"), "");
    EXPECT_EQ(of("lea 8(%rax), %rcx"), "");
    EXPECT_EQ(of("push %rax"), "");
    EXPECT_EQ(of("pop %rax"), "");
    EXPECT_EQ(of("cmp 16(%r14), %rsp"), "");
    EXPECT_EQ(of("cmp 24(%r14), %rsp"), "go-fault");
    // Not executed.
    EXPECT_EQ(of("ret\n mov (%rax), %rcx"), "");
}

// A fault is a panic only in the first page.
TEST(Go, FaultsThatAreNoPanic) {
    auto behind = [](const std::string& before, const std::string& instruction,
                     const std::string& name = "main.f") {
        Source source;
        source.name = name;
        return ::behind(source, before, instruction);
    };
    const std::string load = "mov 8(%rax), %rcx";
    EXPECT_EQ(behind("nop", load), "go-fault");
    EXPECT_EQ(behind("test %al, (%rax)", load), "");
    EXPECT_EQ(behind("mov 4095(%rax), %rdx", load), "");
    EXPECT_EQ(behind("mov %rdx, (%rax)", load), "");
    EXPECT_EQ(behind("movups (%rax), %xmm0", load), "");
    EXPECT_EQ(behind("movzbl (%rax), %edx", load), "");
    EXPECT_EQ(behind("mov %rdx, (%rax)\n mov %rdx, 16(%rax)", load), "");
    // Another register's value, and the sums of registers, say nothing.
    EXPECT_EQ(behind("mov (%rdx), %rbx", load), "go-fault");
    EXPECT_EQ(behind("mov (%rax,%rdx), %rbx", load), "go-fault");
    EXPECT_EQ(behind("mov (%rax), %rbx", "mov 8(%rax,%rdx), %rcx"), "go-fault");
    EXPECT_EQ(behind("mov 4096(%rax), %rdx", load), "go-fault");
    EXPECT_EQ(behind("mov -8(%rax), %rdx", load), "go-fault");
    EXPECT_EQ(behind("mov (%rax), %rdx", "mov 4096(%rax), %rcx"), "go-fault");
    EXPECT_EQ(behind("mov (%rax), %rdx", "mov -1(%rax), %rcx"), "go-fault");
    EXPECT_EQ(behind("mov %gs:(%rax), %rdx", load), "go-fault");
    EXPECT_EQ(behind("mov (%eax), %edx", load), "go-fault");
    // The value changes.
    for (const char* change :
         {"xor %eax, %eax", "mov $1, %al", "mov $1, %ah", "mov (%rax), %rax", "pop %rax",
          "xchg %rax, %rbx", "cmove %rbx, %rax", "add $8, %rax", "mul %rbx", "cpuid", "syscall",
          "call f", "lea 8(%rbx), %rax", "xadd %rax, (%rbx)", "movabs 0x401000, %al"})
        EXPECT_EQ(behind(std::string("mov (%rax), %rdx\n") + change, load), "go-fault") << change;
    EXPECT_EQ(behind("mov (%rdi), %rdx\n stosb", "mov 8(%rdi), %rcx"), "go-fault");
    // These access nothing, or perhaps nothing.
    for (const char* access : {"prefetcht0 (%rax)", "prefetchw (%rax)", "nopl (%rax)",
                               "lea (%rax), %rdx", "vmaskmovps (%rax), %xmm1, %xmm2"})
        EXPECT_EQ(behind(access, load), "go-fault") << access;
    // Another way leads there.
    EXPECT_EQ(behind("je .Lplace\n mov (%rax), %rdx", load), "go-fault");
    EXPECT_EQ(behind("mov (%rax), %rdx\n xor %eax, %eax\n je .Lplace\n mov (%rax), %rdx", load),
              "go-fault");
    // It is known on all ways.
    EXPECT_EQ(behind("mov (%rax), %rdx\n je .Lplace\n nop", load), "");
    EXPECT_EQ(behind("je .L1\n mov (%rax), %rdx\n jmp .Lplace\n.L1: mov 8(%rax), %rdx", load), "");
    EXPECT_EQ(behind("mov (%rax), %rdx\n.L1: nop", load + "\n jne .L1"), "");
    EXPECT_EQ(behind("mov (%rax), %rdx\n.L1: nop", load + "\n mov (%rbx), %rax\n jne .L1"),
              "go-fault");
    EXPECT_EQ(behind("mov (%rax), %rdx\n ret", load), "go-fault");
    // Copies, and addresses in what is there.
    EXPECT_EQ(behind("mov (%rbx), %rdx\n mov %rbx, %rax", load), "");
    EXPECT_EQ(behind("mov (%rbx), %rdx\n lea 32(%rbx), %rax", load), "");
    EXPECT_EQ(behind("mov (%rbx), %rdx\n lea -32(%rbx), %rax", load), "go-fault");
    EXPECT_EQ(behind("mov (%rbx), %rdx\n mov %ebx, %eax", load), "go-fault");
    EXPECT_EQ(behind("lea 32(%rsp), %rax", load), "");
    EXPECT_EQ(behind("lea p(%rip), %rax", load), "");
    EXPECT_EQ(behind("lea 32(%rsp,%rbx), %rax", load), "go-fault");
    // Unless every fault may be a panic.
    EXPECT_EQ(behind("mov (%rax), %rdx", load, "runtime/debug.setPanicOnFault"), "go-fault");
}

// Its compiler looks for pointers that are nil by accesses less than a page above them.
TEST(Go, FaultsOfCompiledFunctions) {
    auto behind = [](const std::string& before, const std::string& instruction,
                     const std::string& other = "main.g") {
        Source source;
        source.flags = "0";
        source.other = other;
        return ::behind(source, before, instruction);
    };
    const std::string load = "mov 8(%rax), %rcx";
    EXPECT_EQ(behind("nop", load), "go-fault");
    EXPECT_EQ(behind("nop", "mov 8(%rax,%rbx), %rcx"), "");
    EXPECT_EQ(behind("nop", "mov 4096(%rax), %rcx"), "");
    EXPECT_EQ(behind("nop", "mov -8(%rax), %rcx"), "go-fault");
    EXPECT_EQ(behind("nop", "mov %fs:8(%rax,%rbx), %rcx"), "go-fault");
    // The goroutine.
    EXPECT_EQ(behind("nop", "mov 48(%r14), %rcx"), "");
    EXPECT_EQ(behind("call .Lg", "mov 48(%r14), %rcx"), "");
    // A pointer that is not nil.
    EXPECT_EQ(behind("test %rax, %rax\n je .Lf", load), "");
    EXPECT_EQ(behind("test %rax, %rax\n jne .Lplace\n ret", load), "");
    EXPECT_EQ(behind("test %rax, %rax\n jne .Lf", load), "go-fault");
    EXPECT_EQ(behind("test %rax, %rax\n je .Lplace\n ret", load), "go-fault");
    EXPECT_EQ(behind("test %rbx, %rbx\n je .Lf", load), "go-fault");
    EXPECT_EQ(behind("test %rbx, %rax\n je .Lf", load), "go-fault");
    EXPECT_EQ(behind("test %eax, %eax\n je .Lf", load), "go-fault");
    EXPECT_EQ(behind("test %rax, %rax\n js .Lf", load), "go-fault");
    EXPECT_EQ(behind("test %rax, %rax\n.L1: je .Lf", load + "\n jne .L1"), "go-fault");
    // Calls.
    EXPECT_EQ(behind("call .Lg", load), "go-fault");
    EXPECT_EQ(behind("call .Lg", load, "runtime.newobject"), "");
    EXPECT_EQ(behind("call .Lg", "mov 8(%rbx), %rcx", "runtime.newobject"), "go-fault");
    EXPECT_EQ(behind("mov (%rax), %rbx\n call .Lg", load, "runtime.gcWriteBarrier"), "");
    EXPECT_EQ(behind("mov (%rax), %rbx\n call .Lg", load, "main.gcWriteBarrier"), "go-fault");
}

// What a closure has captured is in memory; a function reads it only if it is one.
TEST(Go, TheContextOfAClosure) {
    auto at_entry = [](const std::string& first, const std::string& code = "ret",
                       const std::string& other = "main.g", const std::string& flags = "0") {
        Source source;
        source.first = first + "\n nopl 0(%rax,%rax)";
        source.code = code + "\n";
        source.other = other;
        source.flags = flags;
        const Program program = Program::assembled(text_of(source));
        return Analyzed(program.path()).reason("f");
    };
    const std::string load = "mov 8(%rdx), %rcx", slow = "je .L2\n ret\n.L2: call .Lg\n jmp .Lf";
    EXPECT_EQ(at_entry(load), "");
    EXPECT_EQ(at_entry("mov 8(%rax), %rcx"), "go-fault");
    for (const char* reg : {"rax", "rcx", "rdx", "rbx", "rbp", "rsi", "rdi", "r8", "r13", "r14"})
        EXPECT_EQ(at_entry("mov 8(%" + std::string(reg) + "), %r9", "ret", "main.g", "4"),
                  "go-fault")
            << reg;
    EXPECT_EQ(at_entry(load, slow), "go-fault");
    EXPECT_EQ(at_entry(load, slow, "runtime.morestack"), "");
}

// Where the second jump of a room is, the runtime must do what it would do at the place.
TEST(Go, Rooms) {
    auto of = [](Source source) {
        source.code = "cltq\n.Linside: mov $1, %eax\n mov $2, %ecx\n je .Linside\n ret\n";
        return reason_at_p(text_of(source), {}, regions::Model::Short);
    };
    // The function's 18 bytes; the second jump is 9 behind its entry.
    Source source;
    EXPECT_EQ(of(source), "jump");
    source.flags = "0";
    EXPECT_EQ(of(source), "");
    source.magic = "0xfffffff0";
    EXPECT_EQ(of(source), "");
    auto with = [&](std::string Source::* table, const std::string& numbers) {
        Source other = source;
        other.*table = numbers;
        return of(other);
    };
    EXPECT_EQ(with(&Source::stack, "2, 10, 16, 127, 0"), "");
    EXPECT_EQ(with(&Source::stack, "2, 9, 16, 127, 0"), "jump");
    EXPECT_EQ(with(&Source::stack, "2, 2, 16, 127, 0"), "");
    EXPECT_EQ(with(&Source::stack, "2, 3, 16, 127, 0"), "jump");
    EXPECT_EQ(with(&Source::stack, "2, 3, 0"), "jump"); // it ends
    EXPECT_EQ(with(&Source::stack, "2, 3, 0, 127, 0"), "jump");
    EXPECT_EQ(with(&Source::preemption, "0, 3, 0"), "jump");
    EXPECT_EQ(with(&Source::inlined, "0, 3, 0"), "jump");
    EXPECT_EQ(with(&Source::stack, "2, 2, 1, 127, 0"), ""); // it is one less
    EXPECT_EQ(with(&Source::stack, "0"), "jump");
    EXPECT_EQ(with(&Source::preemption, "1, 127, 0"), "");
    EXPECT_EQ(with(&Source::preemption, "1, 9, 2, 127, 0"), "jump");
    EXPECT_EQ(with(&Source::preemption, "3, 127, 0"), "jump"); // it restarts
    EXPECT_EQ(with(&Source::inlined, "2, 127, 0"), "");
    EXPECT_EQ(with(&Source::inlined, "2, 9, 2, 127, 0"), "jump");
    EXPECT_EQ(with(&Source::inlined, "2, 9, 1, 127, 0"), "jump");
}

// Another function may come with another pointer.
TEST(Go, JumpsOfOtherFunctions) {
    Source source;
    source.code = "test %al, (%rax)\n.Linside: mov 8(%rax), %rcx\n nopl 0(%rax)\n ret\n";
    auto safe = [&](const std::string& jump) {
        std::string text = text_of(source);
        const std::string other = ".Lg: mov %rdi, %rax\n";
        text.replace(text.find(other), other.size(), ".Lg: " + jump + "\n");
        const Program program = Program::assembled(text);
        const Analyzed analysis(program.path());
        return analysis->place(analysis.place("p").address + 2)->reason == regions::Reason::None;
    };
    EXPECT_TRUE(safe("mov %rdi, %rax"));
    EXPECT_FALSE(safe("je .Linside"));
}

// The next function may begin where one ends: it has pointers, and jumps, of its own.
TEST(Go, FunctionsBesideEachOther) {
    // The reason at g + `offset`, where one of f and g is compiled and the other in assembler.
    auto reason_in_g = [](const std::string& g, uint64_t offset, bool compiled) {
        Source source;
        source.flags = compiled ? "4" : "0";
        std::string text = text_of(source);
        const std::string between = ".byte 0xcc, 0xcc, 0xcc, 0xcc\n    .balign 16, 0xcc\n"
                                    ".Lg: mov %rdi, %rax\n",
                          flags = ".byte 0, 4, 0, 0";
        text.replace(text.rfind(flags), flags.size(), compiled ? ".byte 0, 0, 0, 0" : flags);
        text.replace(text.find(between), between.size(), ".Lg: " + g + "\n");
        const Program program = Program::assembled(text);
        const Analyzed analysis(program.path());
        const regions::FunctionResult &f = analysis->functions().at(0),
                                      &found = analysis->functions().at(1);
        EXPECT_EQ(f.address + f.size, found.address);
        const auto place = analysis->place(found.address + offset);
        EXPECT_TRUE(place) << g;
        return std::string(place ? regions::reason_tag(place->reason) : "none");
    };
    const std::string sum = "mov 8(%rax,%rbx), %rcx",
                      first_jump = "je 1f\n ret\n1: mov 8(%rdx), %rcx\n nopl 0(%rax)";
    EXPECT_EQ(reason_in_g(sum, 0, true), "");
    EXPECT_EQ(reason_in_g(sum, 0, false), "go-fault");
    EXPECT_EQ(reason_in_g(first_jump, 3, true), "") << "it has the context of the entry";
    EXPECT_EQ(reason_in_g(first_jump, 3, false), "go-fault");
}

// Only a program of Go has such a table.
TEST(Go, AProgramThatIsNotOfGo) {
    Source source;
    source.section = ".data.rel.ro, \"aw\"";
    std::string text = text_of(source);
    text.replace(text.find(".go.buildinfo"), 13, ".no.buildinfo");
    const Program program = Program::assembled(text);
    const regions::GoTable table = regions::read_go_table(**ElfFile::open(program.path()));
    EXPECT_FALSE(table.found);
    EXPECT_FALSE(table.understood);
    EXPECT_TRUE(table.functions.empty());
}

TEST(Go, CodeOfOtherLanguages) {
    Source source;
    const std::string text = text_of(source) + R"(
    .text
    .globl other, q
    .type other, @function
other: xor %ecx, %ecx
q:  mov (%rax), %rcx
    mov (%rax), %rcx
    ret
    .size other, .-other
)";
    const Program program = Program::assembled(text);
    EXPECT_EQ(Analyzed(program.path()).reason("q"), "");
}

TEST(Go, ATableOfAnotherForm) {
    Source source;
    source.magic = "0xfffffffa";
    source.name = "main.f";
    const std::string text =
        text_of(source) + "    .text\n    .type f, @function\n    .size f, 14\n";
    EXPECT_EQ(reason_at_p(text), "go-table");
}

// The loader writes the address of the code into the table, which is among relocated data.
TEST(Go, AProgramThatIsLoadedAnywhere) {
    Source source;
    source.section = ".data.rel.ro, \"aw\"";
    source.deferred = ".Linside - .Lf";
    EXPECT_EQ(reason(source, {"-pie", "--no-dynamic-linker"}), "deferred");
    source.section += "\n.skip 4096";
    EXPECT_EQ(reason(source, {"-pie", "--no-dynamic-linker"}), "deferred");
    // Each magic number may be one that other data has by chance.
    source.section += "\n.rept 15\n.quad " + source.magic + "\n.endr";
    EXPECT_EQ(reason(source, {"-pie", "--no-dynamic-linker"}), "deferred");
}

TEST(Go, DamagedTables) {
    Source source;
    for (const char* broken : {".quad 2, 0", ".Ltable - .Lheader", ".long .Lf - .Lf"}) {
        std::string text = text_of(source);
        const size_t at = text.find(broken);
        ASSERT_NE(at, std::string::npos);
        text.replace(at, std::string_view(broken).size(),
                     std::string(broken).starts_with(".quad")   ? ".quad 0x7fffffffffffffff, 0"
                     : std::string(broken).starts_with(".long") ? ".long 0x7fffffff"
                                                                : "0x7fffffffffffffff");
        const Program program = Program::assembled(text);
        const auto file = ElfFile::open(program.path());
        EXPECT_LE(regions::read_go_table(**file).functions.size(), 2U);
    }
}
