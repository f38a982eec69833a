// SPDX-License-Identifier: GPL-2.0-or-later
// `djstap regions`: where a jump may be planted in a program or a kernel.
#pragma once
#include "driver/regions_options.h"

namespace djstap::driver {

// Prints the answer or an error, and returns the exit status.
int run_regions(const RegionsOptions& options);

} // namespace djstap::driver
