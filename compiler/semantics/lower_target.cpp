// SPDX-License-Identifier: GPL-2.0-or-later
// Target variables: $x, @cast, @defined, @entry. probes/ determines which of them exist.
#include "semantics/lower.h"

#include <algorithm>

namespace djstap::semantics {

using program::Type;

namespace {

// $$vars and the like are strings.
bool is_shown(const std::string& name) {
    return name.size() > 2 && name[0] == '$' && name[1] == '$';
}

bool literal_indexes(const std::vector<ast::Component>& components) {
    for (const ast::Component& component : components)
        if (component.index && component.index->kind != ast::ExpressionKind::NumberLiteral)
            return false;
    return true;
}

} // namespace

bool Lowering::components(const std::vector<ast::Component>& from, program::TargetValue& to) {
    return components(from.begin(), from.end(), to);
}

bool Lowering::components(std::vector<ast::Component>::const_iterator from,
                          std::vector<ast::Component>::const_iterator end,
                          program::TargetValue& to) {
    for (; from != end; ++from) {
        const ast::Component& component = *from;
        if (component.kind == ast::Component::Kind::PrettyPrint) {
            to.pretty = component.member == "$$" ? 2 : 1;
            continue;
        }
        program::TargetComponent step;
        step.range = component.range;
        if (component.kind == ast::Component::Kind::Index) {
            step.kind = program::TargetComponent::Kind::Index;
            step.index = expect(*component.index, Type::Long);
        } else {
            step.member = component.member;
        }
        to.components.push_back(std::move(step));
    }
    return to.pretty > 0;
}

Value Lowering::target(const ast::TargetSymbol& node, bool writing) {
    const bool global_variable = node.name == "@var";
    if (body_->mode == Body::Mode::Condition) {
        diagnostics_
            .report(DiagnosticKind::ConditionLocal, node.range,
                    {global_variable ? "@var" : node.name, "is not a global"})
            .hint("test it in the probe's body: if (…) next");
        return broken(node.range);
    }
    if (!body_->probe && !(global_variable && !node.module.empty())) {
        Diagnostic& diagnostic = diagnostics_.report(DiagnosticKind::TargetInFunction, node.range,
                                                     {global_variable ? "@var" : node.name});
        diagnostic.hint(global_variable ? "name the source file that defines it, and whose it is: "
                                          "@var(\"name@file\", \"kernel\")"
                                        : "pass its value as an argument");
        return broken(node.range);
    }
    if (is_procfs_text(node.name) && !check_procfs_text(node, writing))
        return broken(node.range);
    if (is_text(node.name) && !check_text(node))
        return broken(node.range);
    // In a return probe, parameters have their values at function entry.
    const bool of_return =
        node.name == "$return" || node.name.rfind("$$return", 0) == 0 || node.name == "$$name";
    if (body_->probe && body_->probe->is_return && body_->mode == Body::Mode::Normal &&
        !of_return && !global_variable) {
        if (!writing)
            return target_at_entry(node);
        diagnostics_.report(DiagnosticKind::WriteAtReturn, node.range, {node.name})
            .hint(node.components.empty()
                      ? "the function has ended: change it in a probe of the function's entry"
                      : "the register that held it may hold anything now; write to what it points "
                        "to by @cast(" +
                            node.name + ", \"…\")");
        return broken(node.range);
    }
    auto to = make<program::TargetValue>(node.range);
    to->address_of = node.address_of;
    if (global_variable) {
        to->base = program::TargetValue::Base::GlobalVariable;
        to->name = node.variable;
        to->module = node.module;
    } else {
        to->name = node.name;
    }
    const bool pretty = components(node.components, *to);
    return known(std::move(to), pretty || is_procfs_text(node.name) || is_text(node.name)
                                    ? Type::String
                                    : Type::Long);
}

// Returns whether the name means the content of a procfs probe's file.
bool Lowering::is_procfs_text(const std::string& name) const {
    return name == "$value" && body_->probe && !body_->probe->point_traits.empty() &&
           (body_->probe->point_traits.front() & PointHasFile) != 0;
}

// Returns whether the name means a string: $$vars and its kin, or what a marker has.
bool Lowering::is_text(const std::string& name) const {
    if (is_shown(name))
        return true;
    return (name == "$name" || name == "$format") && body_->probe &&
           !body_->probe->point_traits.empty() &&
           (body_->probe->point_traits.front() & PointIsMarker) != 0;
}

// A string has no address, no members and no elements.
bool Lowering::check_text(const ast::TargetSymbol& node) {
    using Kind = ast::Component::Kind;
    auto step = std::find_if(node.components.begin(), node.components.end(),
                             [](const auto& each) { return each.kind != Kind::PrettyPrint; });
    if (node.address_of)
        diagnostics_.report(DiagnosticKind::NoAddress, node.range);
    else if (step == node.components.end())
        return true;
    else if (step->kind == Kind::Index)
        diagnostics_.report(DiagnosticKind::NotIndexable, step->range, {"a string"});
    else
        diagnostics_.report(DiagnosticKind::NotAStructure, step->range,
                            {"->" + step->member, "a string"});
    return false;
}

bool Lowering::check_procfs_text(const ast::TargetSymbol& node, bool writing) {
    const bool writes = (body_->probe->point_traits.front() & PointIsWritten) != 0;
    if (!check_text(node))
        return false;
    if (writing && writes) {
        diagnostics_.report(DiagnosticKind::NotAPlace, node.range)
            .hint("it holds the data that was written to the file");
    } else if (!writing && !writes) {
        diagnostics_.report(DiagnosticKind::TargetNotAvailable, node.range,
                            {node.name, "a read probe", "it will become the content of the file"});
    } else {
        return true;
    }
    return false;
}

Value Lowering::target_at_entry(const ast::TargetSymbol& node) {
    if (!literal_indexes(node.components))
        return target_with_index(node);
    std::string key = (node.address_of ? "&" : "") + node.name;
    for (const ast::Component& component : node.components) {
        key += component.kind == ast::Component::Kind::PrettyPrint ? " " + component.member
                                                                   : "->" + component.member;
        if (component.index)
            key += "[" + std::to_string(ast::as<ast::NumberLiteral>(*component.index).value) + "]";
    }
    return entry_slot(key, node.range, [&] { return target(node); });
}

// $x->a[i]->b in a return probe: $x->a has its value at function entry; the index, and what is
// there, are evaluated at the return.
Value Lowering::target_with_index(const ast::TargetSymbol& node) {
    size_t index = 0;
    while (!node.components[index].index ||
           node.components[index].index->kind == ast::ExpressionKind::NumberLiteral)
        index++;
    auto base = entry_slot("", node.range, [&] {
        auto prefix = make<program::TargetValue>(node.range);
        prefix->name = node.name;
        components(node.components.begin(), node.components.begin() + static_cast<long>(index),
                   *prefix);
        return known(std::move(prefix), Type::Long);
    });
    auto to = make<program::TargetValue>(node.range);
    to->base = program::TargetValue::Base::Autocast;
    to->address_of = node.address_of;
    to->name = node.name;
    to->operand = std::move(base.node);
    autocasts_.emplace_back(to.get(), source_of(*to->operand));
    const bool pretty =
        components(node.components.begin() + static_cast<long>(index), node.components.end(), *to);
    return known(std::move(to), pretty ? Type::String : Type::Long);
}

Value Lowering::entry_slot(const std::string& key, SourceRange range,
                           const std::function<Value()>& lower) {
    auto found = key.empty() ? body_->entry_slots.end() : body_->entry_slots.find(key);
    uint32_t slot = 0;
    if (found == body_->entry_slots.end()) {
        const Body::Mode before = body_->mode;
        body_->mode = Body::Mode::Entry;
        Value value = lower();
        body_->mode = before;
        slot = static_cast<uint32_t>(body_->probe->entry_values.size());
        body_->probe->entry_values.push_back(std::move(value.node));
        body_->entry_types.push_back(value.type);
        if (!key.empty())
            body_->entry_slots.emplace(key, slot);
    } else {
        slot = found->second;
    }
    auto to = make<program::EntryValue>(range);
    to->slot = slot;
    return typed(std::move(to), body_->entry_types[slot]);
}

Value Lowering::entry(const ast::Entry& node) {
    const bool in_alias = body_->probe && !body_->probe->is_return &&
                          body_->mode == Body::Mode::Normal && !body_->probe->alias_names.empty() &&
                          !body_->probe->alias_names.front().empty();
    if (in_alias) { // an alternative of an alias, which may never be used: probes/ reports it
        auto to = make<program::TargetValue>(node.range);
        to->name = "@entry";
        to->operand = expression(*node.operand).node;
        return known(std::move(to), Type::Long);
    }
    if (!body_->probe || !body_->probe->is_return || body_->mode != Body::Mode::Normal) {
        diagnostics_.report(DiagnosticKind::EntryOutsideReturn, node.range)
            .hint("add .return to the probe point: kernel.function(\"…\").return");
        return broken(node.range);
    }
    return entry_slot("", node.range, [&] { return expression(*node.operand); });
}

Value Lowering::cast(const ast::Cast& node) {
    auto to = make<program::TargetValue>(node.range);
    to->base = program::TargetValue::Base::Cast;
    to->cast_type = node.type;
    to->module = node.module;
    to->address_of = node.address_of;
    to->operand = expect(*node.operand, Type::Long);
    const bool pretty = components(node.components, *to);
    return known(std::move(to), pretty ? Type::String : Type::Long);
}

Value Lowering::defined(const ast::Defined& node) {
    auto to = make<program::Defined>(node.range);
    // Only the existence matters, so the value itself is never read: neither at the entry nor at
    // the return.
    const Body::Mode before = body_->mode;
    if (body_->probe && body_->probe->is_return &&
        (node.operand->kind == ast::ExpressionKind::TargetSymbol ||
         node.operand->kind == ast::ExpressionKind::Entry))
        body_->mode = Body::Mode::Entry;
    const ast::Expression& operand = *node.operand;
    if (operand.kind == ast::ExpressionKind::TargetSymbol &&
        is_procfs_text(ast::as<ast::TargetSymbol>(operand).name)) {
        body_->mode = before;
        auto known_value = make<program::Number>(node.range);
        const auto& symbol = ast::as<ast::TargetSymbol>(operand);
        known_value->value = symbol.components.empty() && !symbol.address_of;
        return known(std::move(known_value), Type::Long);
    }
    Value value =
        operand.kind == ast::ExpressionKind::Entry && body_->probe && body_->probe->is_return
            ? expression(*ast::as<ast::Entry>(operand).operand)
            : expression(operand);
    body_->mode = before;
    to->operand = std::move(value.node);
    return known(std::move(to), Type::Long);
}

} // namespace djstap::semantics
