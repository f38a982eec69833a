// SPDX-License-Identifier: GPL-2.0-or-later
// djstap's name and version.
#pragma once
#include <string>

namespace djstap::driver {

// Returns "djstap 0.1.0 …", one or more lines, for -V.
std::string version_text();

} // namespace djstap::driver
