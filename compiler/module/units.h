// SPDX-License-Identifier: GPL-2.0-or-later
// A kit's objects, compiled directly with the command that Kbuild would use.
#pragma once
#include "diagnostics/result.h"
#include "module/parts.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::module {

// Runs the jobs, in their order, with at most `threads` at once. Returns whether all succeeded;
// after a failure no other begins.
bool run_jobs(const std::vector<std::function<bool()>>& jobs, unsigned threads);

// Returns the shell's command with which Kbuild compiles a source (SOURCE.c to SOURCE.o in
// `folder`), checks of the object included, from what make -n prints. Empty if there is none.
std::string compile_command(std::string_view commands, std::string_view folder,
                            std::string_view source);

// Returns that command for another source of the same folder; `cold`: optimized less.
std::string command_for(const std::string& command, std::string_view source, std::string_view other,
                        bool cold);

// Returns such a compiler's command (RuntimeKit::compiler) for a source; `cold` as above.
std::string compiler_for(const std::string& compiler, bool cold);

// Returns the command's part that only compiles, without the files: see RuntimeKit::compiler.
std::string compiler_of(std::string_view command, std::string_view folder);

// How Kbuild runs objtool.
struct Objtool {
    std::vector<std::string> command; // program and flags, without the file; empty: it does not
    bool is_delayed = false;          // it runs it on the whole module, not on each object
};

// Returns that from what Kbuild noted in `build_dir` of how it made objects, of which the first one
// that names objtool counts. Fails if its program is not there.
Result<Objtool> find_objtool(const std::vector<std::string>& noted, const std::string& build_dir);

} // namespace djstap::module
