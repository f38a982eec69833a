// SPDX-License-Identifier: GPL-2.0-or-later
// The way from a script to its output, as one list of passes.
#pragma once
#include "driver/options.h"

namespace djstap::driver {

// Does what the options ask for and yields the exit status: 0, that of the -c command in a run, or
// 1 after an error that was printed.
int run(Options options);

// Prints a failure of the command line like every other error, and yields the exit status.
int refuse(const Failure& failure);

} // namespace djstap::driver
