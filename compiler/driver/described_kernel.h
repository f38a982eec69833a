// SPDX-License-Identifier: GPL-2.0-or-later
// What code generation needs to know of the kernel.
#pragma once
#include "codegen/codegen.h"
#include "image/kernel.h"
#include "module/module.h"

namespace djstap::driver {

// Describes a kernel and the runtime that was built for it; the result refers to `kit`.
CodegenKernel describe_kernel(const Kernel& kernel, const RuntimeKit& kit);

} // namespace djstap::driver
