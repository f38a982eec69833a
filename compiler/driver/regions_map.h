// SPDX-License-Identifier: GPL-2.0-or-later
// A map of a file's functions as one SVG file, which needs no other.
#pragma once
#include "regions/regions.h"

#include <string>

namespace djstap::driver {

// Returns the SVG text. Functions are cells in the order of their addresses, wider if they have
// more instructions, coloured by the share of those at which a jump may be planted. If there are
// very many, neighbours share a cell.
std::string regions_map(const regions::Analysis& analysis, const std::string& title);

} // namespace djstap::driver
