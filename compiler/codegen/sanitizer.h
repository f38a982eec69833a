// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel's sanitizers in generated code: Kbuild instruments only what it compiles itself.
#pragma once
#include "codegen/codegen.h"

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

namespace djstap::codegen {

// Returns the passes that instrument every load and store of the module's functions: LLVM's
// AddressSanitizer as for a kernel with KASAN, its ThreadSanitizer as for one with KCSAN (the
// kernel's scripts/Makefile.kasan and Makefile.kcsan give clang the same options). Accesses through
// the gs segment are excluded, because per-CPU memory has no shadow; so are stacks and the script's
// tables. Returns none for Sanitizer::None, and if this LLVM has other options.
llvm::ModulePassManager sanitizer_passes(llvm::Module& module, Sanitizer sanitizer);

} // namespace djstap::codegen
