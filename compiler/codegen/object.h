// SPDX-License-Identifier: GPL-2.0-or-later
// LLVM module → optimized ELF object in memory.
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

// What a function of the object takes.
struct FunctionSize {
    uint64_t frame = 0;        // bytes of stack
    uint64_t instructions = 0; // as emitted
};
using FunctionSizes = std::map<std::string, FunctionSize>;

// Runs the optimizer (level 0…2) and yields the object's bytes; empty when LLVM cannot emit one.
// With a sanitizer all loads and stores ask it. `sizes` gets what each function takes.
std::string compile_object(llvm::Module& module, llvm::TargetMachine& machine, int optimization,
                           Sanitizer sanitizer, FunctionSizes& sizes);

// Writes into the object what each of the script's handlers needs of the stack (djs_handler.stack),
// in bytes; false where the table of handlers is not found.
bool store_stacks(std::string& object, const std::vector<uint32_t>& stacks);

} // namespace djstap::codegen
