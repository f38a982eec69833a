// SPDX-License-Identifier: GPL-2.0-or-later
// The header of a line program: .debug_line of DWARF 2 to 5 (DWARF 5, 6.2.4). The sections may
// contain anything; what is read has a bounded size.
#pragma once
#include "system/byte_reader.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace djstap::lines {

// The sections that contain strings, uncompressed.
struct Strings {
    std::string_view line_strings; // .debug_line_str
    std::string_view strings;      // .debug_str
};

// The longest path that is read; of a longer one this much and a byte more.
constexpr size_t most_path_bytes = 4096;

// Returns the text at an offset of a section of strings, of which no more is read than a path may
// have: whoever names it again and again must not have all of the section searched for its end.
std::string_view text_at(std::string_view strings, uint64_t offset);

// One contribution to .debug_line: a header, and the program behind it.
struct Unit {
    std::string_view bytes;
    bool is_64_bit = false; // the format of DWARF, not of the machine
};

// Takes the next unit from the section, which is bad if it has no such length.
Unit take_unit(ByteReader& section);

struct File {
    std::string_view name;
    uint64_t folder = 0; // its number in `folders`
};

struct Header {
    unsigned version = 0;
    uint8_t least_instruction = 1; // bytes
    int8_t line_base = 0;
    uint8_t line_range = 1; // not 0
    unsigned first_special = 1;
    std::vector<uint8_t> operands; // of the standard opcodes, from opcode 1 on
    // Before DWARF 5 the first folder, that of the unit, and the first file, which no row refers
    // to, are not in the header and empty here.
    std::vector<std::string_view> folders;
    std::vector<File> files;
    std::string_view program;

    // Returns nothing if the header is damaged or of another version.
    static std::optional<Header> read(const Unit& unit, const Strings& strings);
};

} // namespace djstap::lines
