// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include "codegen/codegen.h"

namespace djstap::driver {

// Returns what takes a kernel's place for scripts that run in user space: in djstap's process, or
// in a program (--runtime=process).
CodegenKernel user_space_kernel(bool in_process);

} // namespace djstap::driver
