// LLVM module → optimized ELF object in memory.
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <map>
#include <memory>
#include <string>

namespace djstap::codegen {

// The x86-64 machine with the kernel's code model, or with that of user space. Initializes LLVM's
// target once a process.
std::unique_ptr<llvm::TargetMachine> make_target_machine(int optimization, bool user_space);

// Runs the optimizer (level 0…2) and yields the object's bytes; empty when LLVM cannot emit one.
// `frames` gets the bytes of stack that each function uses, those that use none excepted.
std::string compile_object(llvm::Module& module, llvm::TargetMachine& machine, int optimization,
                           std::map<std::string, uint64_t>& frames);

} // namespace djstap::codegen
