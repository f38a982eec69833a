#include "probes/target_values.h"

#include "diagnostics/suggest.h"

#include <algorithm>
#include <cctype>

namespace djstap {

VariableScope make_scope(const DebugInfo* info, const Candidate& candidate) {
    VariableScope scope;
    scope.info = info;
    scope.function = candidate.function.get();
    scope.is_return = candidate.kind == HandlerKind::Return;
    if (!scope.function || !info)
        return scope;
    bool is_tracepoint = candidate.site.mechanism == Mechanism::Tracepoint;
    scope.where = (is_tracepoint ? "tracepoint '" : "function '") + scope.function->name + "'";
    if (is_tracepoint)
        scope.tracepoint = scope.function->name;
    if (candidate.scope_address != 0)
        scope.variables = info->variables_at(candidate.scope_address);
    else
        scope.variables = scope.function->parameters;
    return scope;
}

namespace {

const Variable* find_variable(const VariableScope& scope, std::string_view name) {
    // The innermost of several variables of one name is listed last.
    for (auto it = scope.variables.rbegin(); it != scope.variables.rend(); ++it)
        if (it->name == name)
            return &*it;
    // $arg1 … by position
    if (name.size() > 3 && name.substr(0, 3) == "arg" &&
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

AccessError unknown_variable(const program::TargetValue& value, const VariableScope& scope) {
    AccessError error{
        DiagnosticKind::UnknownTargetVariable, value.range, value.name, scope.where, {}, {}};
    std::vector<std::string> names;
    for (const Variable& variable : scope.variables)
        names.push_back("$" + variable.name);
    if (scope.is_return)
        names.emplace_back("$return");
    error.hint = did_you_mean(value.name, names);
    if (error.hint.empty() && names.empty())
        error.hint = "it has no variables that can be read there";
    if (error.hint.empty()) {
        error.hint = "there are";
        for (size_t i = 0; i < names.size() && i < 16; i++)
            error.hint += (i ? ", " : " ") + names[i];
    }
    return error;
}

std::optional<AccessError> begin(AccessBuilder& builder, const program::TargetValue& value,
                                 const VariableScope& scope);

// p[i], where p points to the first of several.
bool is_indexed(const program::TargetValue& value) {
    return !value.components.empty() &&
           value.components.front().kind == program::TargetComponent::Kind::Index;
}

constexpr int max_origins = 64;

// The type that a value keeps from where it was taken; nothing where it is not known or there is
// nothing to point to.
std::optional<TypeId> pointed_type(const program::TargetValue& value, const VariableScope& scope,
                                   int depth) {
    if (!value.origin || !scope.scope_of || depth > max_origins)
        return std::nullopt;
    const VariableScope* origin_scope = scope.scope_of(value.origin->probe);
    if (!origin_scope)
        return std::nullopt;
    const program::TargetValue& from = *value.origin->value;
    AccessBuilder builder(*scope.info);
    if (from.base == program::TargetValue::Base::Autocast) {
        auto inner = pointed_type(from, *origin_scope, depth + 1);
        if (!inner)
            return std::nullopt;
        builder.start_pointer_to(*inner, nullptr, is_indexed(from));
    } else if (begin(builder, from, *origin_scope)) {
        return std::nullopt;
    }
    static const program::Number zero;
    for (const program::TargetComponent& component : from.components)
        if (!(component.kind == program::TargetComponent::Kind::Member
                  ? builder.member(component.member, component.range)
                  : builder.index(&zero, component.range)))
            return std::nullopt;
    if (from.address_of)
        return builder.type();
    const CType type = scope.info->resolve(builder.type());
    switch (type.kind) {
    case CTypeKind::Pointer:
    case CTypeKind::Array:
        return type.target;
    case CTypeKind::Struct:
    case CTypeKind::Union: // its value is its address
        return builder.type();
    default:
        return std::nullopt;
    }
}

// Finds the base of a value and leaves `builder` there.
std::optional<AccessError> begin(AccessBuilder& builder, const program::TargetValue& value,
                                 const VariableScope& scope) {
    using Base = program::TargetValue::Base;
    if (value.base == Base::Cast) {
        std::string name = value.cast_type;
        while (!name.empty() && name.back() == ' ')
            name.pop_back();
        bool pointer = !name.empty() && name.back() == '*';
        while (!name.empty() && (name.back() == '*' || name.back() == ' '))
            name.pop_back();
        std::optional<TypeId> type;
        for (const char* prefix : {"", "struct ", "union "})
            if (!type)
                type = scope.info->type_by_name(prefix + name);
        if (!type)
            return AccessError{DiagnosticKind::UnknownCastType,
                               value.range,
                               value.cast_type,
                               {},
                               {},
                               "write it as C does: \"struct task_struct\""};
        CTypeKind kind = scope.info->resolve(*type).kind;
        const bool indexed = is_indexed(value) && !pointer && kind != CTypeKind::Array;
        bool structure = kind == CTypeKind::Struct || kind == CTypeKind::Union;
        if (pointer || structure || !value.components.empty())
            builder.start_pointer_to(*type, value.operand.get(), indexed);
        else
            builder.start_value(Access::Base::Operand, *type, value.operand.get());
        return std::nullopt;
    }
    if (value.base == Base::Autocast) {
        const std::optional<TypeId> type = pointed_type(value, scope, 0);
        if (!type)
            return AccessError{DiagnosticKind::UntypedValue,
                               value.range,
                               value.name,
                               {},
                               {},
                               "say it: @cast(" + value.name + ", \"struct …\")"};
        builder.start_pointer_to(*type, value.operand.get(), is_indexed(value));
        return std::nullopt;
    }
    if (value.base == Base::GlobalVariable) {
        auto variable = scope.info->global(value.name);
        if (!variable)
            return AccessError{
                DiagnosticKind::UnknownKernelVariable, value.range, value.name, {}, {}, {}};
        if (!builder.start(variable->location, variable->type, value.name, "the kernel",
                           value.range))
            return builder.error();
        return std::nullopt;
    }
    if (value.name == "@entry")
        return AccessError{DiagnosticKind::EntryOutsideReturn,
                           value.range,
                           {},
                           {},
                           {},
                           "this alternative of the alias is not a return probe"};
    if (!scope.function)
        return AccessError{
            DiagnosticKind::NoTargetVariables, value.range, value.name, "this probe point", {}, {}};
    std::string name = value.name.substr(1);
    if (name == "return" && scope.is_return) {
        const auto& type = scope.function->return_type;
        if (!type || *type == 0)
            return AccessError{DiagnosticKind::ReturnValueUnavailable,
                               value.range,
                               scope.where,
                               type ? "it returns nothing" : "its type is not known",
                               {},
                               {}};
        builder.start_value(Access::Base::ReturnValue, *type);
        return std::nullopt;
    }
    const Variable* variable = find_variable(scope, name);
    if (!variable) {
        // Not a variable of the function: a global of the kernel by that name.
        if (auto global = scope.info->global(name);
            global &&
            builder.start(global->location, global->type, value.name, "the kernel", value.range))
            return std::nullopt;
        return unknown_variable(value, scope);
    }
    if (!builder.start(variable->location, variable->type, value.name, scope.where, value.range))
        return builder.error();
    return std::nullopt;
}

} // namespace

AccessResult resolve_value(const program::TargetValue& value, const VariableScope& scope) {
    if (value.base == program::TargetValue::Base::Variable && value.name.starts_with("$$"))
        return pretty_variables(value, scope);
    if (value.pretty > 0)
        return pretty_value(value, scope);
    AccessBuilder builder(*scope.info);
    if (auto error = begin(builder, value, scope))
        return *error;
    for (const program::TargetComponent& component : value.components) {
        bool good = component.kind == program::TargetComponent::Kind::Member
                        ? builder.member(component.member, component.range)
                        : builder.index(component.index.get(), component.range);
        if (!good)
            return builder.error();
    }
    if (!builder.finish(value.address_of, value.range))
        return builder.error();
    TargetAccess out;
    out.value = builder.access();
    return out;
}

AccessResult pretty_value(const program::TargetValue& value, const VariableScope& scope) {
    AccessBuilder builder(*scope.info);
    if (auto error = begin(builder, value, scope))
        return *error;
    for (const program::TargetComponent& component : value.components) {
        bool good = component.kind == program::TargetComponent::Kind::Member
                        ? builder.member(component.member, component.range)
                        : builder.index(component.index.get(), component.range);
        if (!good)
            return builder.error();
    }
    TargetAccess out;
    out.is_text = true;
    append_pretty(out, builder, *scope.info, value.pretty, value.range);
    return out;
}

std::vector<std::string> describe_variables(const VariableScope& scope) {
    std::vector<std::string> out;
    if (scope.is_return && scope.function && scope.function->return_type &&
        *scope.function->return_type != 0)
        out.push_back("$return:" + scope.info->type_name(*scope.function->return_type));
    for (const Variable& variable : scope.variables)
        if (variable.location.kind != LocationKind::None)
            out.push_back("$" + variable.name + ":" + scope.info->type_name(variable.type));
    return out;
}

} // namespace djstap
