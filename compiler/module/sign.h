// SPDX-License-Identifier: GPL-2.0-or-later
// Signs modules, for kernels that reject modules without a signature.
#pragma once
#include "module/module.h"

namespace djstap::module {

// Signs `bytes` with the kernel's own sign-file, through a file at `path`.
Status sign_module(const RuntimeKit& kit, const SigningKey& key, const std::string& path,
                   std::string& bytes);

} // namespace djstap::module
