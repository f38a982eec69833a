// SPDX-License-Identifier: GPL-2.0-or-later
// The version table of a module: the checksum of each kernel symbol that it refers to.
#pragma once
#include "diagnostics/result.h"

#include <set>
#include <string>

namespace djstap::module {

// Rows of the table for symbols, as C.
struct VersionRows {
    std::string text;
    std::set<std::string> unknown; // symbols that no kernel or module exports
    std::set<std::string>
        special; // those that need more than a row: of a module, or in a namespace
};

// Returns the rows for `symbols` from a kernel's Module.symvers; none for those in `known`.
Result<VersionRows> version_rows(const std::string& build_dir, const std::set<std::string>& symbols,
                                 const std::set<std::string>& known);

// Returns a C source with these rows in the module's version table; empty if there are none.
std::string version_source(const VersionRows& rows);

} // namespace djstap::module
