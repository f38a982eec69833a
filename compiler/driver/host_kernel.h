// SPDX-License-Identifier: GPL-2.0-or-later
// --kernel-from: compiling for the kernel of another machine.
#pragma once
#include "driver/invocation.h"

#include <optional>
#include <string>

namespace djstap::driver {

// Reads the facts of the host, if there is one, and makes its kernel that of the options. Its
// failures are reported by check_host().
std::optional<Result<HostFacts>> settle_host(Options& options);

// Checks that this machine has the kernel of the host, from the same build, with what the requested
// passes need, and warns if the host will not load the module. Returns true without --kernel-from.
bool check_host(Invocation& invocation);

// Returns the packages with a kernel's headers and debug symbols for the host's distribution: "a
// b".
std::string kernel_packages(const HostFacts& host, bool headers, bool symbols);

} // namespace djstap::driver
