// SPDX-License-Identifier: GPL-2.0-or-later
// DWARF location expressions turned into what a handler can read with one load.
#pragma once
#include "debuginfo/debuginfo.h"

#include <elfutils/libdw.h>
#include <functional>

namespace djstap {

struct FrameBase {
    PtReg reg{};
    int64_t offset = 0;
};

// What an expression depends on beside the registers.
struct LocationContext {
    uint64_t address = 0;
    bool at_entry =
        false; // registers still hold what the caller left: entry values are current values
    // The function's frame base at `address`; asked only where an expression needs it.
    std::function<std::optional<FrameBase>()> frame_base;
};

// The location of a variable or parameter at an address; DW_AT_const_value counts. `why` is set for
// None.
Location location_of(Dwarf_Die* variable, const LocationContext& context);
// The same for one expression.
Location location_of_expression(const Dwarf_Op* operations, size_t count,
                                const LocationContext& context, Dwarf_Attribute* attribute);

// An attribute's number. gcc writes negative ones as sdata only: the fixed-size forms are unsigned.
std::optional<int64_t> constant_of(Dwarf_Attribute* attribute);

} // namespace djstap
