// SPDX-License-Identifier: GPL-2.0-or-later
// The scripts that the agent runs: the files of a folder that only root can change.
#pragma once
#include "diagnostics/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace djstap::pmda {

struct ScriptFile {
    std::string name; // "reads" of reads.stp and reads.ko
    std::string path;
    bool is_module = false; // a .ko file: djrun runs it; else a script, which djstap runs
    int64_t changed_ns = 0; // when the file was changed
    std::string refusal;    // why it is not run; empty: it is
    std::string user = {};  // who has stored it with the agent; empty: it is root's
};

// Returns the scripts and modules of a folder by name. Refuses, and names, each that a user other
// than root and this process's could have written, those whose folder is such, and the second of
// two with the same name.
Result<std::vector<ScriptFile>> find_scripts(const std::string& folder);

} // namespace djstap::pmda
