// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/target_values.h"

#include "diagnostics/suggest.h"

#include <algorithm>
#include <cctype>

namespace djstap {

AccessBuilder access_builder(const DebugInfo& info, const VariableScope& scope) {
    return {info, scope.number_of};
}

namespace {

// Returns N of "$argN"; 0 for other names.
size_t argument_number(std::string_view name) {
    constexpr std::string_view prefix = "$arg";
    constexpr size_t digits = 3;
    if (!name.starts_with(prefix) || name.size() == prefix.size() ||
        name.size() > prefix.size() + digits ||
        name.find_first_not_of("0123456789", prefix.size()) != std::string_view::npos)
        return 0;
    return std::strtoul(std::string(name.substr(prefix.size())).c_str(), nullptr, 10);
}

// For messages: "the kernel", "module 'ext4'".
std::string owner(const DebugInfo& info) {
    const Image& image = info.image();
    return image.kind() == ImageKind::Kernel    ? "the kernel"
           : image.kind() == ImageKind::Program ? image.title()
                                                : "module '" + image.name() + "'";
}

std::optional<TypeId> find_type(const DebugInfo& info, const std::string& name) {
    std::optional<TypeId> type;
    for (const char* prefix : {"", "struct ", "union "})
        if (!type)
            type = info.type_by_name(prefix + name);
    return type;
}

// The type that is probably meant, as it is written: "struct file" for "struct fil"; "": none.
std::string hint_for_type(const DebugInfo& info, std::string name) {
    for (const std::string_view tag : {"struct ", "union ", "enum "})
        if (name.starts_with(tag))
            name.erase(0, tag.size());
    std::vector<std::string> names = info.similar_types(name);
    if (auto near = nearest(name, names))
        names = {name, *near};
    else
        names = {name};
    for (const std::string& each : names)
        for (const char* tag : {"struct ", "union ", "enum ", ""})
            if (info.type_by_name(tag + each))
                return "did you mean \"" + (tag + each) + "\"?";
    return {};
}

// Returns "struct foo *" without its stars.
std::string pointed_name(const std::string& type, bool& pointer) {
    std::string name = type;
    while (!name.empty() && name.back() == ' ')
        name.pop_back();
    pointer = !name.empty() && name.back() == '*';
    while (!name.empty() && (name.back() == '*' || name.back() == ' '))
        name.pop_back();
    return name;
}

std::optional<AccessError> begin(AccessBuilder& builder, const program::TargetValue& value,
                                 const VariableScope& scope);

// Calls `found` with each name in "kernel:kernel<linux/fs.h>:nfsd", until it returns true.
template <class Found> bool each_module(std::string_view list, Found found) {
    while (!list.empty()) {
        const size_t end = std::min(list.find(':'), list.size());
        if (found(std::string(list.substr(0, end))))
            return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

// Headers of user space do not describe the kernel, whose types are used if the named modules lack
// one.
bool names_user_headers(const program::TargetValue& value) {
    return each_module(value.module, [](const std::string& name) { return name.starts_with('<'); });
}

// Why headers among the named modules cannot be used; empty if they can.
std::string header_failure(const program::TargetValue& value, const VariableScope& scope) {
    std::string failure;
    each_module(value.module, [&](const std::string& name) {
        if (!scope.header_failures)
            return true;
        const auto known = scope.header_failures->find(name);
        if (known != scope.header_failures->end())
            failure = name + ": " + known->second;
        return !failure.empty();
    });
    return failure;
}

// p[i], where p points to the first of several.
bool is_indexed(const program::TargetValue& value) {
    return !value.components.empty() &&
           value.components.front().kind == program::TargetComponent::Kind::Index;
}

constexpr int max_origins = 64;

// A type, and the debug information that contains it.
struct PointedType {
    const DebugInfo* info = nullptr; // null: it is unknown, or does not point to a type
    TypeId type = 0;
};
PointedType pointed_type(const program::TargetValue& value, const VariableScope& scope, int depth);

// Returns the debug information with a value's types: of the modules that it names ("nfsd:sunrpc")
// the first that has the type, else that of the value's origin, else that of the probe's own place.
const DebugInfo& info_of(const program::TargetValue& value, const VariableScope& scope) {
    using Base = program::TargetValue::Base;
    if (value.base == Base::Autocast) {
        const PointedType pointed = pointed_type(value, scope, 0);
        return pointed.info ? *pointed.info : *scope.info;
    }
    const auto has = [&](const DebugInfo& info) {
        bool pointer = false;
        switch (value.base) {
        case Base::Cast:
            return find_type(info, pointed_name(value.cast_type, pointer)).has_value();
        case Base::Enumerator:
            return info.enumerator(value.name).has_value();
        case Base::GlobalVariable:
            return info.global(value.name).has_value();
        default:
            return false;
        }
    };
    if (!scope.info_of_module)
        return *scope.info;
    const DebugInfo* found = nullptr;
    auto try_module = [&](const std::string& name) {
        const DebugInfo* info = scope.info_of_module(name);
        if (info && has(*info))
            found = info;
        return found != nullptr;
    };
    // The kernel's own debug information is complete, whereas a header only declares many types.
    each_module(value.module, [&](const std::string& name) {
        return (name.starts_with("kernel<") && try_module("kernel")) || try_module(name);
    });
    return found ? *found : *scope.info;
}

// Returns the type that a value keeps from its origin.
PointedType pointed_type(const program::TargetValue& value, const VariableScope& scope, int depth) {
    if (!value.origin || !scope.scope_of || depth > max_origins)
        return {};
    const VariableScope* origin_scope = scope.scope_of(value.origin->probe);
    if (!origin_scope || !origin_scope->info)
        return {};
    const program::TargetValue& from = *value.origin->value;
    const bool is_autocast = from.base == program::TargetValue::Base::Autocast;
    const PointedType inner =
        is_autocast ? pointed_type(from, *origin_scope, depth + 1) : PointedType();
    if (is_autocast && !inner.info)
        return {};
    const DebugInfo& info = is_autocast ? *inner.info : info_of(from, *origin_scope);
    AccessBuilder builder = access_builder(info, scope);
    if (is_autocast)
        builder.start_pointer_to(inner.type, nullptr, is_indexed(from));
    else if (begin(builder, from, *origin_scope))
        return {};
    static const program::Number zero;
    for (const program::TargetComponent& component : from.components)
        if (!(component.kind == program::TargetComponent::Kind::Member
                  ? builder.member(component.member, component.range)
                  : builder.index(&zero, component.range)))
            return {};
    if (from.address_of)
        return {&info, builder.type()};
    const CType type = info.resolve(builder.type());
    switch (type.kind) {
    case CTypeKind::Pointer:
    case CTypeKind::Array:
        return {&info, type.base_type};
    case CTypeKind::Struct:
    case CTypeKind::Union: // its value is its address
        return {&info, builder.type()};
    default:
        return {};
    }
}

// Returns a global variable: of several with that name, the one in the probed function's own file.
std::optional<Variable> global_of(const DebugInfo& info, const std::string& name,
                                  const VariableScope& scope) {
    if (name.find('@') == std::string::npos && scope.function && !scope.function->file.empty())
        if (auto own = info.global(name + "@" + scope.function->file))
            return own;
    return info.global(name);
}

// Finds the base of a value and positions `builder`, which uses info_of(), there.
std::optional<AccessError> begin(AccessBuilder& builder, const program::TargetValue& value,
                                 const VariableScope& scope) {
    using Base = program::TargetValue::Base;
    if (value.base == Base::Cast) {
        bool pointer = false;
        const DebugInfo& info = info_of(value, scope);
        const std::optional<TypeId> type = find_type(info, pointed_name(value.cast_type, pointer));
        if (!type ||
            (names_user_headers(value) && info.image().address_space() != AddressSpace::User)) {
            const std::string failure = header_failure(value, scope);
            const char* const form =
                names_user_headers(value) || info.image().address_space() == AddressSpace::User
                    ? "write it as in C or C++: \"struct timespec\", "
                      "\"std::string\""
                    : "write it as in C: \"struct task_struct\"";
            const std::string near =
                failure.empty() && !names_user_headers(value)
                    ? hint_for_type(info, pointed_name(value.cast_type, pointer))
                    : "";
            return AccessError{DiagnosticKind::UnknownCastType,
                               value.range,
                               value.cast_type,
                               value.module.find('<') == std::string::npos
                                   ? owner(info)
                                   : "'" + value.module + "'",
                               {},
                               !failure.empty() ? failure
                               : near.empty()   ? form
                                                : near};
        }
        const bool is_array = info.resolve(*type).kind == CTypeKind::Array;
        builder.start_pointer_to(*type, value.operand.get(),
                                 is_indexed(value) && !pointer && !is_array);
        return std::nullopt;
    }
    if (value.base == Base::Autocast) {
        const PointedType pointed = pointed_type(value, scope, 0);
        if (!pointed.info)
            return AccessError{DiagnosticKind::UntypedValue,
                               value.range,
                               value.name,
                               {},
                               {},
                               "use @cast(" + value.name + ", \"struct …\")"};
        builder.start_pointer_to(pointed.type, value.operand.get(), is_indexed(value));
        return std::nullopt;
    }
    if (value.base == Base::Enumerator) {
        const DebugInfo& info = info_of(value, scope);
        const std::optional<int64_t> number = info.enumerator(value.name);
        if (!number)
            return AccessError{DiagnosticKind::UnknownEnumerator,
                               value.range,
                               value.name,
                               value.module.empty() ? "the kernel" : "'" + value.module + "'",
                               {},
                               did_you_mean(value.name, info.similar_enumerators(value.name))};
        builder.start(constant_location(static_cast<uint64_t>(*number)), 0, value.name,
                      "the kernel", value.range);
        return std::nullopt;
    }
    if (value.base == Base::GlobalVariable) {
        auto variable = global_of(builder.info(), value.name, scope);
        if (!variable)
            return AccessError{
                DiagnosticKind::UnknownKernelVariable,
                value.range,
                value.name,
                owner(builder.info()),
                {},
                did_you_mean(value.name, builder.info().similar_variables(value.name))};
        if (!builder.start(variable->location, variable->type, value.name, owner(builder.info()),
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
    const std::string name = scope.former ? scope.former->variable : value.name.substr(1);
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
        // It is not a variable of the function: use a global of the kernel with that name.
        if (auto global = global_of(*scope.info, name, scope);
            global &&
            builder.start(global->location, global->type, value.name, "the kernel", value.range))
            return std::nullopt;
        return unknown_variable(value, scope);
    }
    if (!builder.start(variable->location, variable->type, value.name, scope.where, value.range))
        return with_available(builder.error(), scope);
    const bool found = !scope.former || builder.member(scope.former->member, value.range);
    return found ? std::nullopt : std::optional(builder.error());
}

} // namespace

// Leads the builder to the value, without reading it.
static std::optional<AccessError> reach(AccessBuilder& builder, const program::TargetValue& value,
                                        const VariableScope& scope) {
    if (auto error = begin(builder, value, scope))
        return error;
    for (const program::TargetComponent& component : value.components) {
        const bool good = component.kind == program::TargetComponent::Kind::Member
                              ? builder.member(component.member, component.range)
                              : builder.index(component.index.get(), component.range);
        if (!good)
            return builder.error();
    }
    return std::nullopt;
}

// A structure where a number is required: & must be used for its address.
static bool is_whole_structure(const program::TargetValue& value, const AccessBuilder& builder) {
    using Base = program::TargetValue::Base;
    if (value.address_of || value.base == Base::Enumerator ||
        (value.components.empty() && value.base != Base::Variable &&
         value.base != Base::GlobalVariable))
        return false;
    const CTypeKind kind = builder.info().resolve(builder.type()).kind;
    return kind == CTypeKind::Struct || kind == CTypeKind::Union;
}

AccessResult mark_argument(const VariableScope& scope, size_t number, SourceRange range) {
    const SdtArgument& argument = scope.mark->arguments.at(number - 1);
    AccessBuilder builder = access_builder(*scope.info, scope);
    if (!builder.start(argument.location, 0, "$arg" + std::to_string(number), scope.where, range))
        return builder.error();
    TargetAccess out;
    out.value = builder.access();
    AccessStep step;
    step.kind = builder.in_memory() ? AccessStep::Kind::Load : AccessStep::Kind::Extend;
    step.size = argument.size;
    step.is_signed = argument.is_signed;
    if (builder.in_memory() || argument.size < sizeof(uint64_t))
        out.value.steps.push_back(step);
    return out;
}

AccessResult resolve_value(const program::TargetValue& value, const VariableScope& scope) {
    if (value.base == program::TargetValue::Base::Variable && value.name.starts_with("$$"))
        return pretty_variables(value, scope);
    if (scope.marker_format && value.base == program::TargetValue::Base::Variable &&
        (value.name == "$name" || value.name == "$format"))
        return constant_text(value.name == "$name" ? scope.tracepoint : *scope.marker_format);
    if (const size_t number = argument_number(value.name);
        scope.mark && value.base == program::TargetValue::Base::Variable && number > 0 &&
        number <= scope.mark->arguments.size()) {
        if (!value.components.empty() || value.pretty > 0 || value.address_of)
            return AccessError{DiagnosticKind::UntypedValue,
                               value.range,
                               value.name,
                               {},
                               {},
                               "use @cast(" + value.name + ", \"struct …\", \"PATH\")"};
        return mark_argument(scope, number, value.range);
    }
    if (value.pretty > 0)
        return pretty_value(value, scope);
    AccessBuilder builder = access_builder(info_of(value, scope), scope);
    if (auto error = reach(builder, value, scope))
        return *error;
    if (is_whole_structure(value, builder))
        return AccessError{DiagnosticKind::AggregateValue,
                           value.range,
                           "a '" + builder.info().type_name(builder.type()) + "'",
                           {},
                           {},
                           builder.members_hint()};
    if (value.base != program::TargetValue::Base::Enumerator && // a constant without a type
        !builder.finish(value.address_of, value.range))
        return builder.error();
    TargetAccess out;
    out.value = builder.access();
    return out;
}

AccessResult pretty_value(const program::TargetValue& value, const VariableScope& scope) {
    AccessBuilder builder = access_builder(info_of(value, scope), scope);
    if (auto error = reach(builder, value, scope))
        return *error;
    TargetAccess out;
    out.is_text = true;
    append_pretty(out, builder, info_of(value, scope), value.pretty, value.range);
    return out;
}

} // namespace djstap
