// SPDX-License-Identifier: GPL-2.0-or-later
// The pattern in kernel.function("…").
#pragma once
#include "probes/families.h"

namespace djstap {

// Returns the pattern of the point's functions; nothing after reporting an error.
std::optional<FunctionPattern> function_pattern(const ast::PointComponent& component,
                                                Resolver& resolver);

// Reports that no function of the images matches the pattern in `component`, with a hint; returns
// false.
bool report_no_function(const ast::PointComponent& component, const FunctionPattern& pattern,
                        const std::vector<const ImageView*>& images, Resolver& resolver);

} // namespace djstap
