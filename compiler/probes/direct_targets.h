// SPDX-License-Identifier: GPL-2.0-or-later
// Which handlers share the target of a direct call.
#pragma once
#include "probes/plan.h"

namespace djstap {

// Fills ProbePlan::targets from the sites that are djprobes, and their `target` and `next`.
void choose_direct_targets(ProbePlan& plan);

} // namespace djstap
