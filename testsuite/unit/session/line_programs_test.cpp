// SPDX-License-Identifier: GPL-2.0-or-later
// What operations of line programs mean: DWARF 5, section 6.2.5.
#include "line_bytes.h"

#include <dwarf.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace djstap {
namespace {

constexpr char first_special_opcode =
    13; // the first special opcode: there are the 12 standard ones
constexpr uint64_t code_begin = 0x1000;

struct LineShape {
    char least_instruction = 1, first_special = first_special_opcode;
    std::string operands = std::string("\0\1\1\1\1\0\0\0\1\0\0\1", 12); // of standard opcodes
};

// A unit with the files /s/a.c, /s/b.c and /s/c.c. Special opcodes add -5 to 8 to the line.
std::string unit_with(const std::string& program, const LineShape& shape) {
    std::string header{shape.least_instruction, 1, 1, -5, 14, shape.first_special};
    header += shape.operands;
    header += std::string{1, DW_LNCT_path, DW_FORM_string, 1} + std::string("/s\0", 3);
    header += std::string{1, DW_LNCT_path, DW_FORM_string, 3} + std::string("a.c\0b.c\0c.c\0", 12);
    const std::string unit = number_bytes(uint16_t{5}) + std::string("\x08\0", 2) +
                             number_bytes(static_cast<uint32_t>(header.size())) + header + program;
    return number_bytes(static_cast<uint32_t>(unit.size())) + unit;
}

std::string set_address(uint64_t at) {
    return std::string("\0\x09\x02", 3) + number_bytes(at);
}

const std::string end_sequence("\0\x01\x01", 3), copy_row("\x01");
std::string advance_pc(char by) {
    return {DW_LNS_advance_pc, by};
}
std::string advance_line(char by) { // of one byte: -64 to 63
    return {DW_LNS_advance_line, static_cast<char>(by & 0x7f)};
}
std::string special_opcode(int addresses, int lines, int first = first_special_opcode) {
    return {static_cast<char>(first + addresses * 14 + lines + 5)};
}

// Where each address is, from `code_begin` on: "a:5 a:5 -".
std::string lines_of_program(const std::string& program, int addresses,
                             const LineShape& shape = {}) {
    const auto lines = lines_of(file_with(unit_with(program, shape), ""));
    if (!lines)
        return "no lines";
    std::string all;
    for (int i = 0; i < addresses; i++) {
        const auto place = lines->at(code_begin + static_cast<uint64_t>(i));
        EXPECT_TRUE(!place || (place->file.starts_with("/s/") && place->file.ends_with(".c")));
        all += (i ? " " : "") +
               (place ? place->file.substr(3, 1) + ":" + std::to_string(place->line) : "-");
    }
    return all;
}

TEST(LinePrograms, BeginAtLineOneOfTheSecondFile) {
    EXPECT_EQ(
        lines_of_program(set_address(code_begin) + copy_row + advance_pc(2) + end_sequence, 3),
        "b:1 b:1 -");
    EXPECT_EQ(
        lines_of_program(set_address(code_begin + 1) + copy_row + advance_pc(1) + end_sequence, 3),
        "- b:1 -");
    EXPECT_EQ(lines_of_program(set_address(code_begin) + copy_row + advance_pc(2), 3), "- - -")
        << "a sequence that has no end";
    EXPECT_EQ(lines_of_program("", 1), "-");
}

TEST(LinePrograms, AdvanceAddressesAndLines) {
    EXPECT_EQ(lines_of_program(set_address(code_begin) + advance_line(9) + copy_row +
                                   advance_pc(1) + advance_line(-3) + copy_row + advance_pc(2) +
                                   advance_line(63) + copy_row + advance_pc(1) + end_sequence,
                               5),
              "b:10 b:7 b:7 b:70 -");
    // More than a byte: 300 of each.
    EXPECT_EQ(lines_of_program(set_address(code_begin - 300) + "\x02\xac\x02" + "\x03\xac\x02" +
                                   copy_row + advance_pc(1) + end_sequence,
                               2),
              "b:301 -");
}

TEST(LinePrograms, SpecialOnesDoBothAndMakeARow) {
    EXPECT_EQ(lines_of_program(set_address(code_begin) + special_opcode(0, 8) +
                                   special_opcode(1, -5) + special_opcode(2, 0) +
                                   special_opcode(1, 1) + advance_pc(1) + end_sequence,
                               6),
              "b:9 b:4 b:4 b:4 b:5 -");
    EXPECT_EQ(
        lines_of_program(set_address(code_begin - 17) + "\xff" + advance_pc(1) + end_sequence, 2),
        "- -")
        << "the last one: 17 addresses, and a line before the first";
    EXPECT_EQ(lines_of_program(set_address(code_begin - 17) + advance_line(9) + "\xff" +
                                   advance_pc(1) + end_sequence,
                               2),
              "b:9 -");
}

TEST(LinePrograms, MayAdvanceAsTheLastSpecialOneDoes) {
    const std::string const_add_pc{DW_LNS_const_add_pc};
    EXPECT_EQ(lines_of_program(set_address(code_begin - 17) + const_add_pc + copy_row +
                                   advance_pc(1) + end_sequence,
                               2),
              "b:1 -");
}

TEST(LinePrograms, MayAdvanceByABareNumber) {
    const std::string fixed = std::string{DW_LNS_fixed_advance_pc} + number_bytes(uint16_t{0x102});
    EXPECT_EQ(lines_of_program(set_address(code_begin - 0x102) + fixed + copy_row + advance_pc(1) +
                                   end_sequence,
                               2),
              "b:1 -");
    // It is not counted in instructions, the others are.
    const LineShape four{4};
    EXPECT_EQ(lines_of_program(set_address(code_begin - 0x102) + fixed + copy_row + advance_pc(1) +
                                   end_sequence,
                               5, four),
              "b:1 b:1 b:1 b:1 -");
    EXPECT_EQ(lines_of_program(set_address(code_begin - 4 * 17) + std::string{DW_LNS_const_add_pc} +
                                   copy_row + special_opcode(1, 1) + advance_pc(1) + end_sequence,
                               9, four),
              "b:1 b:1 b:1 b:1 b:2 b:2 b:2 b:2 -");
}

TEST(LinePrograms, ChooseTheFile) {
    const auto of_file = [](char number) {
        return lines_of_program(set_address(code_begin) + std::string{DW_LNS_set_file, number} +
                                    copy_row + advance_pc(1) + end_sequence,
                                1);
    };
    EXPECT_EQ(of_file(0), "a:1");
    EXPECT_EQ(of_file(1), "b:1");
    EXPECT_EQ(of_file(2), "c:1");
    EXPECT_EQ(of_file(3), "-");
    EXPECT_EQ(of_file(127), "-");
}

TEST(LinePrograms, OtherOperationsChangeNothing) {
    const std::string others{DW_LNS_set_column,       77,
                             DW_LNS_negate_stmt,      DW_LNS_set_basic_block,
                             DW_LNS_set_prologue_end, DW_LNS_set_epilogue_begin,
                             DW_LNS_set_isa,          5};
    const std::string discriminator("\0\x02\x04\x05", 4), unknown("\0\x05\x80\x01\x01\x01\x01", 7);
    EXPECT_EQ(lines_of_program(set_address(code_begin) + others + discriminator + unknown +
                                   copy_row + advance_pc(1) + end_sequence,
                               2),
              "b:1 -");
    // Of a later version: the header tells how many numbers follow each.
    const LineShape later{1, 15, std::string("\0\1\1\1\1\0\0\0\1\0\0\1\2\3", 14)};
    const std::string unknown_ones("\x0d\x81\x01\x01\x0e\x01\x01\x80\x01", 9);
    EXPECT_EQ(lines_of_program(set_address(code_begin) + unknown_ones + copy_row +
                                   special_opcode(1, 2, 15) + advance_pc(1) + end_sequence,
                               3, later),
              "b:1 b:3 -");
}

TEST(LinePrograms, SequencesBeginAnew) {
    EXPECT_EQ(lines_of_program(set_address(code_begin) + std::string{DW_LNS_set_file, 2} +
                                   advance_line(4) + copy_row + advance_pc(1) + end_sequence +
                                   set_address(code_begin + 2) + copy_row + advance_pc(1) +
                                   end_sequence,
                               4),
              "c:5 - b:1 -");
}

// Where one ends and another begins, the begin counts, in whatever order they are.
TEST(LinePrograms, SequencesMayTouch) {
    const std::string first = set_address(code_begin) + copy_row + advance_pc(2) + end_sequence,
                      second = set_address(code_begin + 2) + advance_line(1) + copy_row +
                               advance_pc(1) + end_sequence;
    EXPECT_EQ(lines_of_program(first + second, 4), "b:1 b:1 b:2 -");
    EXPECT_EQ(lines_of_program(second + first, 4), "b:1 b:1 b:2 -");
}

// The linker writes 0 where it has left code out, and tables may say anything.
TEST(LinePrograms, SequencesOfNothingAreLeftOut) {
    const std::string good = set_address(code_begin + 1) + copy_row + advance_pc(1) + end_sequence;
    EXPECT_EQ(lines_of_program(
                  set_address(0) + copy_row + set_address(code_begin + 3) + end_sequence + good, 4),
              "- b:1 - -");
    EXPECT_EQ(lines_of_program(set_address(code_begin) + copy_row + set_address(code_begin) +
                                   end_sequence + good,
                               3),
              "- b:1 -");
    EXPECT_EQ(lines_of_program(set_address(code_begin) + copy_row + set_address(code_begin - 1) +
                                   end_sequence + good,
                               3),
              "- b:1 -");
    EXPECT_EQ(lines_of_program(end_sequence + good, 3), "- b:1 -");
}

TEST(LinePrograms, LinesHave31Bits) {
    const auto at_line = [](uint32_t line) {
        // A number of five groups of seven bits.
        std::string by{DW_LNS_advance_line};
        int64_t rest = static_cast<int32_t>(line - 1);
        for (int i = 0; i < 4; i++, rest >>= 7)
            by += static_cast<char>(rest | 0x80);
        by += static_cast<char>(rest & 0x7f);
        return lines_of_program(
            set_address(code_begin) + by + copy_row + advance_pc(1) + end_sequence, 1);
    };
    EXPECT_EQ(at_line(1), "b:1");
    EXPECT_EQ(at_line(0x7fffffff), "b:2147483647");
    EXPECT_EQ(at_line(0x80000000), "-");
    EXPECT_EQ(at_line(0xffffffff), "-");
    EXPECT_EQ(at_line(0), "-") << "there is no such line";
}

// Units follow one another; what cannot be read is one of them alone.
TEST(LinePrograms, OfSeveralUnitsEachHasItsFiles) {
    const std::string first = set_address(code_begin) + copy_row + advance_pc(1) + end_sequence,
                      second = set_address(code_begin + 1) + std::string{DW_LNS_set_file, 2} +
                               copy_row + advance_pc(1) + end_sequence;
    std::string unknown = unit_with("", {});
    unknown[4] = 6; // the version
    const auto lines =
        lines_of(file_with(unit_with(first, {}) + unknown + unit_with(second, {}), ""));
    ASSERT_TRUE(lines);
    EXPECT_EQ(lines->at(code_begin)->file, "/s/b.c");
    EXPECT_EQ(lines->at(code_begin + 1)->file, "/s/c.c");
}

} // namespace
} // namespace djstap
