// SPDX-License-Identifier: GPL-2.0-or-later
// Variables, array elements, and what writes to them.
#include "diagnostics/suggest.h"
#include "semantics/lower.h"

#include <algorithm>

namespace djstap::semantics {

using program::Type;

uint32_t Lowering::local(const std::string& name, SourceRange range) {
    auto [found, added] =
        body_->index.try_emplace(name, static_cast<uint32_t>(body_->locals->size()));
    if (added) {
        body_->locals->push_back({name, Type::Long, range});
        body_->states.push_back({types_.fresh(), {}, false});
    }
    return found->second;
}

bool Lowering::key_count(GlobalState& global, size_t count, SourceRange range) {
    if (count > program::max_keys) {
        if (!global.arity_reported)
            diagnostics_
                .report(DiagnosticKind::TooManyKeys, range,
                        {global.declaration->name, std::to_string(count),
                         std::to_string(program::max_keys)})
                .hint("join some of them to a string: sprintf(\"%d %d\", a, b)");
        global.arity_reported = true;
        return false;
    }
    const bool sized = global.declaration->size || global.declaration->wrap;
    if (!global.arity && !(count == 0 && sized)) {
        global.arity = count;
        global.arity_at = range;
        for (size_t i = 0; i < count; ++i)
            global.keys.push_back(types_.fresh());
        return true;
    }
    if (global.arity == count)
        return true;
    if (global.arity_reported)
        return false;
    global.arity_reported = true;
    auto keys_text = [](size_t n) {
        return n == 0 ? std::string("without a key") : "with " + count_text(n, "key");
    };
    Diagnostic& diagnostic = diagnostics_.report(DiagnosticKind::KeyCount, range,
                                                 {global.declaration->name, keys_text(count)});
    if (global.arity)
        diagnostic.note(global.arity_at, "it is used " + keys_text(*global.arity) + " here");
    else
        diagnostic.note(global.declaration->range, "it is declared as an array here");
    return false;
}

std::vector<program::ExpressionPtr> Lowering::keys(GlobalState& global,
                                                   const std::vector<ast::ExpressionPtr>& indexes,
                                                   bool wildcards, SourceRange range) {
    std::vector<program::ExpressionPtr> result;
    const bool fits = key_count(global, indexes.size(), range);
    for (size_t i = 0; i < indexes.size(); ++i) {
        if (!indexes[i]) {
            if (!wildcards)
                diagnostics_.report(DiagnosticKind::MissingKey, range, {global.declaration->name})
                    .hint("'*' is allowed in foreach, delete and 'in'");
            result.push_back(nullptr);
            continue;
        }
        Value value = expression(*indexes[i]);
        if (fits) {
            const TypeVar key = global.keys[i];
            if (types_.get(value.type) == Type::Statistic && !types_.is_poison(value.type))
                require(value, *indexes[i], Type::Long);
            agree(
                key, value.type,
                (indexes.size() == 1 ? "the key of '" : "key " + std::to_string(i + 1) + " of '") +
                    global.declaration->name + "'",
                indexes[i]->range);
        }
        result.push_back(std::move(value.node));
    }
    return result;
}

Value Lowering::global_place(const ast::Expression& node, GlobalState& global,
                             const std::vector<ast::ExpressionPtr>* indexes, bool wildcards) {
    auto to = make<program::GlobalValue>(node.range);
    to->global = global.node.get();
    if (indexes)
        to->keys = keys(global, *indexes, wildcards, node.range);
    else if (!key_count(global, 0, node.range))
        return broken(node.range);
    value_uses_.push_back({&global, node.range});
    return typed(std::move(to), global.value);
}

GlobalState* Lowering::global_of(const ast::Expression& node,
                                 const std::vector<ast::ExpressionPtr>** indexes) {
    const ast::Expression* base = &node;
    *indexes = nullptr;
    if (node.kind == ast::ExpressionKind::ArrayIndex) {
        *indexes = &ast::as<ast::ArrayIndex>(node).indexes;
        base = ast::as<ast::ArrayIndex>(node).base.get();
    }
    if (base->kind != ast::ExpressionKind::Identifier) {
        diagnostics_.report(DiagnosticKind::NotAPlace, node.range);
        return nullptr;
    }
    const std::string& name = ast::as<ast::Identifier>(*base).name;
    auto known_local = body_->index.find(name);
    if (known_local == body_->index.end())
        if (GlobalState* global = names_.global(name, *body_->file))
            return global;
    Diagnostic& diagnostic = diagnostics_.report(DiagnosticKind::UnknownArray, base->range, {name});
    std::string hint = did_you_mean(name, names_.global_names(*body_->file));
    diagnostic.hint(hint.empty() ? "declare it outside of any probe: global " + name : hint);
    if (*indexes)
        for (const ast::ExpressionPtr& index : **indexes)
            if (index)
                expression(*index);
    return nullptr;
}

void Lowering::check_not_iterated(const GlobalState& global, SourceRange range) {
    for (const auto& [iterated, at] : body_->iterating)
        if (iterated == &global) {
            diagnostics_.report(DiagnosticKind::ForeachReadOnly, range, {global.declaration->name})
                .hint("collect the changes in another array and apply them after the loop")
                .note(at, "the foreach begins here");
            return;
        }
}

Value Lowering::place(const ast::Expression& node) {
    switch (node.kind) {
    case ast::ExpressionKind::Identifier: {
        const auto& identifier = ast::as<ast::Identifier>(node);
        if (body_->own_part)
            body_->own_writes.insert(identifier.name);
        if (!body_->index.count(identifier.name))
            if (GlobalState* global = names_.global(identifier.name, *body_->file))
                return global_place(node, *global, nullptr, false);
        if (body_->mode != Body::Mode::Normal) {
            diagnostics_.report(body_->mode == Body::Mode::Entry ? DiagnosticKind::EntryLocal
                                                                 : DiagnosticKind::ConditionLocal,
                                node.range, {identifier.name, "is not a global"});
            return broken(node.range);
        }
        const uint32_t index = local(identifier.name, node.range);
        LocalState& state = body_->states[index];
        state.written = true;
        auto value = make<program::LocalValue>(node.range);
        value->local = index;
        return typed(std::move(value), state.type);
    }
    case ast::ExpressionKind::ArrayIndex: {
        const auto& element = ast::as<ast::ArrayIndex>(node);
        if (element.base->kind == ast::ExpressionKind::StatisticOp)
            break;
        const std::vector<ast::ExpressionPtr>* indexes = nullptr;
        GlobalState* global = global_of(node, &indexes);
        if (!global)
            return broken(node.range);
        check_not_iterated(*global, node.range);
        return global_place(node, *global, indexes, false);
    }
    case ast::ExpressionKind::TargetSymbol:
    case ast::ExpressionKind::Autocast:
    case ast::ExpressionKind::Cast: {
        const std::string name = node.kind == ast::ExpressionKind::Cast ? "the value of @cast"
                                 : node.kind == ast::ExpressionKind::Autocast
                                     ? "the member"
                                     : ast::as<ast::TargetSymbol>(node).name;
        if (body_->own_part)
            body_->own_writes.insert(name);
        const bool text = is_procfs_text(name);
        if (!text && !options_.guru && !names_.in_library(node.range)) {
            diagnostics_.report(DiagnosticKind::TargetWrite, node.range, {name})
                .hint("use the option -g");
            return broken(node.range);
        }
        Value value = node.kind == ast::ExpressionKind::Cast ? cast(ast::as<ast::Cast>(node))
                      : node.kind == ast::ExpressionKind::Autocast
                          ? autocast(ast::as<ast::Autocast>(node))
                          : target(ast::as<ast::TargetSymbol>(node), true);
        require(value, node, text ? Type::String : Type::Long);
        return value;
    }
    default:
        break;
    }
    diagnostics_.report(DiagnosticKind::NotAPlace, node.range);
    return broken(node.range);
}

Value Lowering::assignment(const ast::Assignment& node, bool value_used) {
    if (node.form == ast::Assignment::Kind::Aggregate)
        return aggregate(node, value_used);
    const bool compound = node.form == ast::Assignment::Kind::Compound;
    auto to = make<program::Assignment>(node.range);
    to->op_range = node.op_range;
    to->value_used = value_used;
    if (compound)
        to->op = node.op;
    Value assigned = place(*node.place);
    Value value = expression(*node.value);
    if (compound) {
        const Type type = node.op == ast::BinaryOp::Concatenate ? Type::String : Type::Long;
        require(assigned, *node.place, type);
        require(value, *node.value, type);
    } else {
        const std::string name = subject(*node.place);
        agree(assigned.type, value.type, name.empty() ? "the assigned value" : name,
              node.value->range);
        if (node.value->kind == ast::ExpressionKind::Identifier ||
            node.value->kind == ast::ExpressionKind::Call)
            needed_.push_back({value.type, node.value->range, subject(*node.value), ""});
    }
    const TypeVar type = assigned.type;
    // an error was reported
    if (assigned.node->kind == program::ExpressionKind::Number)
        return {std::move(assigned.node), type};
    if (!compound)
        note_source(*assigned.node, *value.node);
    to->place = std::move(assigned.node);
    to->value = std::move(value.node);
    return typed(std::move(to), type);
}

Value Lowering::aggregate(const ast::Assignment& node, bool value_used) {
    program::ExpressionPtr value = expect(*node.value, Type::Long);
    if (node.place->kind == ast::ExpressionKind::Identifier) {
        const std::string& name = ast::as<ast::Identifier>(*node.place).name;
        if (body_->index.count(name) || !names_.global(name, *body_->file)) {
            diagnostics_.report(DiagnosticKind::LocalStatistic, node.place->range, {name})
                .hint("declare it outside of any probe: global " + name);
            return broken(node.range);
        }
    }
    const std::vector<ast::ExpressionPtr>* indexes = nullptr;
    GlobalState* global = global_of(*node.place, &indexes);
    if (!global)
        return broken(node.range);
    check_not_iterated(*global, node.place->range);
    auto to = make<program::Aggregation>(node.range);
    to->value_used = value_used;
    auto statistic = make<program::GlobalValue>(node.place->range);
    statistic->global = global->node.get();
    statistic->type = Type::Statistic;
    if (indexes)
        statistic->keys = keys(*global, *indexes, false, node.place->range);
    else if (!key_count(*global, 0, node.place->range))
        return broken(node.range);
    const std::string name = subject(*node.place);
    agree(global->value, types_.of(Type::Statistic, node.place->range), name, node.place->range);
    to->place = std::move(statistic);
    to->value = std::move(value);
    return known(std::move(to), Type::Long);
}

Value Lowering::increment(const ast::Increment& node, bool value_used) {
    auto to = make<program::Increment>(node.range);
    to->prefix = node.prefix;
    to->decrement = node.decrement;
    to->value_used = value_used;
    Value operand = place(*node.operand);
    require(operand, *node.operand, Type::Long);
    if (operand.node->kind == program::ExpressionKind::Number)
        return operand;
    to->place = std::move(operand.node);
    return known(std::move(to), Type::Long);
}

} // namespace djstap::semantics
