// SPDX-License-Identifier: GPL-2.0-or-later
// The options about many machines.
#pragma once
#include "diagnostics/result.h"
#include "driver/options.h"

#include <optional>
#include <string>

namespace djstap::driver {

// The values of --hosts, --remote-shell and --host-timeout as they were given.
struct HostsWords {
    const std::string &set, &shell, &timeout;
};

// Converts them, and checks them with the other options.
std::optional<Failure> take_hosts(const HostsWords& words, Options& options);

} // namespace djstap::driver
