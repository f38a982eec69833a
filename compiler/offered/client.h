// SPDX-License-Identifier: GPL-2.0-or-later
// The user's side of a script that root offers.
#pragma once
#include "diagnostics/result.h"

#include <string>

namespace djstap::offered {

// The service's socket, which the members of a group may connect to.
inline constexpr const char* socket_path = "/run/djstap/run.socket";

// Asks the service for a script, or with an empty name for the list of all. Passes what it prints
// on to the standard streams. SIGINT, SIGTERM and SIGHUP stop the script; its last output still
// arrives. Returns its exit status.
Result<int> request(const std::string& socket, const std::string& name);

} // namespace djstap::offered
