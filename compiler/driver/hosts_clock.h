// SPDX-License-Identifier: GPL-2.0-or-later
// What is told of a host's clock.
#pragma once
#include "hosts/connection.h"

#include <string>

namespace djstap::driver {

// Returns whether the clock is that far from this machine's that somebody who reads times should
// know it.
bool is_notable(const hosts::ClockOffset& clock);
// Returns "its clock is 5.0 ms ahead of this machine's (within 0.1 ms)".
std::string clock_text(const hosts::ClockOffset& clock);

} // namespace djstap::driver
