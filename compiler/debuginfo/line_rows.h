// SPDX-License-Identifier: GPL-2.0-or-later
// All rows of a file's line programs.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace djstap {

struct LineRow {
    uint64_t address = 0;
    uint32_t file = 0, line = 0, column = 0, discriminator = 0;
    bool statement = false; // is_stmt: a debugger should stop here
    bool block = false;     // basic_block: control may enter here
    bool end = false;       // the first address behind a sequence
};

// Returns the rows, by address within each unit; nothing if the file has no line program of its
// own.
std::optional<std::vector<LineRow>> read_line_rows(const std::string& path);

// Returns the addresses of the basic_block rows of the units that contain one of these addresses.
std::vector<uint64_t> read_block_rows(const std::string& path, std::span<const uint64_t> inside);

} // namespace djstap
