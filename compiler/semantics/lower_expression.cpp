// SPDX-License-Identifier: GPL-2.0-or-later
// Operators, literals, variables and calls.
#include "diagnostics/foreign_words.h"
#include "diagnostics/suggest.h"
#include "regex/regex.h"
#include "semantics/lower.h"

#include <algorithm>

namespace djstap::semantics {

using program::Type;

namespace {

// Returns whether a range is a part of another one; a macro has other places at each of its uses.
bool is_within(SourceRange inner, SourceRange outer) {
    return inner.file == outer.file && inner.expansion == outer.expansion &&
           inner.begin >= outer.begin && inner.end <= outer.end;
}

} // namespace

std::string count_text(size_t count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string count_text(const std::vector<size_t>& counts, const std::string& noun) {
    std::string text;
    for (size_t i = 0; i + 1 < counts.size(); ++i)
        text += std::to_string(counts[i]) + (i + 2 < counts.size() ? ", " : " or ");
    return text + count_text(counts.back(), noun);
}

Value Lowering::broken(SourceRange range) {
    return {make<program::Number>(range), types_.poison()};
}

std::string Lowering::subject(const ast::Expression& node) {
    switch (node.kind) {
    case ast::ExpressionKind::Identifier:
        return "'" + ast::as<ast::Identifier>(node).name + "'";
    case ast::ExpressionKind::ArrayIndex: {
        const auto& base = *ast::as<ast::ArrayIndex>(node).base;
        if (base.kind == ast::ExpressionKind::Identifier)
            return "an element of '" + ast::as<ast::Identifier>(base).name + "'";
        return "";
    }
    case ast::ExpressionKind::Call:
        return "the value of '" + ast::as<ast::Call>(node).function + "'";
    default:
        return "";
    }
}

void Lowering::require(const Value& value, const ast::Expression& node, Type type,
                       const std::string& hint) {
    auto conflict = types_.unify(value.type, types_.of(type, node.range));
    if (!conflict)
        return;
    const std::string name = subject(node);
    const SourceRange& first = conflict->first_at;
    const bool own_place = !first.valid() || is_within(first, node.range);
    if (name.empty() || own_place)
        diagnostics_
            .report(DiagnosticKind::TypeNeeded, node.range,
                    {type_name(type), type_name(conflict->first)})
            .hint(hint);
    else
        diagnostics_.report(DiagnosticKind::TypeMismatch, node.range, {name, type_name(type)})
            .note(first, std::string(conflict->first_declared ? "it is declared as a "
                                                              : "it was used as a ") +
                             type_name(conflict->first) + " here")
            .hint(hint);
}

void Lowering::agree(TypeVar first, TypeVar second, const std::string& name, SourceRange at) {
    auto conflict = types_.unify(first, second);
    if (!conflict)
        return;
    Diagnostic& diagnostic =
        diagnostics_.report(DiagnosticKind::TypeMismatch, at, {name, type_name(conflict->second)});
    if (conflict->first_at.valid())
        diagnostic.note(
            conflict->first_at,
            std::string(conflict->first_declared ? "it is declared as a " : "it was used as a ") +
                type_name(conflict->first) + " here");
    const SourceRange& second_at = conflict->second_at;
    if (second_at.valid() && !is_within(second_at, at))
        diagnostic.note(second_at,
                        std::string("the value became a ") + type_name(conflict->second) + " here");
}

program::ExpressionPtr Lowering::expect(const ast::Expression& node, Type type) {
    Value value = expression(node);
    require(value, node, type);
    return std::move(value.node);
}

Value Lowering::expression(const ast::Expression& node, bool value_used) {
    switch (node.kind) {
    case ast::ExpressionKind::NumberLiteral:
    case ast::ExpressionKind::StringLiteral:
        return literal(node);
    case ast::ExpressionKind::Identifier:
        return identifier(ast::as<ast::Identifier>(node));
    case ast::ExpressionKind::ArrayIndex:
        return array_index(ast::as<ast::ArrayIndex>(node));
    case ast::ExpressionKind::TargetSymbol:
        return target(ast::as<ast::TargetSymbol>(node));
    case ast::ExpressionKind::Cast:
        return cast(ast::as<ast::Cast>(node));
    case ast::ExpressionKind::Autocast:
        return autocast(ast::as<ast::Autocast>(node));
    case ast::ExpressionKind::Defined:
        return defined(ast::as<ast::Defined>(node));
    case ast::ExpressionKind::Entry:
        return entry(ast::as<ast::Entry>(node));
    case ast::ExpressionKind::PerfCounter: {
        auto to = make<program::TargetValue>(node.range);
        to->base = program::TargetValue::Base::PerfCounter;
        to->name = ast::as<ast::PerfCounter>(node).name;
        return known(std::move(to), Type::Long);
    }
    case ast::ExpressionKind::Const:
        return constant(ast::as<ast::Const>(node));
    case ast::ExpressionKind::Enumerator:
        return enumerator(ast::as<ast::Enumerator>(node));
    case ast::ExpressionKind::ProbeWrite:
        return probe_write(ast::as<ast::ProbeWrite>(node));
    case ast::ExpressionKind::Dereference: {
        const auto& from = ast::as<ast::Dereference>(node);
        auto to = make<program::Dereference>(node.range);
        to->user = from.user;
        to->size = from.size;
        to->address = expect(*from.address, Type::Long);
        return known(std::move(to), Type::Long);
    }
    case ast::ExpressionKind::Register: {
        const auto& from = ast::as<ast::Register>(node);
        auto to = make<program::Register>(node.range);
        to->user = from.user;
        to->number = from.number;
        return known(std::move(to), Type::Long);
    }
    case ast::ExpressionKind::Unary:
        return unary(ast::as<ast::Unary>(node));
    case ast::ExpressionKind::Binary:
        return binary(ast::as<ast::Binary>(node));
    case ast::ExpressionKind::Logical:
        return logical(ast::as<ast::Logical>(node));
    case ast::ExpressionKind::Conditional:
        return conditional(ast::as<ast::Conditional>(node));
    case ast::ExpressionKind::Assignment:
        return assignment(ast::as<ast::Assignment>(node), value_used);
    case ast::ExpressionKind::Increment:
        return increment(ast::as<ast::Increment>(node), value_used);
    case ast::ExpressionKind::Call:
        return call(ast::as<ast::Call>(node), value_used);
    case ast::ExpressionKind::Print:
        return print(ast::as<ast::Print>(node));
    case ast::ExpressionKind::StatisticOp:
        return statistic(ast::as<ast::StatisticOp>(node));
    case ast::ExpressionKind::Membership:
        return membership(ast::as<ast::Membership>(node));
    case ast::ExpressionKind::RegexMatch:
        return regex(ast::as<ast::RegexMatch>(node));
    case ast::ExpressionKind::EmbeddedC:
        return embedded(ast::as<ast::EmbeddedC>(node));
    }
    return broken(node.range);
}

Value Lowering::literal(const ast::Expression& node) {
    if (node.kind == ast::ExpressionKind::NumberLiteral) {
        auto number = make<program::Number>(node.range);
        number->value = ast::as<ast::NumberLiteral>(node).value;
        return known(std::move(number), Type::Long);
    }
    auto text = make<program::Text>(node.range);
    text->value = ast::as<ast::StringLiteral>(node).value;
    return known(std::move(text), Type::String);
}

Value Lowering::identifier(const ast::Identifier& node) {
    auto found = body_->index.find(node.name);
    if (found == body_->index.end()) {
        if (GlobalState* global = names_.global(node.name, *body_->file)) {
            if (types_.get(global->value) == Type::Statistic && !types_.is_poison(global->value)) {
                diagnostics_.report(DiagnosticKind::StatisticAsValue, node.range, {node.name})
                    .hint("read it with @count(" + node.name +
                          "), @sum, @min, @max, @avg or print(@hist_log(" + node.name + "))");
                return broken(node.range);
            }
            return global_place(node, *global, nullptr, false);
        }
        if (body_->mode == Body::Mode::Condition) {
            diagnostics_
                .report(DiagnosticKind::ConditionLocal, node.range, {node.name, "is not a global"})
                .hint(did_you_mean(node.name, names_.global_names(*body_->file)));
            return broken(node.range);
        }
    }
    if (body_->mode == Body::Mode::Entry) {
        diagnostics_.report(DiagnosticKind::EntryLocal, node.range, {node.name});
        return broken(node.range);
    }
    const uint32_t index = local(node.name, node.range);
    LocalState& state = body_->states[index];
    if (!state.read_at.valid())
        state.read_at = node.range;
    auto value = make<program::LocalValue>(node.range);
    value->local = index;
    return typed(std::move(value), state.type);
}

Value Lowering::array_index(const ast::ArrayIndex& node) {
    if (node.base->kind == ast::ExpressionKind::StatisticOp) {
        if (!is_one_bucket(node.indexes, node.range))
            return broken(node.range);
        return bucket(ast::as<ast::StatisticOp>(*node.base),
                      expect(*node.indexes.front(), Type::Long));
    }
    const std::vector<ast::ExpressionPtr>* indexes = nullptr;
    GlobalState* global = global_of(node, &indexes);
    if (!global)
        return broken(node.range);
    if (types_.get(global->value) == Type::Statistic && !types_.is_poison(global->value)) {
        const std::string name = global->declaration->name;
        diagnostics_.report(DiagnosticKind::StatisticAsValue, node.range, {name + "[…]"})
            .hint("read it with @count(" + name + "[…]), @sum, @min, @max or @avg");
        return broken(node.range);
    }
    return global_place(node, *global, indexes, false);
}

Value Lowering::unary(const ast::Unary& node) {
    auto to = make<program::Unary>(node.range);
    to->op = node.op;
    if (node.op == ast::UnaryOp::Not)
        condition(to->operand, *node.operand);
    else
        to->operand = expect(*node.operand, Type::Long);
    return known(std::move(to), Type::Long);
}

Value Lowering::binary(const ast::Binary& node) {
    using Op = ast::BinaryOp;
    if (node.op == Op::Concatenate) {
        auto to = make<program::Concatenation>(node.range);
        auto operand = [&](const ast::Expression& side, const std::string& hint) {
            Value value = expression(side);
            const bool is_number = types_.get(value.type) == Type::Long;
            require(value, side, Type::String, is_number ? hint : "");
            return std::move(value.node);
        };
        if (const std::string hint = hint_for_dot(node); !hint.empty()) {
            const size_t errors = diagnostics_.error_count();
            to->left = operand(*node.left, hint);
            if (diagnostics_.error_count() > errors) // the other side is part of this mistake
                return broken(node.range);
        } else {
            to->left = operand(*node.left, hint_for_text(*node.left));
        }
        to->right = operand(*node.right, hint_for_text(*node.right));
        return known(std::move(to), Type::String);
    }
    if (node.op >= Op::Equal && node.op <= Op::GreaterEqual) {
        auto to = make<program::Comparison>(node.range);
        to->op = node.op;
        Value left = expression(*node.left);
        Value right = expression(*node.right);
        // The side whose type is known determines the other; otherwise the right one is to blame,
        // because it has no name.
        const auto known_left = types_.get(left.type), known_right = types_.get(right.type);
        if (known_left && known_right && *known_left != *known_right)
            require(right, *node.right, *known_left,
                    hint_for_pointer(*known_left == Type::Long ? *node.left : *node.right));
        else if (known_left)
            require(right, *node.right, *known_left);
        else if (known_right)
            require(left, *node.left, *known_right);
        else
            types_.unify(left.type, right.type);
        needed_.push_back({left.type, node.left->range, "this expression", ""});
        to->left = std::move(left.node);
        to->right = std::move(right.node);
        return known(std::move(to), Type::Long);
    }
    auto to = make<program::Arithmetic>(node.range);
    to->op = node.op;
    to->op_range = node.op_range;
    const size_t errors = diagnostics_.error_count();
    auto operand = [&](const ast::Expression& side) {
        Value value = expression(side);
        if (diagnostics_.error_count() == errors) // "a" + "b" is reported once
            require(value, side, Type::Long,
                    node.op == Op::Add ? "strings are concatenated with '.'" : "");
        return std::move(value.node);
    };
    to->left = operand(*node.left);
    to->right = operand(*node.right);
    return known(std::move(to), Type::Long);
}

Value Lowering::logical(const ast::Logical& node) {
    auto to = make<program::Logical>(node.range);
    to->conjunction = node.conjunction;
    condition(to->left, *node.left);
    condition(to->right, *node.right);
    return known(std::move(to), Type::Long);
}

Value Lowering::conditional(const ast::Conditional& node) {
    auto to = make<program::Conditional>(node.range);
    condition(to->condition, *node.condition);
    Value then_value = expression(*node.then_value);
    Value else_value = expression(*node.else_value);
    agree(then_value.type, else_value.type, "the other value of ?:", node.else_value->range);
    to->then_value = std::move(then_value.node);
    to->else_value = std::move(else_value.node);
    return typed(std::move(to), then_value.type);
}

Value Lowering::membership(const ast::Membership& node) {
    if (node.array->kind != ast::ExpressionKind::Identifier)
        return bucket_membership(node);
    const std::vector<ast::ExpressionPtr>* none = nullptr;
    GlobalState* global = global_of(*node.array, &none);
    if (!global)
        return broken(node.range);
    auto to = make<program::Membership>(node.range);
    to->array = global->node.get();
    to->keys = keys(*global, node.indexes, true, node.range);
    return known(std::move(to), Type::Long);
}

Value Lowering::regex(const ast::RegexMatch& node) {
    auto to = make<program::RegexMatch>(node.range);
    to->negated = node.negated;
    to->pattern = node.pattern;
    to->pattern_range = node.pattern_range;
    const Result<regex::Automaton> compiled = regex::compile(node.pattern, false);
    if (!compiled)
        diagnostics_
            .report(DiagnosticKind::BadRegex, node.pattern_range, {compiled.failure().message})
            .hint(compiled.failure().hint);
    to->operand = expect(*node.operand, Type::String);
    return known(std::move(to), Type::Long);
}

// A site has the name of its function. Only probes that hit anywhere have to look it up.
bool Lowering::asks_what_was_interrupted(const ast::Call& node,
                                         const std::vector<FunctionState*>& found) const {
    return node.function == "probefunc" && found.size() == 1 &&
           found.front()->declaration->embedded_code && body_->probe &&
           std::any_of(body_->probe->point_traits.begin(), body_->probe->point_traits.end(),
                       [](uint32_t traits) { return traits & PointInterrupts; });
}

Value Lowering::call(const ast::Call& node, bool value_used) {
    std::vector<FunctionState*> found =
        names_.functions(node.function, node.arguments.size(), *body_->file);
    if (asks_what_was_interrupted(node, found))
        found = names_.functions("__interrupted_function", 0, *body_->file);
    if (found.empty()) {
        SourceRange place;
        const std::vector<size_t> counts =
            names_.argument_counts(node.function, *body_->file, &place);
        if (counts.empty()) {
            Diagnostic& diagnostic = diagnostics_.report(DiagnosticKind::UnknownFunction,
                                                         node.name_range, {node.function});
            std::string hint = did_you_mean(node.function, names_.function_names(*body_->file));
            if (hint.empty() && names_.global(node.function, *body_->file))
                hint = "'" + node.function + "' is a global: access its elements as " +
                       node.function + "[key]";
            if (hint.empty())
                hint = hint_for_foreign_value(node.function);
            diagnostic.hint(hint);
        } else {
            const std::string given = std::to_string(node.arguments.size()) +
                                      (node.arguments.size() == 1 ? " is" : " are");
            Diagnostic& diagnostic =
                diagnostics_.report(DiagnosticKind::WrongArgumentCount,
                                    node.name_range.valid() ? node.name_range : node.range,
                                    {node.function, count_text(counts, "argument"), given});
            if (!names_.in_library(place))
                diagnostic.note(place, "it is defined here");
        }
        // The arguments may contain errors of their own, and reads that make variables used.
        for (const ast::ExpressionPtr& argument : node.arguments)
            expression(*argument);
        return broken(node.range);
    }
    check_guru(node, found);
    check_system(node, *found.front());
    auto to = make<program::Call>(node.range);
    to->function = found.front()->node.get();
    for (size_t i = 0; i < node.arguments.size(); ++i) {
        const ast::Expression& argument = *node.arguments[i];
        Value value = expression(argument);
        const TypeVar parameter = found.front()->parameters[i];
        if (auto type = types_.get(parameter); type && !types_.is_poison(parameter))
            require_parameter(value, argument, parameter,
                              found.front()->declaration->parameters[i]);
        else
            agree(parameter, value.type,
                  "the argument '" + found.front()->declaration->parameters[i].name + "'",
                  argument.range);
        for (const FunctionState* overload : found)
            note_source(&overload->node->locals, static_cast<uint32_t>(i), *value.node);
        to->arguments.push_back(std::move(value.node));
    }
    for (size_t i = 0; i < found.size(); ++i) {
        found[i]->node->next_overload = i + 1 < found.size() ? found[i + 1]->node.get() : nullptr;
        if (!found[i]->queued) {
            found[i]->queued = true;
            queue_.push_back(found[i]);
        }
    }
    if (value_used)
        needed_.push_back({found.front()->result, node.range,
                           "the value of '" + node.function + "'", "it returns no value",
                           found.front()});
    const TypeVar result = found.front()->result;
    return typed(std::move(to), result);
}

// A library marks the functions that it may use itself, and a script only with -g.
void Lowering::check_guru(const ast::Call& node, const std::vector<FunctionState*>& found) {
    const bool marked = std::any_of(found.begin(), found.end(), [](const FunctionState* each) {
        const auto& code = each->declaration->embedded_code;
        return code && has_pragma(*code, "guru");
    });
    if (marked && !options_.guru && !names_.in_library(node.range))
        diagnostics_.report(DiagnosticKind::GuruFunction, node.name_range, {node.function})
            .hint("run djstap with -g if you trust the script");
}

// The library's function is the only one that has commands run.
void Lowering::check_system(const ast::Call& node, const FunctionState& found) {
    if (options_.no_system && node.function == "system" && found.declaration->embedded_code)
        diagnostics_.report(DiagnosticKind::SystemRefused, node.name_range)
            .hint("djstap was called with --no-system: this script must not run commands");
}

void Lowering::require_parameter(const Value& value, const ast::Expression& node, TypeVar parameter,
                                 const ast::Parameter& declaration) {
    auto conflict = types_.unify(value.type, parameter);
    if (!conflict)
        return;
    Diagnostic& diagnostic =
        diagnostics_.report(DiagnosticKind::TypeNeeded, node.range,
                            {type_name(conflict->second), type_name(conflict->first)});
    if (!names_.in_library(declaration.range))
        diagnostic.note(declaration.range, "the parameter '" + declaration.name + "' is a " +
                                               type_name(conflict->second));
    else
        diagnostic.hint("the parameter '" + declaration.name + "' is a " +
                        type_name(conflict->second));
}

} // namespace djstap::semantics
