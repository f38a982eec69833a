// SPDX-License-Identifier: GPL-2.0-or-later
// Scripts that name what earlier kernels had: today's names of the same (former_names.def).
#pragma once
#include "probes/families.h"

#include <optional>
#include <string>
#include <string_view>

namespace djstap {

// Resolves a point as its family does. If it names nothing, is not optional, and former_names.def
// has another name for what it names, that is probed, which is reported.
bool resolve_by_any_name(const ast::ProbePoint& point, const ProbeForms& forms, Resolver& resolver,
                         std::vector<Candidate>& out);

// What a function had as a variable before.
struct FormerVariable {
    std::string variable, member; // without $
};
std::optional<FormerVariable> former_variable(std::string_view function, std::string_view name);

} // namespace djstap
