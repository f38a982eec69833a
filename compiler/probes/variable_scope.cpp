// SPDX-License-Identifier: GPL-2.0-or-later
// The target variables of a place: which there are, and what is said of those that there are not.
#include "diagnostics/suggest.h"
#include "probes/target_values.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace djstap {

VariableScope make_scope(const DebugInfo* info, const Candidate& candidate) {
    VariableScope scope;
    scope.info = info;
    scope.function = candidate.function.get();
    scope.is_return = candidate.kind == HandlerKind::Return;
    if (!scope.function || !info)
        return scope;
    const bool is_tracepoint = candidate.site.mechanism == Mechanism::Tracepoint;
    if (const auto* marker = std::get_if<MarkerFormat>(&candidate.payload))
        scope.marker_format = marker->format;
    scope.mark = candidate.mark;
    scope.tracepoint = candidate.stub;
    const char* what = is_tracepoint         ? "tracepoint"
                       : scope.mark          ? "mark"
                       : scope.marker_format ? "marker"
                                             : "function";
    scope.where = candidate.site.mechanism == Mechanism::Process
                      ? candidate.site.point
                      : std::string(what) + " '" + scope.function->name + "'";
    if (is_tracepoint || scope.marker_format)
        scope.tracepoint = scope.function->name;
    if (candidate.scope != 0) {
        StatementAddress inlined;
        inlined.address = candidate.scope_address;
        inlined.scope = candidate.scope;
        scope.variables = info->variables_of_inlined(inlined);
    } else if (candidate.scope_address != 0)
        scope.variables = info->variables_at(candidate.scope_address);
    else
        scope.variables = scope.function->parameters;
    return scope;
}

const Variable* find_variable(const VariableScope& scope, std::string_view name) {
    // The innermost of several variables of one name is listed last.
    for (auto it = scope.variables.rbegin(); it != scope.variables.rend(); ++it)
        if (it->name == name)
            return &*it;
    // $arg1 … by position; at a static probe those are its own
    if (!scope.mark && name.size() > 3 && name.substr(0, 3) == "arg" &&
        std::all_of(name.begin() + 3, name.end(),
                    [](char c) { return std::isdigit(static_cast<unsigned char>(c)); })) {
        size_t number = std::strtoul(std::string(name.substr(3)).c_str(), nullptr, 10);
        std::vector<const Variable*> parameters;
        for (const Variable& variable : scope.variables)
            if (variable.is_parameter)
                parameters.push_back(&variable);
        if (number >= 1 && number <= parameters.size())
            return parameters[number - 1];
    }
    return nullptr;
}

namespace {

// Returns "available variables: $a, $b"; empty if there are none.
std::string available_variables(const std::vector<std::string>& names) {
    std::string hint;
    constexpr size_t most = 16;
    for (size_t i = 0; i < names.size() && i < most; i++)
        hint += (i ? ", " : "available variables: ") + names[i];
    return hint;
}

} // namespace

AccessError with_available(AccessError error, const VariableScope& scope) {
    std::vector<std::string> names;
    for (const Variable& variable : scope.variables)
        if (variable.location.kind != LocationKind::None)
            names.push_back("$" + variable.name);
    if (error.kind == DiagnosticKind::TargetNotAvailable && error.hint.empty())
        error.hint = available_variables(names);
    return error;
}

AccessError unknown_variable(const program::TargetValue& value, const VariableScope& scope) {
    AccessError error{
        DiagnosticKind::UnknownTargetVariable, value.range, value.name, scope.where, {}, {}};
    std::vector<std::string> names;
    for (size_t i = 0; scope.mark && i < scope.mark->arguments.size(); i++)
        names.push_back("$arg" + std::to_string(i + 1));
    for (const Variable& variable : scope.variables)
        names.push_back("$" + variable.name);
    if (scope.is_return)
        names.emplace_back("$return");
    if (scope.marker_format)
        names.insert(names.end(), {"$name", "$format"});
    if (value.name == "$return" && !scope.is_return && scope.tracepoint.empty())
        error.hint = "it is available when the function returns: add .return to the probe point";
    if (error.hint.empty())
        error.hint = did_you_mean(value.name, names);
    if (error.hint.empty() && scope.function)
        error.hint = scope.function->parameters_hint;
    if (error.hint.empty() && names.empty())
        error.hint = "no variables are available there";
    if (error.hint.empty())
        error.hint = available_variables(names);
    return error;
}

std::vector<std::string> describe_variables(const VariableScope& scope) {
    std::vector<std::string> out;
    if (scope.is_return && scope.function && scope.function->return_type &&
        *scope.function->return_type != 0)
        out.push_back("$return:" + scope.info->type_name(*scope.function->return_type));
    for (size_t i = 0; scope.mark && i < scope.mark->arguments.size(); i++)
        if (scope.mark->arguments[i].location.kind != LocationKind::None)
            out.push_back("$arg" + std::to_string(i + 1) + ":long");
    for (const Variable& variable : scope.variables)
        if (variable.location.kind != LocationKind::None)
            out.push_back("$" + variable.name + ":" + scope.info->type_name(variable.type));
    return out;
}

} // namespace djstap
