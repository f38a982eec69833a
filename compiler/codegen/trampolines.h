// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles the trampolines of direct calls.
#pragma once
#include "codegen/script_module.h"

namespace djstap::codegen {

// Compiles one trampoline of ProbePlan::trampolines: a function that runs all its handlers without
// a visible effect on the probed function and its callers. `scratch` gets the string memory that
// they need with all their callees.
CompiledTrampoline compile_trampoline(ScriptModule& script, uint32_t trampoline, uint32_t& scratch);

} // namespace djstap::codegen
