// SPDX-License-Identifier: GPL-2.0-or-later
// How a trampoline with return handlers continues in the probed function, and returns after it.
#pragma once
#include "arch/codegen.h"
#include "codegen/script_module.h"

namespace djstap::codegen {

using arch::FunctionResult;

class Continuation {
  public:
    // The number of a trampoline's parameter, after the six argument registers: the value of the
    // result register at its beginning. Code that redirects the call's return may have put a result
    // there (a kprobe that replaces the function, see "Changing Execution Path" in
    // Documentation/trace/kprobes.rst).
    static constexpr unsigned entry_result = 6;
    static llvm::FunctionType* trampoline_type(ScriptModule& script);
    // Makes a function of that type begin by setting that parameter.
    static void keep_result(ScriptModule& script, llvm::Function* function);

    // `function` is the code of `plan.trampolines[index]`: of trampoline_type(), and with
    // keep_result().
    Continuation(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Function* function,
                 uint32_t index);

    // Counts the call in, and calls the function after its fentry site, with the original
    // arguments. That is the return address of the direct call: behind the site, or in the function
    // with which a livepatch replaces it (ftrace stores its address there; klp_ftrace_handler in
    // kernel/livepatch/patch.c).
    FunctionResult call();
    // Counts the call out, and returns to the function's caller.
    void leave(const FunctionResult& result);

    // The values of djs_trampoline.dispatch and .aim; null if there is only one function, and it is
    // the kernel's.
    llvm::Constant* dispatch() const { return dispatch_; }
    llvm::Constant* aim() const { return aim_; }

  private:
    void emit_dispatch();
    void emit_static_call();
    void emit_second_return();
    void count(int64_t calls);
    llvm::Value* is_expected(llvm::Value* from);
    llvm::Value* return_address();
    FunctionResult call_to(const std::string& callee, llvm::Value* result, llvm::Value* from);

    ScriptModule& script_;
    llvm::IRBuilder<>& builder_;
    llvm::Function* function_;
    std::string name_; // of the dispatch
    const std::vector<uint64_t>& functions_;
    llvm::Constant* dispatch_ = nullptr;
    llvm::Constant* aim_ = nullptr;
};

// The function that a trampoline with return handlers jumps to if it skips all its work: it returns
// to where the direct call was made, with the original arguments.
llvm::Function* resume_function(ScriptModule& script, llvm::FunctionType* type);

} // namespace djstap::codegen
