// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/line_size.h"

#include <algorithm>

namespace djstap::regions {

namespace {

// The parameters that assemblers write into the header of a line program.
constexpr int64_t line_base = -5, line_range = 14, opcode_base = 13;
constexpr int64_t last_opcode = 255;
constexpr int64_t constant_advance =
    (last_opcode - opcode_base) / line_range; // DW_LNS_const_add_pc
constexpr uint64_t set_address_bytes = 11, end_sequence_bytes = 3, discriminator_bytes = 3;

uint64_t uleb_bytes(uint64_t value) {
    uint64_t bytes = 1;
    for (; value >= 0x80; value >>= 7)
        bytes++;
    return bytes;
}

uint64_t sleb_bytes(int64_t value) {
    uint64_t bytes = 1;
    for (; value < -0x40 || value >= 0x40; value >>= 7)
        bytes++;
    return bytes;
}

// The bytes of one row after another of the same sequence.
uint64_t row_bytes(const LineRow& before, const LineRow& row) {
    const auto distance = static_cast<int64_t>(row.address - before.address);
    if (row.end)
        return (distance ? 1 + uleb_bytes(static_cast<uint64_t>(distance)) : 0) +
               end_sequence_bytes;
    uint64_t bytes = 0;
    if (row.file != before.file)
        bytes += 1 + uleb_bytes(row.file);
    if (row.column != before.column)
        bytes += 1 + uleb_bytes(row.column);
    if (row.discriminator)
        bytes += discriminator_bytes + uleb_bytes(row.discriminator);
    bytes += row.statement != before.statement;
    bytes += row.block;
    int64_t lines = int64_t{row.line} - int64_t{before.line};
    if (lines < line_base || lines >= line_base + line_range) {
        bytes += 1 + sleb_bytes(lines);
        lines = 0;
    }
    auto fits = [&](int64_t addresses) {
        return addresses >= 0 &&
               opcode_base + (lines - line_base) + line_range * addresses <= last_opcode;
    };
    if (fits(distance))
        return bytes + 1;
    if (fits(distance - constant_advance))
        return bytes + 2;
    return bytes + 1 + uleb_bytes(static_cast<uint64_t>(distance)) + 1;
}

} // namespace

uint64_t encoded_size(const std::vector<LineRow>& rows) {
    uint64_t bytes = 0;
    LineRow before;
    bool begins = true;
    for (const LineRow& row : rows) {
        if (begins) {
            before = {};
            before.file = before.line = 1;
            before.statement = true;
            before.address = row.address;
            bytes += set_address_bytes;
        }
        bytes += row_bytes(before, row);
        before = row;
        begins = row.end;
    }
    return bytes;
}

std::vector<LineRow> with_blocks(const std::vector<LineRow>& rows,
                                 const std::vector<Leader>& leaders) {
    auto from = [&](uint64_t address) {
        return std::lower_bound(leaders.begin(), leaders.end(), address,
                                [](const Leader& a, uint64_t b) { return a.address < b; });
    };
    std::vector<LineRow> out;
    out.reserve(rows.size() + leaders.size());
    for (size_t i = 0; i < rows.size(); i++) {
        const bool first = i == 0 || rows[i - 1].end;
        // libdw leaves out some ends of sequences: a row may follow one of another function.
        auto leader = first ? leaders.end() : from(rows[i - 1].address + 1);
        for (; leader != leaders.end() && leader->address < rows[i].address &&
               leader->function <= rows[i - 1].address;
             ++leader) {
            LineRow added = out.back();
            added.address = leader->address;
            added.discriminator = 0;
            added.block = true;
            out.push_back(added);
        }
        out.push_back(rows[i]);
        const bool repeats = !first && rows[i - 1].address == rows[i].address;
        const auto here = from(rows[i].address);
        if (!rows[i].end && !repeats)
            out.back().block = here != leaders.end() && here->address == rows[i].address;
    }
    return out;
}

} // namespace djstap::regions
