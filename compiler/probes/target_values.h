// SPDX-License-Identifier: GPL-2.0-or-later
// Resolves target variables, @cast and @var of a probe's body at one candidate.
#pragma once
#include "probes/access.h"
#include "probes/families.h"
#include "probes/former_names.h"
#include "semantics/program.h"

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace djstap {

// The meaning of target variables at one place.
struct VariableScope {
    const DebugInfo* info = nullptr;
    const FunctionInfo* function = nullptr;   // null: there are no target variables
    std::vector<Variable> variables;          // visible there
    bool is_return = false;                   // $return is defined
    std::string tracepoint;                   // the name of a tracepoint or marker: $$name
    std::optional<std::string> marker_format; // of a marker: $format
    std::optional<SdtMark> mark;              // of a static probe: $arg1 …, $$name, $$provider
    // Returns the debug information of a module that a script names; null if there is none.
    std::function<const DebugInfo*(const std::string&)> info_of_module;
    // Why headers that a script names cannot be used, by their names.
    const std::map<std::string, std::string>* header_failures = nullptr;
    // Adds an image to the plan and returns its number there.
    AccessBuilder::NumberOf number_of;
    const std::vector<std::string>* counters = nullptr; // of perf events, by number
    std::string where;                                  // for messages: "function 'vfs_read'"
    std::optional<FormerVariable> former;               // what an unknown variable is
    // Returns the scope in which another value got its type: a probe's, or that of functions
    // (null). Null if there is none.
    std::function<const VariableScope*(const program::Probe*)> scope_of;
};
// Returns a builder with the types of `info`, for values at this place.
AccessBuilder access_builder(const DebugInfo& info, const VariableScope& scope);
VariableScope make_scope(const DebugInfo* info, const Candidate& candidate);
// Returns the variable of this name, or the parameter that "argN" counts; null if there is none.
const Variable* find_variable(const VariableScope& scope, std::string_view name);
AccessError unknown_variable(const program::TargetValue& value, const VariableScope& scope);
// Adds to the error of a variable that is not available those that are.
AccessError with_available(AccessError error, const VariableScope& scope);

using AccessResult = std::variant<TargetAccess, AccessError>;
AccessResult resolve_value(const program::TargetValue& value, const VariableScope& scope);

// The value of an argument of a static probe.
AccessResult mark_argument(const VariableScope& scope, size_t number, SourceRange range);
// The strings of $x$, $x$$, $$vars and the like.
AccessResult pretty_value(const program::TargetValue& value, const VariableScope& scope);
AccessResult constant_text(std::string_view text);
AccessResult pretty_variables(const program::TargetValue& value, const VariableScope& scope);

// Appends the string for the position of `builder`: {.member=value, …}. `depth` 1 shows nested
// structures as {...}.
void append_pretty(TargetAccess& out, const AccessBuilder& builder, const DebugInfo& info,
                   int depth, SourceRange range);

// Returns "file:struct file *" for each variable, for -L.
std::vector<std::string> describe_variables(const VariableScope& scope);

} // namespace djstap
