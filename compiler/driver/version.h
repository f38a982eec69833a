// SPDX-License-Identifier: GPL-2.0-or-later
// What djstap calls itself.
#pragma once
#include <string>

namespace djstap::driver {

// "djstap 0.1.0 …", a line or more, for -V.
std::string version_text();

} // namespace djstap::driver
