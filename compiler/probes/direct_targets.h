// SPDX-License-Identifier: GPL-2.0-or-later
// Determines which handlers share the target of a direct call.
#pragma once
#include "probes/plan.h"

namespace djstap {

// Sets ProbePlan::targets from the djprobe sites, and the sites' `target` and `next`.
void choose_direct_targets(ProbePlan& plan);

} // namespace djstap
