// SPDX-License-Identifier: GPL-2.0-or-later
#include "documentation/variables.h"

#include <algorithm>

namespace djstap {

using ast::ExpressionKind;
using ast::StatementKind;
using ast::TypeName;

std::string_view name_of(TypeName type) {
    return type == TypeName::Long ? "long" : type == TypeName::String ? "string" : "";
}

std::string dotted_name(const std::vector<ast::PointComponent>& components) {
    std::string text;
    for (const ast::PointComponent& component : components)
        text += (text.empty() ? "" : ".") + component.name;
    return text;
}

// The names that a body assigns, and, for a function, what it returns.
struct AliasVariables::Scope {
    const ast::File& file;
    std::vector<std::pair<std::string, TypeName>> assigned; // in the order of the text
    std::map<std::string, TypeName> types;                  // of these and of parameters
    TypeName returned = TypeName::None;
};

void AliasVariables::assign(const ast::Expression& place, TypeName type, Scope& scope) {
    if (place.kind != ExpressionKind::Identifier)
        return;
    const std::string& name = ast::as<ast::Identifier>(place).name;
    auto found = std::ranges::find(scope.assigned, name, &std::pair<std::string, TypeName>::first);
    if (found == scope.assigned.end())
        scope.assigned.emplace_back(name, type);
    else if (found->second == TypeName::None)
        found->second = type;
    if (type != TypeName::None)
        scope.types.try_emplace(name, type);
}

namespace {

bool prints_pretty(const std::vector<ast::Component>& components) {
    return !components.empty() && components.back().kind == ast::Component::Kind::PrettyPrint;
}

TypeName of_components(const std::vector<ast::Component>& components) {
    return prints_pretty(components) ? TypeName::String : TypeName::Long;
}

} // namespace

TypeName AliasVariables::type_of(const ast::Expression& expression, const Scope& scope) {
    switch (expression.kind) {
    case ExpressionKind::StringLiteral:
        return TypeName::String;
    case ExpressionKind::Identifier: {
        const auto found = scope.types.find(ast::as<ast::Identifier>(expression).name);
        return found == scope.types.end() ? TypeName::None : found->second;
    }
    case ExpressionKind::TargetSymbol: {
        const auto& target = ast::as<ast::TargetSymbol>(expression);
        return target.name.starts_with("$$") ? TypeName::String : of_components(target.components);
    }
    case ExpressionKind::Cast:
        return of_components(ast::as<ast::Cast>(expression).components);
    case ExpressionKind::Autocast:
        return of_components(ast::as<ast::Autocast>(expression).components);
    case ExpressionKind::Entry:
        return type_of(*ast::as<ast::Entry>(expression).operand, scope);
    case ExpressionKind::Binary:
        return ast::as<ast::Binary>(expression).op == ast::BinaryOp::Concatenate ? TypeName::String
                                                                                 : TypeName::Long;
    case ExpressionKind::Conditional: {
        const auto& choice = ast::as<ast::Conditional>(expression);
        const TypeName type = type_of(*choice.then_value, scope);
        return type == TypeName::None ? type_of(*choice.else_value, scope) : type;
    }
    case ExpressionKind::Assignment: {
        const auto& assignment = ast::as<ast::Assignment>(expression);
        if (assignment.form == ast::Assignment::Kind::Plain)
            return type_of(*assignment.value, scope);
        return assignment.op == ast::BinaryOp::Concatenate ? TypeName::String : TypeName::Long;
    }
    case ExpressionKind::Call:
        return result_of(scope.file, ast::as<ast::Call>(expression).function);
    case ExpressionKind::Print:
        return ast::as<ast::Print>(expression).to_string ? TypeName::String : TypeName::None;
    case ExpressionKind::ArrayIndex:
    case ExpressionKind::EmbeddedC:
        return TypeName::None;
    default:
        return TypeName::Long;
    }
}

void AliasVariables::collect(const ast::Expression& expression, Scope& scope) {
    if (expression.kind == ExpressionKind::Assignment) {
        const auto& assignment = ast::as<ast::Assignment>(expression);
        collect(*assignment.value, scope);
        if (assignment.form != ast::Assignment::Kind::Aggregate)
            assign(*assignment.place, type_of(expression, scope), scope);
    } else if (expression.kind == ExpressionKind::Increment) {
        assign(*ast::as<ast::Increment>(expression).operand, TypeName::Long, scope);
    }
}

void AliasVariables::collect(const ast::Statement& statement, Scope& scope) {
    const auto branch = [&](const ast::StatementPtr& inner) {
        if (inner)
            collect(*inner, scope);
    };
    switch (statement.kind) {
    case StatementKind::Block:
        for (const ast::StatementPtr& each : ast::as<ast::Block>(statement).statements)
            collect(*each, scope);
        break;
    case StatementKind::ExpressionStatement:
        collect(*ast::as<ast::ExpressionStatement>(statement).expression, scope);
        break;
    case StatementKind::If:
        branch(ast::as<ast::If>(statement).then_branch);
        branch(ast::as<ast::If>(statement).else_branch);
        break;
    case StatementKind::While:
        branch(ast::as<ast::While>(statement).body);
        break;
    case StatementKind::For: {
        const auto& loop = ast::as<ast::For>(statement);
        if (loop.init)
            collect(*loop.init, scope);
        branch(loop.body);
        break;
    }
    case StatementKind::Foreach:
        branch(ast::as<ast::Foreach>(statement).body);
        break;
    case StatementKind::TryCatch:
        branch(ast::as<ast::TryCatch>(statement).body);
        branch(ast::as<ast::TryCatch>(statement).handler);
        break;
    case StatementKind::Return: {
        const auto& result = ast::as<ast::Return>(statement);
        if (result.value && scope.returned == TypeName::None)
            scope.returned = type_of(*result.value, scope);
        break;
    }
    case StatementKind::Null:
    case StatementKind::Break:
    case StatementKind::Continue:
    case StatementKind::Next:
    case StatementKind::Delete:
    case StatementKind::EmbeddedStatement:
        break;
    }
}

TypeName AliasVariables::result_of(const ast::File& file, const ast::Function& function) {
    if (function.return_type != TypeName::None || !function.body)
        return function.return_type;
    // A function that calls itself has the type of its other results.
    const auto [known, added] = results_.try_emplace(&function, TypeName::None);
    constexpr size_t most_calls = 100;
    if (!added || calls_ == most_calls)
        return known->second;
    calls_++;
    Scope scope{file, {}, {}, TypeName::None};
    for (const ast::Parameter& parameter : function.parameters)
        if (parameter.type != TypeName::None)
            scope.types.emplace(parameter.name, parameter.type);
    collect(*function.body, scope);
    calls_--;
    return results_[&function] = scope.returned;
}

TypeName AliasVariables::result_of(const ast::File& file, const std::string& function) {
    const auto find = [&](const ast::File& searched) {
        const auto found = std::ranges::find(searched.functions, function, &ast::Function::name);
        return found == searched.functions.end() ? nullptr : &*found;
    };
    if (const ast::Function* own = find(file))
        return result_of(file, *own);
    for (const ast::File* other : library_.files_defining_function(function))
        if (const ast::Function* found = find(*other))
            return result_of(*other, *found);
    return TypeName::None;
}

void AliasVariables::add_of_point(const ast::ProbePoint& point, Found& out) {
    const bool arguments = std::ranges::any_of(point.components, [](const auto& component) {
        return component.argument != ast::PointComponent::Argument::None;
    });
    if (arguments)
        return;
    std::vector<ast::PointComponent> own = point.components;
    // The longest name that is an alias; the rest is a suffix.
    for (; !own.empty(); own.pop_back()) {
        const std::string name = dotted_name(own);
        const bool pattern = name.find('*') != std::string::npos;
        bool found = false;
        for (const ast::File* file : library_.files_defining_alias(name))
            for (const ast::Alias& alias : file->aliases)
                for (const auto& each : alias.names) {
                    const std::string whole = dotted_name(each);
                    const bool same = pattern
                                          ? each.size() == own.size() &&
                                                whole.starts_with(name.substr(0, name.find('*')))
                                          : whole == name;
                    if (!same)
                        continue;
                    found = true;
                    add(*file, alias, out);
                }
        if (found)
            return;
    }
}

void AliasVariables::add(const ast::File& file, const ast::Alias& alias, Found& found) {
    constexpr size_t most = 100; // a chain of aliases is followed by recursion
    if (found.seen.size() == most || !found.seen.insert(&alias).second)
        return;
    // The body of an alias runs before those that stand for it.
    for (const ast::ProbePoint& point : alias.points)
        add_of_point(point, found);
    std::vector<AliasVariable>& out = found.variables;
    Scope scope{file, {}, {}, TypeName::None};
    for (const AliasVariable& inherited : out)
        scope.types.emplace(inherited.name, inherited.type);
    for (const ast::Block* body : {alias.body.get(), alias.epilogue.get()})
        if (body)
            collect(*body, scope);
    for (const auto& [name, type] : scope.assigned) {
        const bool global = std::ranges::any_of(
            file.globals, [&](const ast::Global& each) { return each.name == name; });
        if (global || name.starts_with("__"))
            continue;
        const auto known = std::ranges::find(out, name, &AliasVariable::name);
        if (known == out.end())
            out.push_back({name, type, &alias, &file});
        else
            *known = {name, type == TypeName::None ? known->type : type, &alias, &file};
    }
}

std::vector<AliasVariable> AliasVariables::of(const ast::File& file, const ast::Alias& alias) {
    Found found;
    add(file, alias, found);
    return std::move(found.variables);
}

std::vector<AliasVariable> AliasVariables::of(const std::string& name) {
    ast::ProbePoint point;
    for (size_t begin = 0; begin < name.size();) {
        const size_t end = std::min(name.find('.', begin), name.size());
        point.components.emplace_back().name = name.substr(begin, end - begin);
        begin = end + 1;
    }
    Found found;
    add_of_point(point, found);
    return std::move(found.variables);
}

} // namespace djstap
