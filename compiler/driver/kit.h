// SPDX-License-Identifier: GPL-2.0-or-later
// The runtime's kit for the kernel of a script.
#pragma once
#include "driver/invocation.h"
#include "driver/passes.h"

namespace djstap::driver {

// Begins to open the runtime's kit, or to build it if the kernel has none yet: that takes longer
// than resolving the probes, and neither needs the other. Does nothing if the
// kernel cannot be opened: resolving the probes reports that. A run that ends before generate()
// waits for the kit after its last message, so that the next run has it.
void begin_kit(Invocation& invocation);

// Adds to the kit what the script's object and its tables need in addition to what was known when
// the kit was begun. Embedded C code may call anything.
Status complete_kit(Invocation& invocation, GeneratedScript& generated);

} // namespace djstap::driver
