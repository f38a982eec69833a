// How a target with return handlers goes on in the probed function, and leaves when it has
// returned.
#pragma once
#include "codegen/script_module.h"

namespace djstap::codegen {

// The registers that a function's result may be in.
struct FunctionResult {
    llvm::Value* rax = nullptr;
    llvm::Value* rdx = nullptr;
};

class Continuation {
  public:
    // `target` is `plan.targets[index]`, and `function` its code: it takes the six argument
    // registers and yields the two of a result.
    Continuation(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Function* function,
                 uint32_t index);

    // Counts the call in, and calls the function where it goes on after its fentry site, with the
    // arguments that it was given.
    FunctionResult call();
    // Counts it out, and returns to the function's caller.
    void leave(const FunctionResult& result);

    // What djs_target.dispatch and .aim are; null where there is one function of the kernel only.
    llvm::Constant* dispatch() const { return dispatch_; }
    llvm::Constant* aim() const { return aim_; }

  private:
    void emit_dispatch();
    void emit_static_call();
    void emit_second_return();
    void count(const char* instruction);
    llvm::Constant* code_symbol(const std::string& name);

    ScriptModule& script_;
    llvm::IRBuilder<>& builder_;
    llvm::Function* function_;
    std::string name_; // of the dispatch
    const std::vector<uint64_t>& functions_;
    llvm::Constant* dispatch_ = nullptr;
    llvm::Constant* aim_ = nullptr;
};

} // namespace djstap::codegen
