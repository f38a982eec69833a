// SPDX-License-Identifier: GPL-2.0-or-later
// Pass 5 in a disposable guest.
#pragma once
#include "driver/passes.h"

namespace djstap::driver {

// Decides whether the command of -c sees this machine's files in the guest, or copies of the files
// that it needs. Returns nothing if the files were requested and are not available.
std::optional<GuestFiles> settle_guest_files(Invocation& invocation);

std::optional<FinishedRun> run_in_guest(Invocation& invocation, const RunnableScript& runnable);

} // namespace djstap::driver
