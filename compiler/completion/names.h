// SPDX-License-Identifier: GPL-2.0-or-later
// What may be typed in a place.
#pragma once

#include "documentation/documentation.h"
#include "semantics/points.h"

#include <string>
#include <string_view>
#include <vector>

namespace djstap {

struct CompletedName {
    std::string text; // what replaces the typed part of the name
    std::string what; // a few words about it, or ""
};

/// Returns the components that may follow `before` ("kernel.", `kernel.function("x").`, or nothing)
/// and begin with `typed`, each once, sorted: of the families of probe points and of the aliases.
/// One that needs an argument ends with its bracket, and quote: `function("`.
std::vector<CompletedName> completed_components(const std::string& before, std::string_view typed,
                                                const PointShapes& shapes,
                                                const std::vector<std::string>& aliases);

/// Returns the words that begin a declaration with `typed`.
std::vector<CompletedName> completed_declarations(std::string_view typed);

/// Returns the words of a handler that begin with `typed`: functions, with an open bracket, what
/// the script declares, and the statements and operators of `language` (document_language).
std::vector<CompletedName> completed_words(std::string_view typed,
                                           const std::vector<Documentation>& language,
                                           const std::vector<std::string>& functions,
                                           const std::vector<std::string>& declared);

/// Returns what stands in the quotes of the last component of a listed point:
/// `vfs_read@fs/read_write.c:450` of `kernel.function("vfs_read@fs/read_write.c:450")`; the part
/// before the @ unless `typed` has one. A tracepoint's system is left out if `typed` does not name
/// it.
std::string completed_argument(std::string_view listed, std::string_view before,
                               std::string_view typed);

} // namespace djstap
