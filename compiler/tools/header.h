// SPDX-License-Identifier: GPL-2.0-or-later
// What a script says about itself in the comment at its beginning: what it answers, its options,
// its columns, its cost. examples/README.md describes the form.
#pragma once
#include "ast/ast.h"
#include "diagnostics/diagnostic.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// The type of an option's values. A duration is kept in the unit that the script counts in.
enum class ToolType : uint8_t {
    Integer,
    Text,
    Pid,    // 0: none, as initial value only
    Flag,   // the global is 0 or 1
    Output, // the value is a file: --output=NAME:FILE; the global is 0 or 1
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds
};

// Returns the type's name in a header: "milliseconds".
std::string_view name_of(ToolType type);
// Returns what --help calls a value: "DURATION"; "" for flags.
std::string_view value_of(ToolType type);
// Returns how many nanoseconds the type counts in; 0 if it is not a duration.
int64_t unit_of(ToolType type);

// @option NAME TYPE: TEXT. `--NAME VALUE` sets the global variable with that name, with _ for -.
struct ToolOption {
    std::string name;
    ToolType type = ToolType::Integer;
    std::string text;
    SourceRange range;   // of the name
    std::string initial; // of the global, as --help shows it: "2s"; set by take_globals()

    std::string global() const;
};

// @argument NAME: TEXT ($1 and @1 for the first), @column NAME: TEXT.
struct ToolWord {
    std::string name;
    std::string text;
};

struct ToolHeader {
    std::string subject; // @tool SUBJECT: SUMMARY
    std::string summary; // what it answers, in one line
    std::string description;
    std::vector<ToolOption> options;
    std::vector<ToolWord> arguments;
    std::vector<ToolWord> columns;
    std::string cost;                  // @cost: TEXT
    std::vector<std::string> examples; // @example WORDS: behind `djstap --example NAME`
};

// Reads the header of a source: the lines of // or # comments before its first other line. Reports
// malformed lines, and a header without @tool, and returns nothing then.
std::optional<ToolHeader> read_header(const SourceManager& sources, uint32_t source,
                                      Diagnostics& diagnostics);

// Takes the initial values of the options from the globals of the parsed script. Reports options
// that have no global of a fitting type; returns false then.
bool take_globals(ToolHeader& header, const ast::File& script, Diagnostics& diagnostics);

} // namespace djstap
