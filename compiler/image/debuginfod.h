// SPDX-License-Identifier: GPL-2.0-or-later
// Debug files from the servers that $DEBUGINFOD_URLS names, through libdebuginfod, which is loaded
// when it is needed.
#pragma once
#include "diagnostics/result.h"

#include <optional>
#include <string>

namespace djstap {

// Returns $DEBUGINFOD_URLS; empty: no server is asked.
std::string debuginfod_servers();

// Returns the path of the debug file for a hexadecimal build-id in libdebuginfod's cache; nothing
// if there are no servers, or none has it. Fails if no server answers in time: then this process
// does not ask again. `progress` (may be null) is called before the servers are asked, and while
// they send. `title` names what the file is for.
Result<std::optional<std::string>> fetch_debug_file(const std::string& build_id,
                                                    const std::string& title,
                                                    void (*progress)(const std::string&));

} // namespace djstap
