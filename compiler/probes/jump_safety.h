// SPDX-License-Identifier: GPL-2.0-or-later
// Where --mechanism=kprobe-jump would crash the kernel.
#pragma once
#include "diagnostics/diagnostic.h"
#include "probes/images.h"
#include "probes/plan.h"

namespace djstap {

// Reports each site planned for a kprobe-jump where the kernel would make its kprobe a jump
// although control may enter the replaced bytes (docs/regions.md), and each one in code that the
// region analysis cannot read. Returns whether there is none. Analyzes the whole kernel, which
// takes seconds.
bool check_jumps(const ProbePlan& plan, Images& images, Diagnostics& diagnostics);

} // namespace djstap
