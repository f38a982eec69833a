// SPDX-License-Identifier: GPL-2.0-or-later
#include "ast/printer.h"

#include <algorithm>

namespace djstap::ast {

namespace {

std::string type_suffix(TypeName type) {
    switch (type) {
    case TypeName::None:
        return "";
    case TypeName::Long:
        return ":long";
    case TypeName::String:
        return ":string";
    }
    return "";
}

std::string print_components(const std::vector<PointComponent>& components) {
    std::string out;
    for (const PointComponent& component : components) {
        out += (out.empty() ? "" : ".") + component.name;
        if (component.argument == PointComponent::Argument::Number)
            out += "(" + std::to_string(component.number) + ")";
        else if (component.argument == PointComponent::Argument::String)
            out += "(" + quote(component.string) + ")";
    }
    return out;
}

std::string print_points(const std::vector<ProbePoint>& points) {
    std::string out;
    for (const ProbePoint& point : points)
        out += (out.empty() ? "" : ", ") + to_string(point);
    return out;
}

std::string private_prefix(bool is_private) {
    return is_private ? "private " : "";
}

std::string print_alias(const Alias& alias) {
    const char* op = alias.append ? " += " : " = ";
    std::string out = "probe ";
    for (const auto& name : alias.names)
        out += print_components(name) + op;
    out += print_points(alias.points) + " " + print_block(*alias.body, 0);
    return alias.epilogue ? out + ", " + print_block(*alias.epilogue, 0) : out;
}

std::string print_global(const Global& global) {
    std::string out =
        private_prefix(global.is_private) + "global " + global.name + (global.wrap ? "%" : "");
    if (global.size)
        out += "[" + std::to_string(*global.size) + "]";
    if (!global.initial)
        return out;
    // The sign is part of the literal here.
    if (global.initial->kind == ExpressionKind::NumberLiteral &&
        as<NumberLiteral>(*global.initial).value > INT64_MIN)
        return out + " = " + std::to_string(as<NumberLiteral>(*global.initial).value);
    return out + " = " + print(*global.initial);
}

std::string print_function(const Function& function) {
    std::string out = private_prefix(function.is_private) + "function " + function.name +
                      type_suffix(function.return_type) + "(";
    for (size_t i = 0; i < function.parameters.size(); i++)
        out += (i ? ", " : "") + function.parameters[i].name +
               type_suffix(function.parameters[i].type);
    out += ")";
    if (function.priority)
        out += ":" + std::to_string(*function.priority);
    return out + " " +
           (function.body ? print_block(*function.body, 0) : "%{" + *function.embedded_code + "%}");
}

} // namespace

std::string to_string(const ProbePoint& point) {
    std::string out = print_components(point.components);
    if (point.sufficient)
        out += "!";
    else if (point.optional)
        out += "?";
    if (point.condition)
        out += " if (" + print(*point.condition) + ")";
    return out;
}

std::string print(const File& file) {
    std::string out;
    for (const EmbeddedBlock& block : file.embedded)
        out += "%{" + block.code + "%}\n";
    for (const Global& global : file.globals)
        out += print_global(global) + "\n";
    for (const Function& function : file.functions)
        out += print_function(function) + "\n";
    for (const Alias& alias : file.aliases)
        out += print_alias(alias) + "\n";
    for (const Probe& probe : file.probes)
        out += "probe " + print_points(probe.points) + " " + print_block(*probe.body, 0) + "\n";
    return out;
}

} // namespace djstap::ast
