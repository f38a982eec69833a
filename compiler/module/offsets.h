// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the runtime's section .djstap.offsets: facts that only the runtime's compiler knows.
#pragma once
#include "module/module.h"

namespace djstap::module {

// Returns all offsets in the objects of those names, sorted by name. Fails if a section is
// malformed.
Result<std::vector<KitOffset>> find_offsets(const std::vector<std::string>& objects);

} // namespace djstap::module
