// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers that need no context: which they are, and the record path that is compiled into them.
#pragma once
#include "codegen/script_module.h"

namespace djstap::codegen {

// What a handler's body needs of its surroundings.
enum class Needs : uint8_t {
    // It only changes per-CPU counters by values that are in registers: each change is one
    // instruction, whole
    // whatever interrupts it, on whatever CPU it happens.
    Nothing,
    // It also writes records of numbers: preemption off from reserve to commit, and the session's
    // gate. No guard:
    // it calls nothing that could be probed, and a record is reserved by one instruction.
    Preemption,
    // It also uses locked globals that hold numbers, under keys that are numbers: djs_lock_enter
    // and
    // djs_lock_leave (codegen/locked.h).
    Locks,
    // Anything else: djs_enter and djs_leave.
    Context
};
Needs needs_of(const ScriptModule& script, const Variant& variant);
// The same for what a return probe keeps of the entry.
Needs needs_of_entry_values(const ScriptModule& script, const Variant& variant);

// An intrinsic's value without a call, where it has one: pid(), tid(), cpu() … Null: it must be
// called.
llvm::Value* inline_intrinsic(ScriptModule& script, llvm::IRBuilder<>& builder,
                              const std::string& name);
bool has_inline_intrinsic(const ScriptModule& script, const std::string& name);

// A function NAME that calls one of the runtime's and saves what that may change (PreserveMost), so
// that its caller's fast path has no register to save for it. With a size it takes and yields an
// i32.
llvm::Function* slow_function(ScriptModule& script, const char* name, const char* runtime_name,
                              bool takes_size);

// The parts of a handler with Needs::Preemption.
class LeanRecorder {
  public:
    // False where the runtime does not tell all the offsets that this needs.
    static bool possible(const ScriptModule& script);

    LeanRecorder(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Function* function)
        : script_(script), builder_(builder), function_(function) {}

    // Leaves for `closed` unless the session runs; otherwise goes on with preemption off.
    void enter(llvm::BasicBlock* closed);
    void leave();
    // Room for a record; goes on in a block where there is some, and to `none` (counted as lost)
    // otherwise.
    llvm::Value* reserve(uint32_t format, uint32_t size, llvm::BasicBlock* none);
    void commit(llvm::Value* record, uint32_t size);

  private:
    ScriptModule& script_;
    llvm::IRBuilder<>& builder_;
    llvm::Function* function_;
};

} // namespace djstap::codegen
