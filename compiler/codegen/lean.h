// SPDX-License-Identifier: GPL-2.0-or-later
// What handlers without a context (codegen/needs.h) do by instructions of their own: intrinsics,
// checks of the gate and the stack, the record path.
#pragma once
#include "codegen/script_module.h"
#include "include/script.h"

#include <array>

namespace djstap::codegen {

// Returns an intrinsic's value without a call, if possible: pid(), tid(), cpu() … Null: it must be
// called.
llvm::Value* inline_intrinsic(ScriptModule& script, llvm::IRBuilder<>& builder,
                              const std::string& name);
bool has_inline_intrinsic(const ScriptModule& script, const std::string& name);

// Returns whether the call is ppid(), and a handler finds it itself (reads.cpp).
bool is_parent(const ScriptModule& script, const program::Call& call);

// Returns whether a handler without a context can record the process and thread, as far as the
// script records these.
bool has_inline_fields(const ScriptModule& script);

// Returns whether the expression is execname(), and the handler knows where the kernel keeps it.
bool is_task_name(const ScriptModule& script, const program::Expression& expression);
// Returns the address of the current task's name, of DJS_NAME_BYTES.
llvm::Value* task_name(ScriptModule& script, llvm::IRBuilder<>& builder);

// Returns the call if the expression is user_string_n() with a number of bytes that a handler reads
// itself; else null.
const program::Call* short_process_text(const ScriptModule& script,
                                        const program::Expression& expression);
// Returns the bytes that it has at most.
uint32_t short_text_bytes(const ScriptModule& script, const program::Call& call);

// Returns whether the expression is a padded string, that is one of whole words with zeros from its
// end, usually without a call: a literal, execname(), a short string of the process, or probefunc()
// where `function` says what it is.
bool is_padded_text(const ScriptModule& script, const std::string* function,
                    const program::Expression& expression);
// Returns the words of the current task's name, padded.
std::array<llvm::Value*, 2> task_name_words(ScriptModule& script, llvm::IRBuilder<>& builder);
// Returns a word of a string with zeros from its end, if that is in the word.
llvm::Value* until_end(const ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Value* word);
// Returns whether a padded string does not end in this word of it, as a bool.
llvm::Value* continues(llvm::IRBuilder<>& builder, llvm::Value* word);

// Jumps to `closed` if djs_gate has one of these flags, by default unless the session is running;
// otherwise continues in a new block.
void check_gate(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::BasicBlock* closed,
                uint32_t flags = DJS_HANDLER_CHECKS_STATE);

// Returns whether the kernel is known to tell by its preemption count where a hit is.
bool knows_interrupts(const ScriptModule& script);
// Returns whether the hit is in an interrupt, whose stack need not be aligned to its size: only the
// runtime can tell how much of it is left.
llvm::Value* is_in_interrupt(ScriptModule& script, llvm::IRBuilder<>& builder);

// Continues in a new block if the stack has room for what the kernel does at a fault of the
// handler's; otherwise (counted) jumps to `skipped`.
void check_stack(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::BasicBlock* skipped);

// Calls one of the runtime's functions through a function `name` that saves what it may change
// (PreserveMost), so that the fast path of its caller has no register to save for the call.
llvm::CallInst* call_slow(ScriptModule& script, llvm::IRBuilder<>& builder, const char* name,
                          const char* runtime_name, llvm::ArrayRef<llvm::Value*> arguments);
llvm::CallInst* call_slow(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::StringRef name,
                          llvm::Function* callee, llvm::ArrayRef<llvm::Value*> arguments);

// The parts of a handler with Needs::Preemption.
class LeanRecorder {
  public:
    // False if the runtime does not provide all the offsets that this needs.
    static bool possible(const ScriptModule& script);

    LeanRecorder(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Function* function)
        : script_(script), builder_(builder), function_(function) {}

    // Jumps to `closed` unless the session is running; otherwise continues with preemption
    // disabled.
    void enter(llvm::BasicBlock* closed);
    void leave();
    // Reserves a record; continues in a new block on success, and in `none` (counted as lost)
    // otherwise.
    llvm::Value* reserve(uint32_t format, uint32_t size, llvm::BasicBlock* none);
    void commit(llvm::Value* record, uint32_t size);

  private:
    ScriptModule& script_;
    llvm::IRBuilder<>& builder_;
    llvm::Function* function_;
};

} // namespace djstap::codegen
