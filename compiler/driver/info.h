// SPDX-License-Identifier: GPL-2.0-or-later
// --info: what this machine and its kernels support, and what is missing.
#pragma once
#include "driver/run_context.h"

namespace djstap::driver {

// Prints text, or with --json one object. Missing things are no error: it always succeeds.
bool print_info(RunContext& context);

} // namespace djstap::driver
