// -l, -L and the --dump options.
#pragma once
#include "driver/run_state.h"

namespace djstap::driver {

// Each prints to standard output; false: there are errors in the state's diagnostics.
bool list_points(RunState& state); // options.list_pattern
bool print_probe_types(RunState& state);
bool print_aliases(RunState& state);
bool print_functions(RunState& state);

} // namespace djstap::driver
