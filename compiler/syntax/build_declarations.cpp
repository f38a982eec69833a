// SPDX-License-Identifier: GPL-2.0-or-later
#include "syntax/builder.h"

#include <algorithm>

namespace djstap::syntax {

namespace {

constexpr size_t point_limit = 10'000;
constexpr int64_t size_limit = 100'000'000;

using P = Builder::P;

ast::TypeName type_name(P::TypeNameContext* type) {
    if (!type)
        return ast::TypeName::None;
    return type->start->getType() == P::Long ? ast::TypeName::Long : ast::TypeName::String;
}

} // namespace

SourceRange Builder::cover(SourceRange first, SourceRange last) const {
    if (first.expansion == last.expansion)
        return first.to(last);
    // Replaces the deeper expansion first; ids grow with depth, because a use is registered before
    // those in its body.
    while (first.expansion != last.expansion) {
        SourceRange& deeper = first.expansion > last.expansion ? first : last;
        deeper = sources_.expansion(deeper.expansion).use;
    }
    return first.to(last);
}

SourceRange Builder::range(const antlr4::ParserRuleContext& context) const {
    if (!context.stop || as_token(context.stop).index < as_token(context.start).index)
        return range(context.start);
    return cover(range(context.start), range(context.stop));
}

std::string Builder::embedded_code(const antlr4::Token* token) {
    if (!privileged_)
        diagnostics_.report(DiagnosticKind::EmbeddedCNeedsGuru, range(token))
            .hint("run djstap with -g if you trust the code");
    std::string_view text = as_token(token).text;
    return std::string(text.substr(2, text.size() - 4));
}

void Builder::add_item(P::ItemContext& item, ast::File& file) {
    bool is_private = item.access != nullptr;
    if (item.function)
        add_function(*item.function, is_private, file);
    else if (item.probe)
        add_probe(*item.probe, file);
    else if (item.globals)
        add_globals(*item.globals, is_private, file);
    else
        file.embedded.push_back({range(item.code), embedded_code(item.code)});
}

int64_t Builder::literal_number(P::LiteralContext& literal) {
    auto value = static_cast<uint64_t>(as_token(literal.number).number);
    return static_cast<int64_t>(literal.minus ? 0 - value : value);
}

ast::ExpressionPtr Builder::literal(P::LiteralContext& literal) {
    if (literal.string) {
        auto out = std::make_unique<ast::StringLiteral>(range(literal));
        out->value = string_of(literal.string);
        return out;
    }
    auto out = std::make_unique<ast::NumberLiteral>(range(literal));
    out->value = literal_number(literal);
    return out;
}

void Builder::add_globals(P::GlobalListContext& list, bool is_private, ast::File& file) {
    for (P::GlobalVariableContext* variable : list.list) {
        ast::Global global;
        global.range = range(variable->name);
        global.name = text_of(variable->name);
        global.is_private = is_private;
        global.wrap = variable->wrap != nullptr;
        if (auto [first, added] = globals_.try_emplace(global.name, global.range); !added)
            diagnostics_.report(DiagnosticKind::DuplicateGlobal, global.range, {global.name})
                .note(first->second, "previous declaration is here");
        if (variable->size) {
            global.size = as_token(variable->size).number;
            if (*global.size < 1 || *global.size > size_limit)
                diagnostics_.report(DiagnosticKind::BadGlobalSize, range(variable->size),
                                    {std::to_string(size_limit)});
        }
        if (variable->initial) {
            global.initial = literal(*variable->initial);
            if (global.size || global.wrap)
                diagnostics_
                    .report(DiagnosticKind::ArrayInitial, global.initial->range, {global.name})
                    .hint("assign its elements in 'probe begin'");
        }
        file.globals.push_back(std::move(global));
    }
}

void Builder::add_function(P::FunctionDeclarationContext& function, bool is_private,
                           ast::File& file) {
    ast::Function out;
    const antlr4::Token* name = function.name->name;
    out.range = range(name);
    out.name = text_of(name);
    out.is_private = is_private;
    out.return_type = type_name(function.type);
    for (P::ParameterContext* parameter : function.parameters) {
        ast::Parameter one{text_of(parameter->name), type_name(parameter->type),
                           range(parameter->name)};
        for (const ast::Parameter& before : out.parameters)
            if (before.name == one.name)
                diagnostics_.report(DiagnosticKind::DuplicateParameter, one.range, {one.name});
        out.parameters.push_back(std::move(one));
    }
    if (function.priority) {
        out.priority = as_token(function.priority).number;
        if (*out.priority < 1)
            diagnostics_.report(DiagnosticKind::BadPriority, range(function.priority))
                .hint("overloads are tried in ascending order of their priorities");
    }
    if (function.body) {
        in_function_ = true;
        out.body = block(*function.body);
        in_function_ = false;
        out.body_range = out.body->range;
    } else {
        out.embedded_code = embedded_code(function.code);
        out.body_range = range(function.code);
    }
    file.functions.push_back(std::move(out));
}

void Builder::add_probe(P::ProbeDeclarationContext& probe, ast::File& file) {
    SourceRange begin = range(probe.start);
    P::PointListContext& point_list = *probe.lists.back();
    if (probe.operators.empty()) {
        if (probe.epilogue)
            diagnostics_.report(DiagnosticKind::EpilogueWithoutAlias, range(*probe.epilogue))
                .hint("the syntax of an alias is: probe name = point { … }, { … }");
        ast::Probe out;
        out.range = cover(begin, range(point_list));
        out.points = points(point_list);
        out.body = block(*probe.body);
        file.probes.push_back(std::move(out));
        return;
    }
    ast::Alias out;
    out.range = cover(begin, range(point_list));
    for (size_t i = 0; i < probe.operators.size(); i++)
        out.names.push_back(alias_name(*probe.lists[i], *probe.operators[i]));
    out.append = probe.operators.back()->getType() == P::AddAssign;
    out.points = points(point_list);
    out.body = block(*probe.body);
    if (probe.epilogue)
        out.epilogue = block(*probe.epilogue);
    file.aliases.push_back(std::move(out));
}

// Reads what precedes = or +=: one point without marks, arguments and wildcards.
std::vector<ast::PointComponent> Builder::alias_name(P::PointListContext& list,
                                                     const antlr4::Token& op) {
    std::vector<ast::ProbePoint> names = points(list);
    if (names.size() > 1)
        diagnostics_
            .report(DiagnosticKind::SyntaxError, range(&op), {"'" + text_of(&op) + "'", "'{'"})
            .hint("the syntax for several names is: probe one = two = point { … }");
    ast::ProbePoint& name = names.front();
    for (const ast::PointComponent& component : name.components) {
        if (component.argument != ast::PointComponent::Argument::None)
            diagnostics_.report(DiagnosticKind::AliasNameHasArgument, component.argument_range,
                                {"an argument"});
        if (component.name.find_first_of("*?") != std::string::npos)
            diagnostics_.report(DiagnosticKind::AliasNameHasArgument, component.range,
                                {"a wildcard"});
    }
    if (name.optional || name.sufficient || name.condition)
        diagnostics_.report(DiagnosticKind::AliasNameHasArgument, name.range,
                            {name.condition    ? "a condition"
                             : name.sufficient ? "'!'"
                                               : "'?'"});
    return std::move(name.components);
}

std::vector<ast::ProbePoint> Builder::points(P::PointListContext& list) {
    std::vector<ast::ProbePoint> out;
    for (P::PointContext* point : list.list)
        for (ast::ProbePoint& one : expand(*point, true))
            out.push_back(std::move(one));
    return out;
}

ast::PointComponent Builder::point_component(P::ComponentContext& component) {
    ast::PointComponent out;
    out.name = text_of(component.name);
    out.range = range(component.name);
    if (P::LiteralContext* argument = component.argument) {
        out.argument_range = range(*argument);
        out.argument = argument->string ? ast::PointComponent::Argument::String
                                        : ast::PointComponent::Argument::Number;
        if (argument->string)
            out.string = string_of(argument->string);
        else
            out.number = literal_number(*argument);
    }
    return out;
}

std::vector<ast::ProbePoint> Builder::expand(P::PointContext& point, bool last) {
    std::vector<ast::ProbePoint> out(1);
    for (P::ComponentContext* part : point.components) {
        if (part->name) {
            for (ast::ProbePoint& one : out)
                one.components.push_back(point_component(*part));
            continue;
        }
        bool at_end = part == point.components.back();
        std::vector<ast::ProbePoint> product;
        for (const ast::ProbePoint& front : out)
            for (P::PointContext* choice : part->choices)
                for (ast::ProbePoint& one : expand(*choice, last && at_end)) {
                    one.components.insert(one.components.begin(), front.components.begin(),
                                          front.components.end());
                    product.push_back(std::move(one));
                    if (product.size() > point_limit) {
                        diagnostics_.report(DiagnosticKind::TooManyPoints, range(*part),
                                            {std::to_string(point_limit)});
                        return product;
                    }
                }
        out = std::move(product);
    }
    const antlr4::Token* mark = point.mark;
    if (!last && (mark || point.condition))
        diagnostics_.report(DiagnosticKind::MarkInsideBraces,
                            mark ? range(mark) : range(*point.condition),
                            {mark ? "'" + text_of(mark) + "'" : "a condition"});
    for (ast::ProbePoint& one : out) {
        one.range = range(point);
        one.optional |= mark != nullptr; // also for ! : a sufficient point need not exist
        one.sufficient |= mark && mark->getType() == P::Not;
        if (point.condition)
            one.condition = expression(*point.condition);
    }
    return out;
}

} // namespace djstap::syntax
