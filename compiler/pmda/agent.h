// SPDX-License-Identifier: GPL-2.0-or-later
// pmdadjstap: runs scripts, and answers pmcd's requests for their metrics.
#pragma once
#include "pmda/metrics.h"
#include "pmda/runs.h"

#include <chrono>
#include <string>
#include <vector>

namespace djstap::pmda {

struct AgentOptions {
    // Of the scripts. Not the folder of those that a group may run, offered::module_folder: what is
    // in this one always runs.
    std::string folder = "/etc/djstap/metrics";
    std::vector<std::string> recorded; // files of --output=snapshots, instead of scripts
    // Who may store scripts; nobody, if there is no such file.
    std::string permissions = "/etc/djstap/store.allow";
    Programs programs;
    std::string version;
    std::chrono::milliseconds between_looks{2000}; // at the folder
};

// Answers requests until pmcd closes the connection. `dispatch` is connected. Returns an exit
// status.
int run_agent(pmdaInterface& dispatch, const AgentOptions& options);

} // namespace djstap::pmda
