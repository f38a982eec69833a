// SPDX-License-Identifier: GPL-2.0-or-later
// --info: what this machine and its kernels support, and what is missing.
#pragma once
#include "driver/invocation.h"

namespace djstap::driver {

// Prints text, or one object with --json. Missing things are not errors: it always succeeds.
bool print_info(Invocation& invocation);

} // namespace djstap::driver
