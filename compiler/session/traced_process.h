// SPDX-License-Identifier: GPL-2.0-or-later
// The traced process of a session: -x, or the command of -c.
#pragma once
#include "diagnostics/result.h"
#include "session/session.h"

#include <string>
#include <vector>

namespace djstap {

// Fails if -x names a process that does not exist.
Status check_traced_process(const SessionOptions& options);

// Returns the command's argument vector; empty if there is no command. Fails if its program does
// not exist.
Result<std::vector<std::string>> command_of(const SessionOptions& options);

} // namespace djstap
