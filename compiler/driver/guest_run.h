// Pass 5 in a throw-away guest.
#pragma once
#include "driver/run_state.h"

namespace djstap::driver {

// Decides whether the command of -c sees this machine's files in the guest, or copies of those that
// it needs (RunState::guest_files). False: they were asked for and are not to be had. Without
// --guest it does nothing.
bool settle_guest_files(RunState& state);

bool run_in_guest(RunState& state);

} // namespace djstap::driver
