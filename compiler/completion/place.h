// SPDX-License-Identifier: GPL-2.0-or-later
// Where in an unfinished script a name is being typed. The script's text up to that place is
// usually no valid one, so it is scanned, not parsed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

enum class Completes : uint8_t {
    Nothing,     // a number, a comment, a string of a handler, a member of a structure
    Declaration, // probe, global, function …
    Component,   // of a probe point
    Argument,    // of a component: in quotes
    Name,        // of a function, a variable, a word of the language
    Target,      // of a target variable: $file
};

struct CompletionPlace {
    Completes what = Completes::Nothing;
    // What has been typed of the name; it ends where the text does.
    std::string typed;
    // Component and Argument: what stands before in the same point: "kernel.function(" for an
    // argument, "kernel." for a component. Target and Name: the point of the probe.
    std::string before;
    // Names that the text itself declares: functions and globals.
    std::vector<std::string> declared;
};

/// Returns what is being typed where `text` ends. Never fails: what cannot be told is Nothing.
CompletionPlace completion_place(std::string_view text);

} // namespace djstap
