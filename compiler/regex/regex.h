// SPDX-License-Identifier: GPL-2.0-or-later
// Regular expressions (POSIX extended) → tables of finite automata, which runtime/regex walks in a
// handler: time grows with the text's length only, nothing is ever tried twice.
#pragma once
#include "diagnostics/result.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace djstap::regex {

// A deterministic automaton's first states: at the text's end where its walk begins, and elsewhere
// (for ^ and $). State 0 has no way out and accepts nothing.
struct Start {
    uint16_t at_end = 0, inside = 0;
};

constexpr uint8_t accepts = 1;        // a bit of Automaton::accept: here
constexpr uint8_t accepts_at_end = 2; // … if the text ends here

// One decision on the way from a match to its groups; see runtime/include/regex.h, which has the
// same.
struct Step {
    enum class Kind : uint16_t { Group, Clear, Concatenation, Alternation, Optional, More, Star };
    static constexpr uint16_t none = 0xffff;
    Kind kind = Kind::Group;
    uint16_t low = 0, high = 0;           // Group: its number; Clear: the groups low … high
    uint16_t first = none, second = none; // steps that get a part of this one's text
    Start forward;                        // of the first part; Star: of one turn
    Start backward;                       // of what follows the first part
};

struct Automaton {
    std::array<uint8_t, 256> classes{}; // of each byte; bytes of one class are never told apart
    uint32_t class_count = 1;
    std::vector<uint16_t> next;  // by state * class_count + class
    std::vector<uint8_t> accept; // by state
    Start search;                // forward: has anything matched so far?
    // With groups only:
    Start starts;             // backward: can a match start here?
    Start match;              // forward, from where a match starts
    std::vector<Step> steps;  // parents before their children
    uint32_t group_count = 1; // with group 0, the whole match
};

constexpr uint32_t max_groups = 64; // with group 0

// Compiles a pattern. Without `groups` only whether it occurs can be asked. The failure's message
// completes "the regular expression …".
Result<Automaton> compile(std::string_view pattern, bool groups);

} // namespace djstap::regex
