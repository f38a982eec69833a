// SPDX-License-Identifier: GPL-2.0-or-later
// Converts DWARF location expressions to locations that a handler can read with one load.
#pragma once
#include "debuginfo/debuginfo.h"

#include <elfutils/libdw.h>
#include <functional>
#include <optional>

namespace djstap {

struct FrameBase {
    PtReg reg{};
    int64_t offset = 0;
    // Of a call frame: the caller's frame pointer is stored that far from it; nothing: the register
    // still holds it.
    std::optional<int64_t> frame_pointer;
};

// Returns the call frame address, "register plus offset" if the rule for it has that form.
std::optional<FrameBase> call_frame_address(Dwarf_CFI* table, uint64_t address);

// Returns a function's frame base as it is seen at the function's entry, where the prologue has not
// set up a frame yet; nothing if it depends on how much of the stack the prologue takes, as clang's
// does in a function without a frame pointer (DWARF 5, 3.3.5).
std::optional<FrameBase> frame_base_at_entry(Dwarf_Die* function);

// What an expression depends on besides the registers.
struct LocationContext {
    uint64_t address = 0;
    // The registers are still as the caller set them: entry values are current values.
    bool at_entry = false;
    uint64_t entry = 0; // the function's, if at_entry
    // Returns the function's frame base at `address`; called only if an expression needs it.
    std::function<std::optional<FrameBase>()> frame_base;
};

// Returns the location of a variable or parameter at an address; includes DW_AT_const_value. `why`
// is set for None.
Location location_of(Dwarf_Die* variable, const LocationContext& context);
// The same for one expression.
Location location_of_expression(const Dwarf_Op* operations, size_t count,
                                const LocationContext& context, Dwarf_Attribute* attribute);

// Returns whether a location is more than a register and a number.
inline bool is_computed(const Location& location) {
    return location.kind == LocationKind::Computed ||
           location.kind == LocationKind::ComputedMemory || location.kind == LocationKind::Pieces;
}

// Returns whether the index lacks a location: it has no room for what is computed, except for the
// two registers in which the calling convention passes a structure.
inline bool is_unindexed(const Location& location) {
    return is_computed(location) && location.pieces.empty();
}

// Returns an attribute's number. gcc writes negative ones only as sdata: the fixed-size forms are
// unsigned.
std::optional<int64_t> constant_of(Dwarf_Attribute* attribute);

} // namespace djstap
