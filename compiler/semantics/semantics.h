// SPDX-License-Identifier: GPL-2.0-or-later
// Converts the ast to a program: names, types, formats, unused code, storage of globals.
#pragma once
#include "ast/ast.h"
#include "diagnostics/diagnostic.h"
#include "semantics/points.h"
#include "semantics/program.h"

#include <cstdint>
#include <optional>

namespace djstap {

class Library;

struct SemanticsOptions {
    bool guru = false;                                                   // -g
    bool keep_unused = false;                                            // -u: unused code is kept
    std::vector<std::pair<std::string, std::string>> global_values = {}; // -G name=value
    // The same for globals of the library, which a script need not use.
    std::vector<std::pair<std::string, std::string>> library_values = {};
    int64_t max_action = 1000; // MAXACTION: bodies with this many statements count them
    PointShapes points = {};   // the existing probe points
    // Runs before the handlers of points that report what a task does; may be null.
    const ast::Block* prologue = nullptr;
    bool suppress_errors = false; // --suppress-handler-errors: an error ends only its handler
    bool times_probes = false;    // -t: an end probe prints how long handlers took
    int64_t shown_every_ms = 0;   // a timer probe prints all globals; 0: none does
    bool shown_probes = false;    // it also prints hits and times of the probes: --monitor
    bool shown_whole = false;     // it prints all elements, and histograms: --output=snapshots
    bool no_system = false;       // --no-system: scripts run no commands
    bool prints_unread = true;    // globals that are never read, when the session ends
    // --hosts: which probes are kept (placement.cpp).
    enum class Side : uint8_t { Everything, Hosts, Controller } side = Side::Everything;
    bool unmangled = false; // --compatible below 1.8: all C functions may use THIS->x
};

// Checks and types `script` together with the library files that it needs (parsed on demand).
// Returns nothing after reporting at least one error. One mistake gives one error: its consequences
// are not reported. The program points into the library's files: `library` must outlive it.
std::optional<program::Program> analyze(ast::File script, Library& library,
                                        const SemanticsOptions& options, Diagnostics& diagnostics);

} // namespace djstap
