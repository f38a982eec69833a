// SPDX-License-Identifier: GPL-2.0-or-later
// Registers, and where a value is in terms of them.
#pragma once
#include <cstdint>
#include <string>

namespace djstap {

// A register by its place in struct pt_regs, counted in words. Which there are, arch/arch.h tells.
enum class PtReg : uint8_t {};

enum class LocationKind : uint8_t {
    None,     // optimized away, or more complex than can be expressed: `why` says which
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

// No location, and why there is none.
inline Location nowhere(const char* why) {
    Location location;
    location.why = why;
    return location;
}

} // namespace djstap
