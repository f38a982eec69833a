// SPDX-License-Identifier: GPL-2.0-or-later
// Describes what was decided for each handler (--explain).
#pragma once
#include "codegen/script_module.h"

#include <string>
#include <vector>

namespace djstap::codegen {

// Returns a few lines per handler, then one per global variable. `stacks`: bytes of kernel stack
// that each handler may use with all its callees, by variant.
std::vector<std::string> explain(const ScriptModule& script,
                                 const std::vector<CompiledHandler>& handlers,
                                 const std::vector<uint64_t>& stacks);

} // namespace djstap::codegen
