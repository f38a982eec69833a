// SPDX-License-Identifier: GPL-2.0-or-later
// -l, -L and the --dump options.
#pragma once
#include "driver/invocation.h"

namespace djstap::driver {

// Each prints to standard output; false: the invocation's diagnostics contain errors.
bool list_points(Invocation& invocation); // options.list_pattern
bool print_probe_types(Invocation& invocation);
bool print_aliases(Invocation& invocation);
bool print_functions(Invocation& invocation);

} // namespace djstap::driver
