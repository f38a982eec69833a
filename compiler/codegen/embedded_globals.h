// SPDX-License-Identifier: GPL-2.0-or-later
// What the script's C code calls for STAP_GLOBAL_GET_x and STAP_GLOBAL_SET_x.
#pragma once
#include "codegen/script_module.h"

namespace djstap::codegen {

// Compiles the accessors that the C code asked for; reports a statistic, which has none.
void emit_accessors(ScriptModule& script);

} // namespace djstap::codegen
