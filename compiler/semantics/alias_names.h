// SPDX-License-Identifier: GPL-2.0-or-later
// Points that only begin like the name of an alias: what is wrong with them.
#pragma once
#include "ast/ast.h"
#include "diagnostics/diagnostic.h"
#include "semantics/points.h"

#include <string>
#include <vector>

namespace djstap::semantics {

// Returns whether a component's name contains a *.
bool has_star(const std::vector<ast::PointComponent>& components);

// Returns how many of the components begin the name of some alias, if only aliases begin with the
// first two of them: perf.hw is the beginning of aliases, perf.type that of a family. 0: a family
// is meant.
size_t beginning_of_alias(const std::vector<ast::PointComponent>& components,
                          const std::vector<std::string>& aliases, const PointShapes& shapes);

// Reports that no name of an alias that begins with the first components goes on like this.
void report_unknown_after(const std::vector<ast::PointComponent>& components, size_t good,
                          const std::vector<std::string>& aliases, Diagnostics& diagnostics);

} // namespace djstap::semantics
