// SPDX-License-Identifier: GPL-2.0-or-later
// The candidates of functions and of their inline instances, with their mechanisms.
#pragma once
#include "probes/families.h"

namespace djstap {

struct Refusal {
    std::string name, why; // empty: nothing was refused
    bool never = false;    // as in MechanismChoice
};

// Adds the functions of one image, whose entries or returns the point names. What cannot be probed
// is left out, and yields a refusal.
void add_functions(const ast::ProbePoint& point, const ImageView& view,
                   std::vector<FunctionInfo> functions, bool is_return, const Resolver& resolver,
                   std::vector<Candidate>& out, Refusal& refusal);

// Adds an inline instance of a function: a kprobe at its first instruction.
void add_inlined(const ImageView& view, const StatementAddress& place, const Resolver& resolver,
                 std::vector<Candidate>& out, Refusal& refusal);

} // namespace djstap
