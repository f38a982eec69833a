// SPDX-License-Identifier: GPL-2.0-or-later
// Merges what --output=snapshots has written on several machines.
#pragma once
#include "diagnostics/result.h"

#include <string>
#include <vector>

namespace djstap::fleet {

struct MergedRecordings {
    std::string text;    // what was printed, with the machine's name, and the merged globals
    std::string missing; // a line for each machine of which something is missing
};

// Merges files. The name of each without its extension is that of the machine; if several files
// have it, their paths are. What cannot be read is missing. Fails if a file is named twice.
Result<MergedRecordings> merge_recordings(const std::vector<std::string>& paths);

} // namespace djstap::fleet
