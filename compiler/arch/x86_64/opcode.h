// SPDX-License-Identifier: GPL-2.0-or-later
// An instruction's prefixes and operation code, from which its flow of control follows and whether
// it may be copied.
#pragma once
#include "arch/instructions.h"

#include <cstdint>
#include <string_view>

namespace djstap::arch::x86_64 {

constexpr size_t longest_instruction = 15;

struct Opcode {
    uint8_t prefixes = 0;      // number of legacy prefixes
    bool code_segment = false; // a prefix that selects it, or hints at a branch
    bool address_size = false; // a prefix that changes it
    bool repeats = false;      // a prefix of string instructions
    bool extends = false;      // a prefix that numbers a register from 8 on (REX.B)
    enum class Map : uint8_t { One, Two, Longer, Vector } map = Map::One;
    uint8_t code = 0;     // in its map
    uint8_t operands = 0; // the ModRM byte, or 0

    // Reads the bytes of one valid instruction.
    static Opcode of(std::string_view bytes);

    uint8_t group() const { return (operands >> 3) & 7; }
    Flow flow() const;
    Fixed fixed() const;
    bool is_breakpoint() const { return map == Map::One && code == 0xcc; }
    bool is_no_op() const;
    bool computes_address() const { return map == Map::One && code == 0x8d; }
    bool is_transaction() const; // begins one, and names where it continues after an abort
    // Whether the kernel's optimizer of kprobes copies it to another place. Newer kernels also copy
    // shifts, multiplications, increments and others whose code is in the ModRM byte.
    bool kernel_copies(bool newer) const;
};

} // namespace djstap::arch::x86_64
