// SPDX-License-Identifier: GPL-2.0-or-later
// Registers, and the location of a value in terms of them.
#pragma once
#include <cstdint>
#include <string>

namespace djstap {

// A register as its index in struct pt_regs, in words. arch/arch.h describes which exist.
enum class PtReg : uint8_t {};

enum class LocationKind : uint8_t {
    None,     // optimized away, or too complex to express: see `why`
    Register, // the value is in `reg`
    Memory,   // the value is in memory at [reg + offset]
    Address,  // the value is in memory at the fixed address `constant` (relocated with the kernel)
    Constant, // the value is `constant`
    Value     // the value is reg + offset itself (DW_OP_stack_value)
};

struct Location {
    LocationKind kind = LocationKind::None;
    PtReg reg{};
    int64_t offset = 0;
    uint64_t constant = 0;
    std::string why;
};

// Returns no location, and the reason.
inline Location nowhere(const char* why) {
    Location location;
    location.why = why;
    return location;
}

} // namespace djstap
