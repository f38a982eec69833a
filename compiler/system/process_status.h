// SPDX-License-Identifier: GPL-2.0-or-later
// What /proc/PID/status tells.
#pragma once
#include "diagnostics/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace djstap {

// Returns the text of such a line of /proc/PID/status, with tabs between its numbers. `pid` may be
// the number of a thread.
Result<std::string> field_of_status(int64_t pid, std::string_view name);

// Fails if it is the number of a thread that is not its process's first one, with that of its
// process. One that is gone, or cannot be read, is none.
Status check_is_process(int64_t pid);

} // namespace djstap
