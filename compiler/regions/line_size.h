// SPDX-License-Identifier: GPL-2.0-or-later
// How many bytes rows take in a line program.
#pragma once
#include "debuginfo/line_rows.h"

#include <cstdint>
#include <vector>

namespace djstap::regions {

// Returns the bytes of the instructions, as an assembler chooses them; without headers.
uint64_t encoded_size(const std::vector<LineRow>& rows);

// Where control may enter, and where the function around it begins.
struct Leader {
    uint64_t address = 0, function = 0;
};

// Returns the rows with a basic_block row at each of these addresses, which are sorted: that of the
// address, or a new one behind a row of the same function.
std::vector<LineRow> with_blocks(const std::vector<LineRow>& rows,
                                 const std::vector<Leader>& leaders);

} // namespace djstap::regions
