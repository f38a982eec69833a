// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of a file, by its symbols, or by its unwind information (or that of Go) where
// symbols are missing.
#pragma once
#include "regions/code.h"
#include "regions/frames.h"
#include "regions/go_table.h"

#include <string_view>
#include <vector>

namespace djstap::regions {

struct Symbol {
    std::string_view name;
    uint64_t address = 0, size = 0;
    bool function = false;
    bool global = false;
};

// Returns the symbols in code, of both symbol tables, by address.
std::vector<Symbol> code_symbols(const Code& code);

struct FunctionRange {
    std::string_view name; // empty if there is only unwind information
    Index first = 0, end = 0;
    // As `end`, or further: what follows up to there only fills the space before other code.
    Index filled_end = 0;
};

// Returns functions that do not overlap, by address. `symbols` are sorted.
std::vector<FunctionRange> find_functions(const Code& code, const std::vector<Symbol>& symbols,
                                          const Frames& frames, const GoTable& go);

} // namespace djstap::regions
