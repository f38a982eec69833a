// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/body_resolver.h"

#include "semantics/walk.h"

#include <algorithm>
#include <functional>

namespace djstap {

using program::ExpressionKind;
using program::StatementKind;

bool is_file_text(const program::TargetValue& node) {
    return node.name == "$value" && node.type == program::Type::String && node.pretty == 0;
}

bool is_typed(const program::Expression& node) {
    return node.kind == ExpressionKind::TargetValue &&
           !is_file_text(program::as<program::TargetValue>(node)) &&
           program::as<program::TargetValue>(node).base != program::TargetValue::Base::PerfCounter;
}

void BodyResolver::statement(program::Statement& node) {
    if (node.kind == StatementKind::If) {
        auto& branch = program::as<program::If>(node);
        expression(*branch.condition);
        const std::optional<int64_t> value = constant(*branch.condition);
        if (!value || *value)
            statement(*branch.then_branch);
        if (branch.else_branch && (!value || !*value))
            statement(*branch.else_branch);
        return;
    }
    program::for_each_child(
        node, [this](program::ExpressionPtr& child) { expression(*child); },
        [this](program::StatementPtr& child) { statement(*child); });
}

void BodyResolver::expression(program::Expression& node) {
    switch (node.kind) {
    case ExpressionKind::Defined:
        defined_[&node] = is_defined(*program::as<program::Defined>(node).operand);
        return;
    case ExpressionKind::Conditional: {
        auto& conditional = program::as<program::Conditional>(node);
        expression(*conditional.condition);
        const std::optional<int64_t> value = constant(*conditional.condition);
        if (!value || *value)
            expression(*conditional.then_value);
        if (!value || !*value)
            expression(*conditional.else_value);
        return;
    }
    case ExpressionKind::Logical: {
        auto& logical = program::as<program::Logical>(node);
        expression(*logical.left);
        const std::optional<int64_t> left = constant(*logical.left);
        if (!left || (*left != 0) == logical.conjunction)
            expression(*logical.right);
        return;
    }
    case ExpressionKind::TargetValue:
        value(program::as<program::TargetValue>(node));
        break;
    case ExpressionKind::EntryValue: {
        // Evaluated at function entry; only values that are read at the return must be available.
        const uint32_t slot = program::as<program::EntryValue>(node).slot;
        if (entry_values_ && entries_seen_.insert(slot).second)
            expression(*(*entry_values_)[slot]);
        break;
    }
    default:
        break;
    }
    program::for_each_child(node, [this](program::ExpressionPtr& child) { expression(*child); });
}

AccessResult BodyResolver::resolve(const program::TargetValue& node) {
    if (is_file_text(node)) {
        TargetAccess text;
        text.value.base = Access::Base::FileText;
        return text;
    }
    if (node.base == program::TargetValue::Base::PerfCounter)
        return counter(node);
    if (!scope_.info)
        return AccessError{
            DiagnosticKind::NoTargetVariables, node.range, node.name, "this probe point", {}, {}};
    return resolve_value(node, scope_);
}

AccessResult BodyResolver::counter(const program::TargetValue& node) const {
    const auto known = std::find(scope_.counters->begin(), scope_.counters->end(), node.name);
    if (known == scope_.counters->end())
        return AccessError{DiagnosticKind::UnknownCounter,
                           node.range,
                           node.name,
                           {},
                           {},
                           "define it with probe perf.type(T).config(C).counter(\"" + node.name +
                               "\") { }"};
    TargetAccess out;
    out.value.base = Access::Base::PerfCounter;
    out.value.constant = static_cast<uint64_t>(known - scope_.counters->begin());
    return out;
}

void BodyResolver::value(const program::TargetValue& node) {
    AccessResult result = resolve(node);
    const auto former =
        std::holds_alternative<AccessError>(result) && scope_.function &&
                node.base == program::TargetValue::Base::Variable &&
                std::get<AccessError>(result).kind == DiagnosticKind::UnknownTargetVariable
            ? former_variable(scope_.function->name, node.name.substr(1))
            : std::nullopt;
    if (former) {
        VariableScope scope = scope_;
        scope.former = former;
        AccessResult todays = resolve_value(node, scope);
        if (std::holds_alternative<TargetAccess>(todays)) {
            former_.push_back({DiagnosticKind::FormerVariable,
                               node.range,
                               node.name,
                               "$" + former->variable + "->" + former->member,
                               {},
                               {}});
            result = std::move(todays);
        }
    }
    if (auto* error = std::get_if<AccessError>(&result)) {
        if (!skip_bad_)
            errors_.push_back(*error);
        return;
    }
    accesses_[&node] = std::get<TargetAccess>(std::move(result));
}

bool BodyResolver::is_defined(program::Expression& operand) {
    bool all = true;
    std::function<void(program::Expression&)> check = [&](program::Expression& node) {
        if (node.kind == ExpressionKind::EntryValue && entry_values_) {
            program::Expression& kept =
                *(*entry_values_)[program::as<program::EntryValue>(node).slot];
            check(kept);
            program::walk_expressions(kept, check);
        }
        if (node.kind == ExpressionKind::TargetValue &&
            std::holds_alternative<AccessError>(resolve(program::as<program::TargetValue>(node))))
            all = false;
    };
    check(operand);
    program::walk_expressions(operand, check);
    return all;
}

namespace {

// As a handler computes it; nothing where that is an error.
std::optional<int64_t> calculated(ast::BinaryOp op, int64_t left, int64_t right) {
    using Op = ast::BinaryOp;
    const auto a = static_cast<uint64_t>(left), b = static_cast<uint64_t>(right);
    const uint64_t shift = b % 64;
    switch (op) {
    case Op::Add:
        return static_cast<int64_t>(a + b);
    case Op::Subtract:
        return static_cast<int64_t>(a - b);
    case Op::Multiply:
        return static_cast<int64_t>(a * b);
    case Op::Divide:
        if (right == 0)
            return std::nullopt;
        return right == -1 ? static_cast<int64_t>(0 - a) : left / right;
    case Op::Modulo:
        if (right == 0)
            return std::nullopt;
        return right == -1 ? 0 : left % right;
    case Op::And:
        return left & right;
    case Op::Or:
        return left | right;
    case Op::Xor:
        return left ^ right;
    case Op::ShiftLeft:
        return static_cast<int64_t>(a << shift);
    case Op::ShiftRight:
        return left >> shift;
    case Op::ShiftRightLogical:
        return static_cast<int64_t>(a >> shift);
    case Op::Equal:
        return left == right;
    case Op::NotEqual:
        return left != right;
    case Op::Less:
        return left < right;
    case Op::LessEqual:
        return left <= right;
    case Op::Greater:
        return left > right;
    case Op::GreaterEqual:
        return left >= right;
    default:
        return std::nullopt;
    }
}

} // namespace

std::optional<int64_t> BodyResolver::constant(const program::Expression& node) const {
    auto both = [this](ast::BinaryOp op, const program::Expression& left,
                       const program::Expression& right) -> std::optional<int64_t> {
        const auto a = constant(left), b = constant(right);
        return a && b ? calculated(op, *a, *b) : std::nullopt;
    };
    switch (node.kind) {
    case ExpressionKind::Defined: {
        const auto known = defined_.find(&node);
        return known != defined_.end() ? std::optional<int64_t>(known->second) : std::nullopt;
    }
    case ExpressionKind::Number:
        return program::as<program::Number>(node).value;
    case ExpressionKind::Unary: {
        const auto& unary = program::as<program::Unary>(node);
        const auto value = constant(*unary.operand);
        if (!value)
            return std::nullopt;
        switch (unary.op) {
        case ast::UnaryOp::Not:
            return !*value;
        case ast::UnaryOp::Negate:
            return calculated(ast::BinaryOp::Subtract, 0, *value);
        case ast::UnaryOp::Complement:
            return ~*value;
        default:
            return value;
        }
    }
    case ExpressionKind::Arithmetic: {
        const auto& arithmetic = program::as<program::Arithmetic>(node);
        return both(arithmetic.op, *arithmetic.left, *arithmetic.right);
    }
    case ExpressionKind::Comparison: {
        const auto& comparison = program::as<program::Comparison>(node);
        return both(comparison.op, *comparison.left, *comparison.right);
    }
    case ExpressionKind::Logical: {
        const auto& logical = program::as<program::Logical>(node);
        const auto left = constant(*logical.left);
        if (left && (*left != 0) != logical.conjunction)
            return *left != 0;
        const auto right = constant(*logical.right);
        return left && right ? std::optional<int64_t>(*right != 0) : std::nullopt;
    }
    case ExpressionKind::Conditional: {
        const auto& choice = program::as<program::Conditional>(node);
        const auto value = constant(*choice.condition);
        if (!value)
            return std::nullopt;
        return constant(*value ? *choice.then_value : *choice.else_value);
    }
    default:
        return std::nullopt;
    }
}

} // namespace djstap
