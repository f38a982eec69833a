// SPDX-License-Identifier: GPL-2.0-or-later
// What is said of a guest that has ended.
#pragma once
#include "driver/invocation.h"
#include "guest/guest.h"

namespace djstap::driver {

// Reports why the guest's end is not a success. Returns whether it is one.
bool report_end(Invocation& invocation, const GuestOutcome& outcome);

} // namespace djstap::driver
