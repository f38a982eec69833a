// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles regular expressions (POSIX extended) to tables of finite automata, which runtime/regex
// walks in a handler: the time depends only on the string's length, and there is no backtracking.
#pragma once
#include "diagnostics/result.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace djstap::regex {

// The first states of a deterministic automaton: at the end of the string where its walk begins,
// and at any other position (for ^ and $). State 0 is a dead end and does not accept.
struct Start {
    uint16_t at_end = 0, inside = 0;
};

constexpr uint8_t accepts = 1;        // a bit of Automaton::accept: a match ends here
constexpr uint8_t accepts_at_end = 2; // … if the string ends here

// One decision on the way from a match to its groups; runtime/include/regex.h defines the same.
struct Step {
    enum class Kind : uint16_t { Group, Clear, Concatenation, Alternation, Optional, More, Star };
    static constexpr uint16_t none = 0xffff;
    Kind kind = Kind::Group;
    uint16_t low = 0, high = 0;           // Group: its number; Clear: the groups low … high
    uint16_t first = none, second = none; // steps that receive a part of this one's string
    Start forward;                        // of the first part; Star: of one iteration
    Start backward;                       // of what follows the first part
};

struct Automaton {
    // the class of each byte; automata do not distinguish bytes of one class
    std::array<uint8_t, 256> classes{};
    uint32_t class_count = 1;
    std::vector<uint16_t> next;  // by state * class_count + class
    std::vector<uint8_t> accept; // by state
    Start search;                // forward: has anything matched so far?
    // Only with groups:
    Start starts;             // backward: can a match start here?
    Start match;              // forward, from where a match starts
    std::vector<Step> steps;  // parents before their children
    uint32_t group_count = 1; // including group 0, the whole match
};

constexpr uint32_t max_groups = 64; // including group 0

// Compiles a pattern. Without `groups` the automaton only tells whether the pattern occurs. The
// message of a failure completes "the regular expression …".
Result<Automaton> compile(std::string_view pattern, bool groups);

} // namespace djstap::regex
