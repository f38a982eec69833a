// SPDX-License-Identifier: GPL-2.0-or-later
#include "semantics/walk.h"

#include <algorithm>

namespace djstap::program {

namespace {
void each(std::vector<ExpressionPtr>& list, const ExpressionVisitor& visit) {
    for (ExpressionPtr& item : list)
        if (item)
            visit(item);
}
void each(std::vector<EmbeddedParameter>& list, const ExpressionVisitor& visit) {
    for (EmbeddedParameter& item : list)
        visit(item.value);
}
void one(ExpressionPtr& item, const ExpressionVisitor& visit) {
    if (item)
        visit(item);
}
} // namespace

void for_each_child(Expression& node, const ExpressionVisitor& visit) {
    switch (node.kind) {
    case ExpressionKind::Number:
    case ExpressionKind::Text:
    case ExpressionKind::LocalValue:
    case ExpressionKind::EntryValue:
    case ExpressionKind::Register:
        return;
    case ExpressionKind::EmbeddedC:
        return each(as<EmbeddedC>(node).parameters, visit);
    case ExpressionKind::GlobalValue:
        return each(as<GlobalValue>(node).keys, visit);
    case ExpressionKind::Membership:
        return each(as<Membership>(node).keys, visit);
    case ExpressionKind::Unary:
        return one(as<Unary>(node).operand, visit);
    case ExpressionKind::Arithmetic:
        one(as<Arithmetic>(node).left, visit);
        return one(as<Arithmetic>(node).right, visit);
    case ExpressionKind::Comparison:
        one(as<Comparison>(node).left, visit);
        return one(as<Comparison>(node).right, visit);
    case ExpressionKind::Concatenation:
        one(as<Concatenation>(node).left, visit);
        return one(as<Concatenation>(node).right, visit);
    case ExpressionKind::Logical:
        one(as<Logical>(node).left, visit);
        return one(as<Logical>(node).right, visit);
    case ExpressionKind::Conditional:
        one(as<Conditional>(node).condition, visit);
        one(as<Conditional>(node).then_value, visit);
        return one(as<Conditional>(node).else_value, visit);
    case ExpressionKind::Assignment:
        one(as<Assignment>(node).place, visit);
        return one(as<Assignment>(node).value, visit);
    case ExpressionKind::Aggregation:
        one(as<Aggregation>(node).place, visit);
        return one(as<Aggregation>(node).value, visit);
    case ExpressionKind::Increment:
        return one(as<Increment>(node).place, visit);
    case ExpressionKind::Call:
        return each(as<Call>(node).arguments, visit);
    case ExpressionKind::Print:
        return each(as<Print>(node).arguments, visit);
    case ExpressionKind::StatisticRead:
        one(as<StatisticRead>(node).place, visit);
        return one(as<StatisticRead>(node).bucket, visit);
    case ExpressionKind::HistogramText:
        return one(as<HistogramText>(node).place, visit);
    case ExpressionKind::TargetValue: {
        auto& target = as<TargetValue>(node);
        one(target.operand, visit);
        for (TargetComponent& component : target.components)
            one(component.index, visit);
        return;
    }
    case ExpressionKind::Defined:
        return one(as<Defined>(node).operand, visit);
    case ExpressionKind::Dereference:
        return one(as<Dereference>(node).address, visit);
    case ExpressionKind::RegexMatch:
        return one(as<RegexMatch>(node).operand, visit);
    case ExpressionKind::StackText:
        return one(as<StackText>(node).stack, visit);
    }
}

void for_each_child(Statement& node, const ExpressionVisitor& expression,
                    const StatementVisitor& statement) {
    auto child = [&](StatementPtr& item) {
        if (item)
            statement(item);
    };
    switch (node.kind) {
    case StatementKind::Block:
        for (StatementPtr& item : as<Block>(node).statements)
            child(item);
        return;
    case StatementKind::Evaluate:
        return one(as<Evaluate>(node).expression, expression);
    case StatementKind::If:
        one(as<If>(node).condition, expression);
        child(as<If>(node).then_branch);
        return child(as<If>(node).else_branch);
    case StatementKind::Loop:
        one(as<Loop>(node).init, expression);
        one(as<Loop>(node).condition, expression);
        child(as<Loop>(node).body);
        return one(as<Loop>(node).step, expression);
    case StatementKind::Foreach:
        one(as<Foreach>(node).histogram, expression);
        each(as<Foreach>(node).slice, expression);
        one(as<Foreach>(node).limit, expression);
        return child(as<Foreach>(node).body);
    case StatementKind::Return:
        return one(as<Return>(node).value, expression);
    case StatementKind::Delete:
        return each(as<Delete>(node).keys, expression);
    case StatementKind::TryCatch:
        child(as<TryCatch>(node).body);
        return child(as<TryCatch>(node).handler);
    case StatementKind::Break:
    case StatementKind::Continue:
    case StatementKind::Next:
        return;
    case StatementKind::EmbeddedStatement:
        return each(as<EmbeddedStatement>(node).parameters, expression);
    }
}

void walk_expressions(Expression& node, const std::function<void(Expression&)>& visit) {
    visit(node);
    for_each_child(node, [&](ExpressionPtr& child) { walk_expressions(*child, visit); });
}

void walk_expressions(Statement& node, const std::function<void(Expression&)>& visit) {
    for_each_child(
        node, [&](ExpressionPtr& child) { walk_expressions(*child, visit); },
        [&](StatementPtr& child) { walk_expressions(*child, visit); });
}

const Expression* assigned_place(const Expression& node) {
    switch (node.kind) {
    case ExpressionKind::Assignment:
        return as<Assignment>(node).place.get();
    case ExpressionKind::Increment:
        return as<Increment>(node).place.get();
    default:
        return nullptr;
    }
}

bool has_probe_of(const Program& program, PointTrait trait) {
    return std::any_of(program.probes.begin(), program.probes.end(), [&](const auto& probe) {
        return std::any_of(probe->point_traits.begin(), probe->point_traits.end(),
                           [&](uint32_t traits) { return (traits & trait) != 0; });
    });
}

bool is_slice(const std::vector<ExpressionPtr>& keys) {
    return std::any_of(keys.begin(), keys.end(), [](const ExpressionPtr& key) { return !key; });
}

void walk_statements(Statement& node, const std::function<void(Statement&)>& visit) {
    visit(node);
    for_each_child(
        node, [](ExpressionPtr&) {}, [&](StatementPtr& child) { walk_statements(*child, visit); });
}

bool contains_next(Statement& node) {
    bool found = false;
    walk_statements(node,
                    [&](const Statement& each) { found |= each.kind == StatementKind::Next; });
    return found;
}

} // namespace djstap::program
