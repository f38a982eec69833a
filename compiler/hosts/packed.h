// SPDX-License-Identifier: GPL-2.0-or-later
// Files as hosts unpack them: most of the time until a script runs is their way there.
#pragma once
#include <string>
#include <string_view>

namespace djstap::hosts {

// Returns what gzip makes of these bytes; "" if there is no memory for it.
std::string gzipped(std::string_view bytes);

} // namespace djstap::hosts
