// SPDX-License-Identifier: GPL-2.0-or-later
// Functions, totals, and files that cannot be analyzed.
#include "program.h"

#include <algorithm>
#include <elf.h>

using namespace djstap;
using namespace djstap::test;

namespace {

const std::string two_functions = R"(
    .text
    .globl f
    .type f, @function
f:  .cfi_startproc
    xor %ecx, %ecx
    mov %rcx, %rdx
    ret
    .cfi_endproc
    .size f, .-f
    .balign 16
    .type one, @function
one: .cfi_startproc
    ret
    .cfi_endproc
    .size one, .-one
    .balign 16
    .type g, @function
g:  .cfi_startproc
    test %rdi, %rdi
    je .Lback
    mov %esi, %eax
.Lback:
    mov %eax, %edx
    mov %edx, %ecx
    mov %ecx, %ebx
    ret
    .cfi_endproc
    .size g, .-g
    .skip 8, 0xcc
    .globl end
end:
)";

Failure failure_of(std::string bytes) {
    auto file = ElfFile::hold(std::move(bytes), "input");
    if (!file)
        return file.failure();
    auto analysis = regions::Analysis::of(**file, {});
    return analysis ? Failure{} : analysis.failure();
}

std::string bytes_of(const Program& program) {
    auto bytes = read_file(program.path());
    EXPECT_TRUE(bytes);
    return bytes ? *bytes : "";
}

} // namespace

TEST(Analysis, CountsAsTheTalkDoes) {
    const Program program = Program::assembled(two_functions);
    const Analyzed analysis(program.path());
    const auto& functions = analysis->functions();
    ASSERT_EQ(functions.size(), 3U);
    EXPECT_EQ(functions[0].name, "f");
    EXPECT_EQ(functions[0].instructions, 3U);
    EXPECT_EQ(functions[1].instructions, 1U);
    EXPECT_EQ(functions[2].name, "g");
    EXPECT_EQ(functions[2].instructions, 7U);
    // The kernel's way leaves out what is less than a jump before the function's end; then there is
    // only space between functions.
    EXPECT_EQ(functions[0].by_kernel, 1U);
    EXPECT_EQ(functions[0].safe, 3U);
    EXPECT_EQ(functions[2].by_kernel, 3U);
    EXPECT_EQ(functions[2].safe, 5U);
    EXPECT_EQ(functions[2].reasons[static_cast<size_t>(regions::Reason::Jump)], 2U);
    const regions::Totals totals = analysis->totals();
    EXPECT_EQ(totals.functions, 2U); // not that of one instruction
    EXPECT_EQ(totals.instructions, 10U);
    EXPECT_DOUBLE_EQ(totals.percent(totals.by_kernel), 40);
    EXPECT_DOUBLE_EQ(totals.percent(totals.safe), 80);
    EXPECT_DOUBLE_EQ(totals.overall_gain_percent(), 40);
    EXPECT_DOUBLE_EQ(totals.average_gain_percent, 100 * (2.0 / 3 + 2.0 / 7) / 2);
    EXPECT_DOUBLE_EQ(regions::Totals().percent(0), 0); // of a file without code
}

TEST(Analysis, FindsFunctionsOfAStrippedProgram) {
    const Program program = Program::assembled(two_functions, {"--eh-frame-hdr"});
    program.strip();
    const Analyzed whole(program.path());
    const Analyzed stripped(program.path() + ".stripped");
    ASSERT_EQ(stripped->functions().size(), 3U);
    for (size_t i = 0; i < 3; i++) {
        EXPECT_EQ(stripped->functions()[i].address, whole->functions()[i].address);
        EXPECT_EQ(stripped->functions()[i].size, whole->functions()[i].size);
        EXPECT_EQ(stripped->functions()[i].safe, whole->functions()[i].safe);
        EXPECT_TRUE(stripped->functions()[i].name.starts_with("sub_"));
        EXPECT_EQ(stripped->function(stripped->functions()[i].name), i);
    }
}

TEST(Analysis, NamesPlaces) {
    const Program program = Program::assembled(two_functions);
    const Analyzed analysis(program.path());
    const uint64_t g = *analysis->address_of("g");
    EXPECT_EQ(analysis->describe(g), "g");
    EXPECT_EQ(analysis->describe(g + 3), "g+0x3");
    EXPECT_EQ(analysis->describe(16), "0x10");
    // A function has the bytes of its size.
    const uint64_t f = *analysis->address_of("f"), size = analysis->functions()[0].size;
    EXPECT_EQ(analysis->describe(f + size - 1), "f+0x5");
    EXPECT_FALSE(analysis->function_at(f + size));
    EXPECT_EQ(analysis->describe(f + size).substr(0, 2), "0x");
    EXPECT_FALSE(analysis->function_at(f - 1));
    EXPECT_FALSE(analysis->place(g + 1));
    EXPECT_FALSE(analysis->place(16));
    EXPECT_FALSE(analysis->function("h"));
    const auto places = analysis->places(*analysis->function("g"));
    ASSERT_EQ(places.size(), 7U);
    EXPECT_TRUE(places[0].leader);
    EXPECT_FALSE(places[1].leader);
    EXPECT_TRUE(places[3].leader);
}

// Threads judge them in parts.
TEST(Analysis, ManyFunctions) {
    // Each one's place p is before a target, the long jump behind it has room.
    const Program program = Program::assembled(R"(
    .text
    .altmacro
    .macro one id
    .globl f\id, p\id, room\id
    .type f\id, @function
f\id:
    test %eax, %eax
    je 1f
p\id: cltq
1:  nop
    jmp f\id
room\id:
    mov $1, %eax
    mov $2, %ecx
    ret
    .size f\id, .-f\id
    .skip 200, 0
    .endm
    .set count, 0
    .rept 513
    one %count
    .set count, count + 1
    .endr
)",
                                               {"-e", "f0"});
    const Analyzed analysis(program.path(), regions::Model::Short);
    ASSERT_EQ(analysis->functions().size(), 513U);
    for (const regions::FunctionResult& each : analysis->functions()) {
        EXPECT_EQ(each.instructions, 8U) << each.name;
        EXPECT_EQ(each.safe, analysis->functions()[0].safe) << each.name;
    }
    for (const char* number : {"0", "1", "254", "255", "256", "257", "511", "512"}) {
        const regions::Place place = analysis.place(std::string("p") + number);
        EXPECT_TRUE(place.safe()) << number;
        EXPECT_EQ(place.room, analysis->address_of(std::string("room") + number)) << number;
    }
}

// Without a size: up to the next symbol that is elsewhere.
TEST(Analysis, FunctionsOfAssemblers) {
    const Program program = Program::assembled(R"(
    .text
    .globl f, alias
    .type f, @function
    .type alias, @function
alias:
f:  mov $1, %eax
    ret
label: nop
    .type g, @function
g:  ret
    nop
)");
    const Analyzed analysis(program.path());
    ASSERT_EQ(analysis->functions().size(), 2U);
    EXPECT_EQ(analysis->functions()[0].size, 6U);
    EXPECT_EQ(analysis->functions()[1].size, 2U);
}

// Where a function is patched: behind a landing pad.
TEST(Analysis, Entries) {
    const Program program = Program::assembled(R"(
    .text
    .globl f, g
    .type f, @function
f:  mov $1, %eax
    mov $2, %eax
    ret
    .size f, .-f
    .type g, @function
g:  endbr64
    mov $1, %eax
    ret
    .size g, .-g
)");
    const Analyzed analysis(program.path());
    const uint64_t f = *analysis->address_of("f"), g = *analysis->address_of("g");
    EXPECT_EQ(analysis->entry(f)->address, f);
    EXPECT_EQ(analysis->entry(g)->address, g + 4);
    EXPECT_TRUE(analysis->entry(g)->safe());
    EXPECT_FALSE(analysis->entry(f + 1));
    EXPECT_FALSE(analysis->entry(1));
    EXPECT_TRUE(analysis->functions()[0].entry_safe);
    EXPECT_TRUE(analysis->functions()[1].entry_safe);
    EXPECT_EQ(analysis->totals().entries_safe, 2U);
    // Whoever jumps into it, or what is one byte too short, forbids it.
    for (const char* body :
         {"mov %edi, %eax\n1: mov $2, %ecx\nje 1b\nret", "ud2\nmov $1, %eax\nret"}) {
        const Program other = Program::assembled(
            ".globl f\n.type f, @function\nf: " + std::string(body) + "\n.size f, .-f\n");
        const Analyzed unsafe(other.path());
        EXPECT_FALSE(unsafe->functions()[0].entry_safe) << body;
        EXPECT_EQ(unsafe->totals().entries_safe, 0U) << body;
    }
}

// Of a place that is not one of the analysis: only instructions have bytes.
TEST(Analysis, ReplacedBytesAreThoseOfInstructions) {
    const Program program = Program::assembled(
        ".globl f\n.type f, @function\nf: mov $1, %eax\n.byte 0x06\nret\n.size f, .-f\n");
    const Analyzed analysis(program.path());
    regions::Place place = analysis.place("f");
    place.region = 5;
    EXPECT_EQ(analysis->replaced_bytes(place).bytes, std::string("\xb8\1\0\0\0", 5));
    place.region = 6;
    EXPECT_EQ(analysis->replaced_bytes(place).bytes, "");
    place.address = 1;
    EXPECT_EQ(analysis->replaced_bytes(place).bytes, "");
}

TEST(Analysis, SaysTheSameInOneThread) {
    const Program program = Program::assembled(two_functions);
    auto file = ElfFile::open(program.path());
    ASSERT_TRUE(file);
    auto one = regions::Analysis::of(**file, {regions::Model::Kernel, 1});
    auto many = regions::Analysis::of(**file, {regions::Model::Kernel, 8});
    ASSERT_TRUE(one && many);
    EXPECT_EQ(one->totals().safe, many->totals().safe);
    EXPECT_EQ(one->totals().by_kernel, many->totals().by_kernel);
}

TEST(Analysis, RefusesOtherFiles) {
    const std::string whole = bytes_of(Program::assembled(two_functions));
    ASSERT_GT(whole.size(), sizeof(Elf64_Ehdr));
    EXPECT_EQ(failure_of(whole).message, "");
    EXPECT_NE(failure_of("text").message.find("is not a 64-bit"), std::string::npos);
    EXPECT_NE(failure_of(whole.substr(0, whole.size() / 2)).message.find("truncated"),
              std::string::npos);
    std::string changed = whole;
    changed[EI_CLASS] = ELFCLASS32;
    EXPECT_NE(failure_of(changed).message.find("is not a 64-bit"), std::string::npos);
    changed = whole;
    changed[offsetof(Elf64_Ehdr, e_machine)] ^= 1;
    EXPECT_NE(failure_of(changed).message.find("is not a 64-bit"), std::string::npos);
    changed = whole;
    changed[offsetof(Elf64_Ehdr, e_type)] = ET_REL;
    EXPECT_NE(failure_of(changed).message.find("is not a linked"), std::string::npos);
}

TEST(Analysis, RefusesAFileWithoutCode) {
    const Program program = Program::assembled(".data\n.globl f\nf: .quad 0\n");
    EXPECT_NE(failure_of(bytes_of(program)).message.find("contains no code"), std::string::npos);
}

TEST(Analysis, RefusesOverlappingCode) {
    const Program program = Program::assembled(two_functions + "\n.section .more, \"ax\"\nret\n");
    std::string bytes = bytes_of(program);
    Elf64_Ehdr header;
    memcpy(&header, bytes.data(), sizeof header);
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        char* const at = bytes.data() + header.e_shoff + i * sizeof section;
        memcpy(&section, at, sizeof section);
        if (section.sh_flags & SHF_EXECINSTR)
            section.sh_addr = 0x1000;
        memcpy(at, &section, sizeof section);
    }
    EXPECT_NE(failure_of(bytes).message.find("overlap"), std::string::npos);
}

TEST(Regions, Progress) {
    const Program program = Program::assembled(entered_region(""));
    const auto file = ElfFile::open(program.path());
    ASSERT_TRUE(file);
    regions::Options options{regions::Model::Short, 1};
    std::vector<double> shares;
    options.progress = [&](double share) { shares.push_back(share); };
    ASSERT_TRUE(regions::Analysis::of(**file, options));
    ASSERT_GE(shares.size(), 3U); // decoding, rooms, verdicts
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
    EXPECT_GE(shares.front(), 0);
    EXPECT_LE(shares.back(), 1);
}
