// SPDX-License-Identifier: GPL-2.0-or-later
// The target process of a session: -x, or the command of -c.
#pragma once
#include "diagnostics/result.h"
#include "session/session.h"

#include <string>
#include <vector>

namespace djstap {

// Fails where -x names a process that is gone.
Status check_target(const SessionOptions& options);

// The command's argument vector; empty where there is no command. Fails when its program is not
// there.
Result<std::vector<std::string>> command_of(const SessionOptions& options);

} // namespace djstap
