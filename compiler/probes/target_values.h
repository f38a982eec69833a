// SPDX-License-Identifier: GPL-2.0-or-later
// $variables, @cast and @var of a probe's body, resolved at one candidate.
#pragma once
#include "probes/access.h"
#include "probes/families.h"
#include "semantics/program.h"

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace djstap {

// What $variables mean at one place.
struct VariableScope {
    const DebugInfo* info = nullptr;
    const FunctionInfo* function = nullptr; // null: no target variables there
    std::vector<Variable> variables;        // visible there
    bool is_return = false;                 // $return has a meaning
    std::string tracepoint;                 // its name, where it is one: $$name
    // The debug information of a module that a script names; null where there is none.
    std::function<const DebugInfo*(const std::string&)> info_of_module;
    // The number of an image in the plan, which it is added to.
    std::function<uint32_t(const Image&)> number_of;
    const std::vector<std::string>* counters = nullptr; // of perf events, by number
    std::string where;                                  // for messages: "function 'vfs_read'"
    // The scope in which another value got its type: a probe's, or a function's (null). Yields null
    // where there is none.
    std::function<const VariableScope*(const program::Probe*)> scope_of;
};
// Upon the types of `info`, for values at this place.
AccessBuilder access_builder(const DebugInfo& info, const VariableScope& scope);
VariableScope make_scope(const DebugInfo* info, const Candidate& candidate);

using AccessResult = std::variant<TargetAccess, AccessError>;
AccessResult resolve_value(const program::TargetValue& value, const VariableScope& scope);

// The text of $x$, $x$$, $$vars and kin.
AccessResult pretty_value(const program::TargetValue& value, const VariableScope& scope);
AccessResult pretty_variables(const program::TargetValue& value, const VariableScope& scope);

// Appends the text of what `builder` stands at: {.member=value, …}. `depth` 1 shows nested
// structures as {...}.
void append_pretty(TargetAccess& out, const AccessBuilder& builder, const DebugInfo& info,
                   int depth, SourceRange range);

// "file:struct file *" of each variable, for -L.
std::vector<std::string> describe_variables(const VariableScope& scope);

} // namespace djstap
