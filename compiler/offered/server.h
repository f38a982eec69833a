// SPDX-License-Identifier: GPL-2.0-or-later
// The service that runs a script for a user who may not load modules. systemd starts it as root,
// one process for each connection.
#pragma once
#include <chrono>
#include <string>

namespace djstap::offered {

// Reads a line from the connection: the name of a module in `folder`, which `djrun`, a program,
// then runs, or nothing, which lists the names. Sends what the program prints, and its status. The
// script is stopped as soon as the other side stops sending, or is gone. A request whose last byte
// does not come within `patience` is none.
void serve(int connection, const std::string& folder, const std::string& djrun,
           std::chrono::milliseconds patience = std::chrono::seconds(30));

} // namespace djstap::offered
