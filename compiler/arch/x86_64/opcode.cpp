// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/x86_64/opcode.h"

#include <array>
#include <bitset>

namespace djstap::arch::x86_64 {

namespace {

bool is_legacy_prefix(uint8_t byte) {
    switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
        return true;
    default:
        return false;
    }
}

// The instructions with the first byte 0x0f that the kernel copies (its kprobes "boost" them): most
// of those that are neither reserved nor a group, as first and last code of a range.
constexpr std::array<std::array<uint8_t, 2>, 31> copied_of_two = {{
    {0x02, 0x03}, {0x06, 0x06}, {0x08, 0x09}, {0x1f, 0x23}, {0x31, 0x31}, {0x40, 0x4f},
    {0x60, 0x6b}, {0x6e, 0x6f}, {0x74, 0x77}, {0x7e, 0x7f}, {0x90, 0xa1}, {0xa3, 0xa5},
    {0xa8, 0xa9}, {0xab, 0xad}, {0xaf, 0xb7}, {0xbb, 0xc1}, {0xc8, 0xcf}, {0xd1, 0xd3},
    {0xd5, 0xd5}, {0xd8, 0xd9}, {0xdb, 0xdd}, {0xdf, 0xdf}, {0xe1, 0xe2}, {0xe5, 0xe5},
    {0xe8, 0xe9}, {0xeb, 0xed}, {0xef, 0xef}, {0xf1, 0xf3}, {0xf5, 0xf5}, {0xf8, 0xfa},
    {0xfc, 0xfe},
}};

bool is_copied_of_two(uint8_t code) {
    static const std::bitset<256> copied = [] {
        std::bitset<256> all;
        for (const auto& [first, last] : copied_of_two)
            for (unsigned each = first; each <= last; each++)
                all.set(each);
        return all;
    }();
    return copied.test(code);
}

} // namespace

Opcode Opcode::of(std::string_view bytes) {
    Opcode out;
    size_t at = 0;
    auto byte = [&](size_t i) { return i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : 0; };
    for (; at < bytes.size() && is_legacy_prefix(byte(at)); at++) {
        out.prefixes++;
        out.code_segment |= byte(at) == 0x2e;
        out.address_size |= byte(at) == 0x67;
        out.repeats |= byte(at) == 0xf3;
    }
    if ((byte(at) & 0xf0) == 0x40) // REX
        out.extends = byte(at++) & 1;
    if (byte(at) == 0xc5 || byte(at) == 0xc4 || byte(at) == 0x62) {
        // VEX of two and three bytes, EVEX
        at += byte(at) == 0xc5 ? 2 : byte(at) == 0xc4 ? 3 : 4;
        out.map = Map::Vector;
    } else if (byte(at) == 0x0f) {
        at++;
        out.map = Map::Two;
        if (byte(at) == 0x38 || byte(at) == 0x3a) {
            at++;
            out.map = Map::Longer;
        }
    }
    out.code = static_cast<uint8_t>(byte(at));
    out.operands = static_cast<uint8_t>(byte(at + 1));
    return out;
}

bool Opcode::is_transaction() const {
    return map == Map::One && code == 0xc7 && operands == 0xf8; // xbegin
}

bool Opcode::is_no_op() const {
    if (map == Map::Two)
        return code == 0x1f;
    // Else pause, or an exchange with r8.
    return map == Map::One && code == 0x90 && !repeats && !extends;
}

Flow Opcode::flow() const {
    if (map == Map::Two) {
        if ((code & 0xf0) == 0x80)
            return Flow::Branch;
        if (code == 0x0b || code == 0xb9 || code == 0xff) // ud2, ud1, ud0
            return Flow::Trap;
        return code == 0x07 || code == 0x35 ? Flow::Return : Flow::Next; // sysret, sysexit
    }
    if (map != Map::One)
        return Flow::Next;
    if ((code & 0xf0) == 0x70 || (code >= 0xe0 && code <= 0xe3)) // loop, jrcxz
        return Flow::Branch;
    switch (code) {
    case 0xe8:
        return Flow::Call;
    case 0xe9:
    case 0xeb:
        return Flow::Jump;
    case 0xc2:
    case 0xc3:
    case 0xca:
    case 0xcb:
    case 0xcf:
        return Flow::Return;
    case 0xcc:
    case 0xcd:
    case 0xf1:
        return Flow::Trap;
    case 0xff:
        if (group() == 2 || group() == 3)
            return Flow::IndirectCall;
        return group() == 4 || group() == 5 ? Flow::IndirectJump : Flow::Next;
    default:
        return Flow::Next;
    }
}

Fixed Opcode::fixed() const {
    if (flow() == Flow::Trap)
        return Fixed::Trap;
    if (map == Map::Two) {
        // monitor and mwait belong together, and so do sti and what waits for an interrupt.
        if (code == 0x01 && (operands == 0xc8 || operands == 0xc9))
            return Fixed::Adjacent;
        return code == 0x07 || code == 0x35 ? Fixed::Adjacent : Fixed::No;
    }
    if (map != Map::One)
        return Fixed::No;
    if (is_transaction() || (code >= 0xe0 && code <= 0xe3))
        return Fixed::Relative;
    // hlt; the far returns; a new stack segment, after which one instruction runs undisturbed
    if (code == 0xf4 || (code >= 0xca && code <= 0xcf) || (code == 0x8e && group() == 2) ||
        (code == 0xff && (group() == 3 || group() == 5)))
        return Fixed::Adjacent;
    return Fixed::No;
}

bool Opcode::kernel_copies(bool newer) const {
    if (map == Map::Two)
        return is_copied_of_two(code);
    if (map == Map::Longer || code_segment || address_size)
        return false;
    if ((code & 0xf0) == 0x70)
        return false;
    switch (code) {
    case 0x62:
    case 0x9a:
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xd6:
    case 0xe0:
    case 0xe1:
    case 0xe2:
    case 0xe3:
    case 0xe8:
    case 0xe9:
    case 0xeb:
    case 0xf0:
    case 0xf1:
    case 0xf2:
    case 0xf3:
    case 0xf4:
        return false;
    case 0xc0:
    case 0xc1:
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return newer && group() != 6;
    case 0xf6:
    case 0xf7:
        return newer && group() != 1;
    case 0xfe:
        return newer && group() <= 1;
    case 0xff:
        return group() == 4 || (newer && group() <= 1);
    default:
        return code < 0xd8 || code > 0xdf; // x87
    }
}

} // namespace djstap::arch::x86_64
