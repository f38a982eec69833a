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

// Merges files, whose names without their extensions are those of the machines. What cannot be read
// is missing. Fails if two files are of one machine: the counts of one would replace the other's.
Result<MergedRecordings> merge_recordings(const std::vector<std::string>& paths);

} // namespace djstap::fleet
