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
// The repetitions of a counted repetition share their nodes.
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
        // an optional further iteration of a counted repetition: skipped rather than empty
        More,
        Group,
        Turn // one iteration of a repetition: groups inside forget the previous one
    } kind = Kind::Empty;
    Bytes set;
    NodePtr first, second;
    uint32_t group = 0;                  // Group
    uint32_t low = UINT32_MAX, high = 0; // the groups inside; low > high: none
    bool has_groups() const { return low <= high; }
};

struct Tree {
    NodePtr root;
    uint32_t groups = 1; // including the whole match
};

// Parses POSIX extended syntax. The message of a failure completes "the regular expression …".
Result<Tree> parse(std::string_view pattern);

} // namespace djstap::regex
