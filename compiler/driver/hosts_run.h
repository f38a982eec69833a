// SPDX-License-Identifier: GPL-2.0-or-later
// --hosts: a script runs on many machines.
#pragma once
#include "driver/invocation.h"

#include <optional>

namespace djstap::driver {

// Compiles the script for the kernel of each host, runs it on all of them, and prints what is
// merged. Returns the exit status: 1 if anything of a host is missing; nothing after an error that
// concerns all.
std::optional<int> run_on_hosts(Invocation& invocation);

} // namespace djstap::driver
