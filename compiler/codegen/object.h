// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles an LLVM module to an optimized ELF object in memory.
#pragma once
#include "codegen/codegen.h"

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace djstap::codegen {

// The size of a function in the object.
struct FunctionSize {
    uint64_t frame = 0;        // bytes of stack
    uint64_t instructions = 0; // as emitted
};
using FunctionSizes = std::map<std::string, FunctionSize>;

// Runs the optimizer (level 0…2; `quick`: a few passes instead of those of level 1) and returns the
// object's bytes; empty if LLVM cannot emit one. With a sanitizer, all loads and stores are
// instrumented. `sizes` gets the size of each function.
std::string compile_object(llvm::Module& module, llvm::TargetMachine& machine, int optimization,
                           bool quick, Sanitizer sanitizer, FunctionSizes& sizes);

// Stores the stack that each of the script's handlers needs (djs_handler.stack), in bytes, in the
// object; returns false if the table of handlers is not found.
bool store_stacks(std::string& object, const std::vector<uint32_t>& stacks);

} // namespace djstap::codegen
