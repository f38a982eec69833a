// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles script functions and the handlers of every variant.
#pragma once
#include "codegen/script_module.h"

namespace djstap::codegen {

// Compiles all script functions; fills ScriptModule::functions.
void compile_functions(ScriptModule& script);

// Compiles the conditions that arm sites: ScriptModule::conditions, all but their locks.
void compile_conditions(ScriptModule& script, uint32_t& scratch);

// Compiles one variant's handler: the parts that the runtime calls, for every mechanism but direct
// calls. `scratch` gets the string memory that it needs with all its callees.
CompiledHandler compile_handler(ScriptModule& script, uint32_t variant, uint32_t& scratch);

// Sets the locks that the variant's handler takes. Call it after all bodies are compiled.
void choose_locks(const ScriptModule& script, uint32_t variant, CompiledHandler& handler);
void choose_condition_locks(ScriptModule& script);

} // namespace djstap::codegen
