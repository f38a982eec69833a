// SPDX-License-Identifier: GPL-2.0-or-later
// What was decided for each handler, in words (--explain).
#pragma once
#include "codegen/script_module.h"

#include <string>
#include <vector>

namespace djstap::codegen {

// A few lines a handler, then a line a global variable. `stacks`: bytes of kernel stack that each
// handler may use with all it calls, by variant.
std::vector<std::string> explain(const ScriptModule& script,
                                 const std::vector<CompiledHandler>& handlers,
                                 const std::vector<uint64_t>& stacks);

} // namespace djstap::codegen
