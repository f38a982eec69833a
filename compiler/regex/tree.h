// SPDX-License-Identifier: GPL-2.0-or-later
// A parsed regular expression.
#pragma once
#include "diagnostics/result.h"

#include <bitset>
#include <cstdint>
#include <memory>
#include <string_view>

namespace djstap::regex {

using Bytes = std::bitset<256>;

struct Node;
// Counted repetitions share their copies.
using NodePtr = std::shared_ptr<const Node>;

struct Node {
    enum class Kind : uint8_t {
        Empty,
        Set,   // one byte of `set`
        Begin, // ^
        End,   // $
        Concatenation,
        Alternation,
        Star,
        Optional, // ?
        More,     // an optional further turn of a counted repetition: none rather than an empty one
        Group,
        Turn // one turn of a repetition: groups inside forget the turn before
    } kind = Kind::Empty;
    Bytes set;
    NodePtr first, second;
    uint32_t group = 0;                  // Group
    uint32_t low = UINT32_MAX, high = 0; // the groups inside; low > high: none
    bool has_groups() const { return low <= high; }
};

struct Tree {
    NodePtr root;
    uint32_t groups = 1; // with the whole
};

// Parses POSIX extended syntax. The failure's message completes "the regular expression …".
Result<Tree> parse(std::string_view pattern);

} // namespace djstap::regex
