// SPDX-License-Identifier: GPL-2.0-or-later
// -l, -L and the --dump options.
#pragma once
#include "driver/run_context.h"

namespace djstap::driver {

// Each prints to standard output; false: the context's diagnostics contain errors.
bool list_points(RunContext& context); // options.list_pattern
bool print_probe_types(RunContext& context);
bool print_aliases(RunContext& context);
bool print_functions(RunContext& context);

} // namespace djstap::driver
