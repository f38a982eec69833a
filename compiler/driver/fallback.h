// SPDX-License-Identifier: GPL-2.0-or-later
// --runtime=process, where a script names what jumps do not reach: uprobes do, so the whole script
// runs as a kernel module if this machine can run one.
#pragma once
#include "driver/invocation.h"

#include <string>
#include <vector>

namespace djstap::driver {

// Returns whether the run may begin again as a kernel module: for --runtime=process, if nothing is
// missing here.
bool can_fall_back(const Invocation& invocation);

// Returns why no jump can be placed in the process that is probed, whatever the script names;
// empty: jumps may be.
std::vector<std::string> objections_to_jumps(const Invocation& invocation);

// Has the run begin again as a kernel module, for these reasons.
// `source`: the script's id; `hint`: how the user avoids that.
void fall_back(Invocation& invocation, uint32_t source, std::vector<std::string> reasons,
               std::string hint);

// Reports that, in the run that has begun again.
void tell_of_fallback(Invocation& invocation);

} // namespace djstap::driver
