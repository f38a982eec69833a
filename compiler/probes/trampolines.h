// SPDX-License-Identifier: GPL-2.0-or-later
// Determines which handlers share the trampoline of a direct call.
#pragma once
#include "probes/plan.h"

namespace djstap {

// Sets ProbePlan::trampolines from the djprobe sites, and the sites' `trampoline` and `next`.
void choose_trampolines(ProbePlan& plan);

} // namespace djstap
