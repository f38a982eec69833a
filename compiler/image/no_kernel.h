// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include "image/kernel.h"

namespace djstap {

// Stands for the kernel on which programs run where nothing is known of it, nor needed: it has no
// files, no symbols, and no configuration.
const Kernel& no_kernel();

} // namespace djstap
