// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of the language that walk over the call stack, or yield symbols of addresses.
#pragma once
#include "semantics/program.h"

namespace djstap::codegen {

// Returns whether an intrinsic begins with the addresses of the kernel's call stack.
bool walks_stack(const std::string& intrinsic);
// Returns whether the script needs the table of symbols (runtime/include/symbols.h).
bool uses_symbols(const program::Program& program);
// Returns whether the script takes stacks of programs, or asks for their symbols.
bool uses_programs(const program::Program& program);
// Returns DJS_SYMBOLS_* for a call whose text readers can make of symbols; else 0.
char symbols_of(const program::Expression& node);

} // namespace djstap::codegen
