// SPDX-License-Identifier: GPL-2.0-or-later
// The candidate of a place in a function, with its mechanism.
#pragma once
#include "probes/families.h"

namespace djstap {

// Adds a place in a function, with the name of its point. If it cannot be probed, sets `refusal`.
void add_statement(const ImageView& view, const StatementAddress& statement, std::string name,
                   const Resolver& resolver, std::vector<Candidate>& out, std::string& refusal);

// Returns whether the image has DWARF; reports at the point if it has none.
bool check_dwarf(const ImageView& view, const ast::ProbePoint& point, Resolver& resolver);

} // namespace djstap
