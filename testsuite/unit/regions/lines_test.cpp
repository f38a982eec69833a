// SPDX-License-Identifier: GPL-2.0-or-later
// The line program beside the analysis.
#include "program.h"

#include "regions/line_size.h"

using namespace djstap;
using namespace djstap::test;
using regions::encoded_size;
using regions::Leader;
using regions::with_blocks;

namespace {

// A jump that no rule explains; `marks` is behind the .loc of .Lcase.
std::string unexplained(const std::string& marks) {
    return R"(
    .file 1 "f.c"
    .text
    .globl f, p, q
    .type f, @function
f:  .loc 1 1
    push %rbx
    mov %rdi, %rax
    jmp *%rsi
    .loc 1 2
p:  mov %rdi, %rax
    .loc 1 3)" +
           marks + R"(
.Lcase:
    mov %rsi, %rbx
    mov %rcx, %rdx
q:  mov %rcx, %rdx
    mov %rcx, %rdx
    pop %rbx
    ret
    .size f, .-f
)";
}

// A switch by a table; the case behind p has a row only if `row` is one.
std::string with_table(const std::string& row) {
    return R"(
    .file 1 "f.c"
    .text
    .globl f, p
    .type f, @function
f:  .loc 1 1
    jmp *table(,%rdi,8)
    .loc 1 2
p:  mov %rdi, %rax
    )" + row +
           R"(
.Lcase:
    mov %rsi, %rdx
    mov %rcx, %rdx
    ret
    .size f, .-f
    .section .rodata
    .balign 8
table: .quad .Lcase, .Lcase
)";
}

regions::LineCheck checked(const std::string& text) {
    const Program program = Program::assembled(text);
    const Analyzed analysis(program.path());
    const auto rows = read_line_rows(program.path());
    EXPECT_TRUE(rows) << "no rows";
    return rows && analysis.ok() ? analysis->check_lines(*rows) : regions::LineCheck{};
}

LineRow row(uint64_t address, uint32_t line) {
    LineRow made;
    made.address = address;
    made.file = 1;
    made.line = line;
    made.statement = true;
    return made;
}

LineRow end(uint64_t address) {
    LineRow made = row(address, 1);
    made.end = true;
    return made;
}

constexpr uint64_t sequence_bytes = 11 + 1 + 1 + 3; // set_address, advance_pc, its number, the end

} // namespace

TEST(Lines, BasicBlockRowsExplainAJump) {
    EXPECT_EQ(reason_at_p(unexplained("")), "unknown-targets");
    EXPECT_EQ(reason_at_p(unexplained(" basic_block")), "basic-block");
    const Program program = Program::assembled(unexplained(" basic_block"));
    const Analyzed analysis(program.path());
    EXPECT_EQ(analysis.reason("q"), "");
    EXPECT_TRUE(analysis->unknown_jumps().empty());
}

TEST(Lines, ATableTargetWithoutARowIsReported) {
    const regions::LineCheck without = checked(with_table(""));
    ASSERT_EQ(without.tables.size(), 1U);
    EXPECT_EQ(without.all.missed, 1U);
    EXPECT_EQ(without.all.unsafe, 1U);
    EXPECT_EQ(without.leaders, 3U);
    EXPECT_TRUE(checked(with_table(".loc 1 3")).tables.empty());
}

TEST(Lines, WhatEachKindOfRowYields) {
    const regions::LineCheck check = checked(with_table(".loc 1 3 is_stmt 0"));
    EXPECT_EQ(check.all.rows, 3U);
    EXPECT_EQ(check.all.missed, 0U);
    EXPECT_EQ(check.all.unsafe, 0U);
    EXPECT_EQ(check.statements.rows, 2U);
    EXPECT_EQ(check.statements.missed, 1U);
    EXPECT_EQ(check.statements.unsafe, 1U);
    EXPECT_EQ(check.statements.planted, check.all.planted + 1);
    EXPECT_EQ(check.blocks.rows, 0U);
    EXPECT_EQ(check.blocks.missed, 3U);
    EXPECT_EQ(checked(with_table(".loc 1 3 basic_block")).blocks.missed, 2U);
}

TEST(Lines, TheSizeOfRows) {
    EXPECT_EQ(encoded_size({}), 0U);
    EXPECT_EQ(encoded_size({row(0x1000, 1), end(0x1004)}), sequence_bytes + 1);
    EXPECT_EQ(encoded_size({row(0x1000, 1), end(0x1000)}), sequence_bytes + 1 - 2);
    EXPECT_EQ(encoded_size({row(0x1000, 1), end(0x1080)}), sequence_bytes + 1 + 1);
    // A special opcode, one behind const_add_pc, advance_pc, advance_line.
    EXPECT_EQ(encoded_size({row(0x1000, 1), row(0x1010, 1), end(0x1014)}), sequence_bytes + 2);
    EXPECT_EQ(encoded_size({row(0x1000, 1), row(0x1021, 1), end(0x1024)}), sequence_bytes + 3);
    EXPECT_EQ(encoded_size({row(0x1000, 1), row(0x1040, 1), end(0x1044)}), sequence_bytes + 4);
    EXPECT_EQ(encoded_size({row(0x1000, 1), row(0x1001, 200), end(0x1004)}), sequence_bytes + 5);
    LineRow other = row(0x1001, 1);
    other.statement = false;
    other.column = 200;
    other.discriminator = 3;
    EXPECT_EQ(encoded_size({row(0x1000, 1), other, end(0x1004)}), sequence_bytes + 2 + 1 + 3 + 4);
}

// The encoding is the assembler's: for a file of rows without columns, to the byte.
TEST(Lines, TheSizeIsTheAssemblers) {
    auto text = [](int functions) {
        std::string made = "    .file 1 \"f.c\"\n    .text\n    .globl f\nf:\n";
        for (int i = 1; i <= functions; i++)
            made += "    .loc 1 " + std::to_string(i * i % 97 + 1) + "\n    mov $" +
                    std::to_string(i) + ", %eax\n    .skip " + std::to_string(i * 7 % 90 + 1) +
                    ", 0x90\n";
        return made;
    };
    auto sizes = [&](int functions) {
        const Program program = Program::assembled(text(functions));
        const auto rows = read_line_rows(program.path());
        const auto file = ElfFile::open(program.path());
        return std::pair((*file)->section(".debug_line")->size, encoded_size(*rows));
    };
    const auto few = sizes(3), many = sizes(400);
    EXPECT_GT(many.second, 800U);
    EXPECT_EQ(many.first - few.first, many.second - few.second);
}

// A row at a time: each number that changes the form of an instruction, and the next one. A line
// that is written in an opcode of its own with the distance is from 5 less to 8 more.
TEST(Lines, TheSizeOfEachRowIsTheAssemblers) {
    // `more` are rows behind the first one, and what they describe.
    auto sizes = [](const std::string& more) {
        const Program program = Program::assembled("    .file 1 \"f.c\"\n    .file 2 \"g.c\"\n"
                                                   "    .text\n    .globl f\nf:\n"
                                                   "    .loc 1 1000\n    nop\n" +
                                                   more);
        const auto rows = read_line_rows(program.path());
        const auto file = ElfFile::open(program.path());
        EXPECT_TRUE(rows && file);
        return std::pair((*file)->section(".debug_line")->size, encoded_size(*rows));
    };
    const auto base = sizes("");
    std::vector<std::string> all;
    auto add = [&](int distance, const std::string& loc) {
        all.push_back(".loc 1 1000\nnop\n.skip " + std::to_string(distance - 1) + ", 0x90\n.loc " +
                      loc + "\nnop\n");
    };
    for (const int line : {-1000 + 1, -66, -65, -64, -63, -6, -5, -4, -1,   0,   1,
                           7,         8,   9,   10,  62,  63, 64, 65, 8000, 9000})
        for (const int distance : {2, 3})
            add(distance, "1 " + std::to_string(1000 + line));
    for (const int distance : {15, 16, 17, 18, 19, 32, 33, 34, 35, 36, 127, 128, 129, 16383, 16384})
        for (const int line : {-5, -4, -3, -2, -1, 0, 1, 2, 3, 8, 20})
            add(distance, "1 " + std::to_string(1000 + line));
    for (const int column : {1, 127, 128, 129, 16383, 16384})
        add(3, "1 1000 " + std::to_string(column));
    for (const int discriminator : {1, 127, 128, 129, 16383, 16384})
        add(3, "1 1001 discriminator " + std::to_string(discriminator));
    for (const char* loc : {"2 1000", "2 1001", "1 1000 basic_block", "1 1001 is_stmt 0"})
        add(3, loc);
    std::string together;
    for (const std::string& each : all) {
        together += each;
    }
    const auto whole = sizes(together);
    EXPECT_GT(whole.second, base.second + 500);
    EXPECT_EQ(whole.first - base.first, whole.second - base.second);
    // Those alone in which an error could be made up for by another's.
    for (const char* each :
         {".loc 1 999\nnop\n.skip 16, 0x90\n.loc 1 998\n", ".loc 1 1063\n", ".loc 1 1064\n",
          ".loc 1 936\n", ".loc 1 935\n", ".loc 1 1000 127\n", ".loc 1 1000 128\n",
          ".skip 126, 0x90\n.loc 1 1001\n", ".skip 127, 0x90\n.loc 1 1020\n"}) {
        const auto one = sizes(std::string(each) + "nop\n");
        EXPECT_EQ(one.first - base.first, one.second - base.second) << each;
    }
}

// Functions without rows, of one instruction, or that nobody can read.
TEST(Lines, OfFunctionsThatAreAsked) {
    const std::string others = R"(
    .text
    .type other, @function
other: .loc 1 10
    ret
    .size other, .-other
    .type data, @function
data: .loc 1 11
    nop
    .byte 0x06
    nop
    ret
    .size data, .-data
)";
    const std::string unmarked = R"(
    .text
    .type bare, @function
bare: test %edi, %edi
    je 1f
    mov %rdi, %rax
1:  ret
    .size bare, .-bare
)";
    const std::string text = with_table(".loc 1 3");
    const regions::LineCheck alone = checked(text), check = checked(unmarked + text + others);
    EXPECT_EQ(alone.instructions, 5U);
    EXPECT_EQ(check.instructions, 5U);
    EXPECT_EQ(check.safe, alone.safe);
    EXPECT_GT(check.safe, 0U);
    EXPECT_EQ(check.leaders, alone.leaders);
    EXPECT_EQ(check.all.missed, 0U);
    EXPECT_EQ(check.all.planted, alone.all.planted);
}

TEST(Lines, BlocksAtLeaders) {
    const std::vector<LineRow> rows{row(0x1000, 1), row(0x1010, 2), end(0x1020),
                                    row(0x2000, 9), row(0x2010, 9), end(0x2020)};
    const auto made =
        with_blocks(rows, {{0x1000, 0x1000}, {0x1008, 0x1000}, {0x1010, 0x1000}, {0x1800, 0x1800}});
    ASSERT_EQ(made.size(), rows.size() + 1);
    EXPECT_TRUE(made[0].block && made[1].block && made[2].block);
    EXPECT_EQ(made[1].address, 0x1008U);
    EXPECT_EQ(made[1].line, 1U);
    EXPECT_FALSE(made[4].block || made[5].block);
    // Each mark takes a byte, and the new row another one.
    EXPECT_EQ(encoded_size(made), encoded_size(rows) + 4);
    // A sequence whose end is missing.
    const auto open = with_blocks({row(0x1000, 1), row(0x9000, 2), end(0x9001)},
                                  {{0x1004, 0x1000}, {0x5000, 0x5000}});
    ASSERT_EQ(open.size(), 4U);
    EXPECT_EQ(open[1].address, 0x1004U);
}

// What the first source document found: no compiler of today writes basic_block rows, and other
// rows are no leaders.
TEST(Lines, OfACompiler) {
    const Program program = Program::compiled(
        "int f(int n) { switch (n) { case 0: return 7; case 1: return 9; case 2: return 4; case 3: "
        "return n; case 4: return 12345; case 5: return 17; default: return n / 3; } }\n"
        "int main(int n, char **v) { return f(n) + v[0][0]; }",
        "f.c", {"gcc", "-g", "-O2"});
    const Analyzed analysis(program.path());
    const auto rows = read_line_rows(program.path());
    ASSERT_TRUE(rows && analysis.ok());
    const regions::LineCheck check = analysis->check_lines(*rows);
    EXPECT_EQ(check.blocks.rows, 0U);
    EXPECT_GT(check.leaders, 3U);
    EXPECT_GT(check.all.rows, check.statements.rows);
    EXPECT_GT(check.encoded_with_blocks, check.encoded);
    EXPECT_LE(check.encoded_with_blocks, check.encoded + 8 * check.leaders);
}

TEST(Lines, NoLineProgram) {
    const Program program = Program::assembled(".globl f\nf: ret\n");
    EXPECT_FALSE(read_line_rows(program.path()));
    EXPECT_FALSE(read_line_rows("/nonexistent"));
}
