// SPDX-License-Identifier: GPL-2.0-or-later
// Clocks that handlers read themselves, or call without a context.
#pragma once
#include "codegen/script_module.h"

#include <llvm/IR/IRBuilder.h>

#include <functional>

namespace djstap::codegen {

// Returns whether the intrinsic is a clock that a handler with Needs::Locks may read or call: what
// it calls may be probed, and the guard of LockedRun keeps the handler from being called by itself.
bool is_clock(const ScriptModule& script, const std::string& intrinsic);

// Returns whether handlers read the clock from the kernel's own structure, and only call the
// kernel when it does not count the processor's cycles, or is just being updated.
bool is_read_inline(const ScriptModule& script, const std::string& intrinsic);
// Emits that; `call` emits the call. Yields nanoseconds. As __ktime_get_fast_ns() and
// __ktime_get_real_fast() in kernel/time/timekeeping.c.
llvm::Value* read_kernel_clock(ScriptModule& script, llvm::IRBuilder<>& builder,
                               const std::string& intrinsic,
                               const std::function<llvm::Value*()>& call);

} // namespace djstap::codegen
