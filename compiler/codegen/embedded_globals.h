// SPDX-License-Identifier: GPL-2.0-or-later
// The functions that embedded C code calls for STAP_GLOBAL_GET_x and STAP_GLOBAL_SET_x.
#pragma once
#include "codegen/script_module.h"

namespace djstap::codegen {

// Compiles the accessors that the C code uses; reports statistics, which have none.
void emit_accessors(ScriptModule& script);

} // namespace djstap::codegen
