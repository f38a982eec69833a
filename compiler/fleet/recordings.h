// SPDX-License-Identifier: GPL-2.0-or-later
// Merges what --output=snapshots has written on several machines.
#pragma once
#include <string>
#include <vector>

namespace djstap::fleet {

struct MergedRecordings {
    std::string text;    // what was printed, with the machine's name, and the merged globals
    std::string missing; // a line for each machine of which something is missing
};

// The name of each file without its extension is that of the machine.
MergedRecordings merge_recordings(const std::vector<std::string>& paths);

} // namespace djstap::fleet
