// SPDX-License-Identifier: GPL-2.0-or-later
// Where code is entered other than by direct jumps: jump tables, addresses in data, relocations.
#pragma once
#include "regions/decode.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace djstap::regions {

// Parts of the file whose addresses of code are no targets, as [first, end).
using AddressRanges = std::vector<std::pair<uint64_t, uint64_t>>;

// Marks what relocations and, in a file that is loaded where it was linked, the words of data point
// to. Skips what is stored in `excluded`.
void enter_by_data(Code& code, const AddressRanges& excluded);

// Marks what instructions name, and the entries of jump tables among it. Returns for each function
// whether a table that it names leads into it.
std::vector<bool> enter_by_tables(Code& code, const std::vector<FunctionRange>& functions,
                                  const std::vector<Naming>& named);

} // namespace djstap::regions
