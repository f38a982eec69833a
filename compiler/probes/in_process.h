// SPDX-License-Identifier: GPL-2.0-or-later
// Probes that are jumps in the process itself (--runtime=process): at entries and returns of
// functions, and nowhere else.
#pragma once
#include "probes/families.h"

#include <vector>

namespace djstap {

// Returns whether the point is that of entries or returns of functions of a program.
bool is_function_of_program(const ast::ProbePoint& point);

// With ProbeOptions::in_process: keeps the candidates that jumps reach,
// and makes it their mechanism. Reports what is left out. Returns false if nothing is left.
bool settle_in_process(const ast::ProbePoint& point, Resolver& resolver,
                       std::vector<Candidate>& candidates);

// Returns a value in a register that a jump at a function's entry does not pass on to handlers;
// null if there is none.
const program::Expression* value_in_other_register(const AccessMap& accesses);

} // namespace djstap
