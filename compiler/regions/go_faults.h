// SPDX-License-Identifier: GPL-2.0-or-later
// Which accesses of Go's functions may become a panic.
#pragma once
#include "regions/functions.h"

#include <vector>

namespace djstap::regions {

// Clears Accesses of instructions of the ranges that Go's runtime does not make a panic of if they
// fault. Needs the places where code is entered.
void clear_harmless_accesses(Code& code, const std::vector<FunctionRange>& ranges,
                             const GoTable& go, unsigned threads);

} // namespace djstap::regions
