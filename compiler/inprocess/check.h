// SPDX-License-Identifier: GPL-2.0-or-later
// Checks what a script may use in user space.
#pragma once
#include "diagnostics/diagnostic.h"
#include "semantics/program.h"

namespace djstap {

// Reports everything in the program that needs a kernel, at its place: functions that the
// user-space runtime lacks (runtime/userspace/symbols.c), types, registers, C code. Returns false
// if there was any.
bool check_for_user_space(program::Program& program, Diagnostics& diagnostics);

} // namespace djstap
