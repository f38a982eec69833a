// SPDX-License-Identifier: GPL-2.0-or-later
// Registers, and the location of a value in terms of them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace djstap {

// A register as its index in struct pt_regs, in words. arch/arch.h describes which exist.
enum class PtReg : uint8_t {};

enum class LocationKind : uint8_t {
    None,     // optimized away, or too complex to express: see `why`
    Register, // the value is in `reg`
    Memory,   // the value is in memory at [reg + offset]
    Address,  // the value is in memory at the fixed address `constant` (relocated with the kernel)
    Constant, // the value is `constant`
    Value,    // the value is reg + offset itself (DW_OP_stack_value)
    Computed, // the value is what `operations` compute
    ComputedMemory, // the value is in memory at the address that `operations` compute
    Pieces          // parts of the value are in different locations: `pieces`
};

// One step of a computation in reverse Polish notation. Numbers have 64 bits.
struct LocationOperation {
    enum class Kind : uint8_t {
        Register, // pushes `reg`
        Constant, // pushes `number`
        Address,  // pushes the fixed address `number` (relocated with the kernel)
        Load,     // replaces an address by `size` bytes of memory there
        Extend,   // replaces a number by its `size` low bytes
        // These replace two numbers, of which the first was pushed first.
        Add,
        Subtract,
        Multiply,
        And,
        Or,
        Xor,
        ShiftLeft,
        ShiftRight,
        ShiftRightSigned,
        Equal,
        NotEqual,
        Less,
        LessOrEqual,
        Greater,
        GreaterOrEqual,
        // These replace one.
        Negate,
        Not
    } kind = Kind::Constant;
    PtReg reg{};
    uint8_t size = 8;       // 1, 2, 4, 8
    bool is_signed = false; // Load, Extend: the sign is extended
    uint64_t number = 0;
};

struct LocationPiece;

struct Location {
    LocationKind kind = LocationKind::None;
    PtReg reg{};
    int64_t offset = 0;
    uint64_t constant = 0;
    std::string why;
    std::vector<LocationOperation> operations;
    std::vector<LocationPiece> pieces;
};

// Bytes of a value, from its beginning.
struct LocationPiece {
    Location location; // of the piece; it may be None
    uint64_t offset = 0, size = 0;
};

inline Location constant_location(uint64_t value) {
    Location location;
    location.kind = LocationKind::Constant;
    location.constant = value;
    return location;
}

// Returns no location, and the reason.
inline Location nowhere(const char* why) {
    Location location;
    location.why = why;
    return location;
}

} // namespace djstap
