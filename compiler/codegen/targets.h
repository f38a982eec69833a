// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles the targets of direct calls.
#pragma once
#include "codegen/script_module.h"

namespace djstap::codegen {

// Compiles one target of ProbePlan::targets: a function that runs all its handlers without a
// visible effect on the probed function and its callers. `scratch` gets the string memory that they
// need with all their callees.
CompiledTarget compile_target(ScriptModule& script, uint32_t target, uint32_t& scratch);

} // namespace djstap::codegen
