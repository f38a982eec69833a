// SPDX-License-Identifier: GPL-2.0-or-later
// What a script may ask for in user space.
#pragma once
#include "diagnostics/diagnostic.h"
#include "semantics/program.h"

namespace djstap {

// Reports each thing that the program needs a kernel for, in the place where it stands: functions
// that the runtime has none of (user/symbols.c), types, registers, C code. False:
// there was one.
bool check_for_user_space(program::Program& program, Diagnostics& diagnostics);

} // namespace djstap
