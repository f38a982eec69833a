// SPDX-License-Identifier: GPL-2.0-or-later
// Checks what a script may use in user space.
#pragma once
#include "diagnostics/diagnostic.h"
#include "semantics/program.h"

namespace djstap {

// Where a script runs without a kernel: --runtime=user, --runtime=process.
enum class UserRuntime { InDjstap, InProgram };

// Reports everything in the program that needs a kernel, at its place: functions that the
// user-space runtime lacks (runtime/userspace/symbols.c), types, registers, C code. Inside a
// program, `@cast` and `@var` may name its types and variables in probes of its functions.
// Returns false if there was any.
bool check_for_user_space(program::Program& program, UserRuntime runtime, Diagnostics& diagnostics);

} // namespace djstap
