// SPDX-License-Identifier: GPL-2.0-or-later
// The forms of a handler that a mechanism of the kernel calls directly.
#pragma once
#include "codegen/needs.h"

namespace djstap::codegen {

// Compiles the callbacks that the variant's sites can use. `scratch` as for compile_handler.
void compile_callbacks(ScriptModule& script, uint32_t variant, CompiledHandler& handler,
                       uint32_t& scratch);

} // namespace djstap::codegen
