// SPDX-License-Identifier: GPL-2.0-or-later
// ast → program: names, types, formats, unused code, how each global is stored.
#pragma once
#include "ast/ast.h"
#include "diagnostics/diagnostic.h"
#include "semantics/points.h"
#include "semantics/program.h"

#include <optional>

namespace djstap {

class Library;

struct SemanticsOptions {
    bool guru = false;        // -g
    bool keep_unused = false; // -u: no dropping of unused code
    std::vector<std::pair<std::string, std::string>> global_values = {}; // -G name=value
    int64_t max_action = 1000; // MAXACTION: bodies with as many statements count them
    PointShapes points = {};   // the probe points that there are
    // Stands before the handlers of points that tell of a task; may be null.
    const ast::Block* prologue = nullptr;
    bool unmangled = false; // --compatible below 1.8: all C functions have THIS->x
};

// Checks and types `script` together with the library files that it needs (parsed on demand).
// Yields nothing after reporting at least one error. One mistake gives one error: what follows from
// an error is not reported. The program points into the library's files: `library` must live as
// long as it.
std::optional<program::Program> analyze(ast::File script, Library& library,
                                        const SemanticsOptions& options, Diagnostics& diagnostics);

} // namespace djstap
