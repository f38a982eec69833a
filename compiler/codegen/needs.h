// SPDX-License-Identifier: GPL-2.0-or-later
// Which handlers need no context, and what they need instead.
#pragma once
#include "codegen/script_module.h"

namespace djstap::codegen {

// What a handler's body needs of its environment.
enum class Needs : uint8_t {
    // It only changes per-CPU counters by values that are in registers or in memory: each change is
    // one instruction, atomic with respect to interrupts, on any CPU. If it can fail, it checks the
    // session's gate: the first error ends the session, and no hit is handled after it.
    Nothing,
    // It also writes records of numbers: preemption is disabled from reserve to commit, and the
    // session's gate is checked. There is no guard against re-entry: it calls nothing that could be
    // probed, and one instruction reserves a record.
    Preemption,
    // It also uses locked globals that hold numbers, indexed by numbers and padded strings, and
    // holds their locks (codegen/locked.h).
    Locks,
    // Anything else: djs_enter and djs_leave.
    Context
};
Needs needs_of(const ScriptModule& script, const Variant& variant);
// The same for what a return probe keeps from function entry: Needs::Locks only for clocks, without
// a lock.
Needs needs_of_entry_values(const ScriptModule& script, const Variant& variant);

// Returns the expression that a call without arguments yields if its function contains nothing
// else, and it only computes with numbers and intrinsics; else null.
const program::Expression* only_value(const program::Call& call);
// What a call of a function yields that only reads a process's memory at its parameter, and the
// number that it returns if that fails.
struct Attempt {
    const program::Expression* value = nullptr; // null: the function is another one
    int64_t otherwise = 0;
};
Attempt attempt_of(const program::Call& call);
// Returns whether the handler calls functions in most runs, so that it saves all registers once
// rather than around each call: clocks that it cannot read itself, and what inserts and erases
// elements.
bool calls_often(const ScriptModule& script, const Variant& variant);
// The same for what a return probe keeps from function entry.
bool entry_calls_often(const ScriptModule& script, const Variant& variant);
// Returns whether the handler assigns to $return. Such a handler has a context, which holds the
// result meanwhile.
bool sets_return_value(const Variant& variant);
// Returns whether the handler calls functions of the kernel that may be probed, or may fault, which
// calls such functions.
bool may_be_nested(const ScriptModule& script, const Variant& variant);

// Returns whether handlers read numbers in this space by an instruction of their own, where they
// can.
bool loads_are_inline(const ScriptModule& script, AddressSpace space);
// Returns whether the expression reads memory that may be unmapped.
bool may_fault(const AccessMap& accesses, program::Expression& expression);
// The same for a handler: its condition and its body.
bool may_fault(const Variant& variant);

} // namespace djstap::codegen
