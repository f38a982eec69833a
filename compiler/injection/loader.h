// SPDX-License-Identifier: GPL-2.0-or-later
// The dynamic loader of a program, which tells debuggers when it has mapped or unmapped libraries.
#pragma once
#include "injection/places.h"
#include "injection/traced_program.h"

#include <optional>

namespace djstap::injection {

// Returns the place of the function that the loader calls then (struct r_debug), as a file of its
// own. Nothing: the program has no such loader, or there is no room for a jump.
std::optional<PlacedImage> place_in_loader(TracedProgram& program, const MemoryMap& map);

} // namespace djstap::injection
