// Compiles the targets of direct calls.
#pragma once
#include "codegen/script_module.h"

namespace djstap::codegen {

// Compiles one target of ProbePlan::targets: a function that preserves every register and runs all
// its handlers. `scratch` gets the string memory that they need with all that they call.
CompiledTarget compile_target(ScriptModule& script, uint32_t target, uint32_t& scratch);

} // namespace djstap::codegen
