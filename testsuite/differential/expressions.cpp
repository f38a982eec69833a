// SPDX-License-Identifier: GPL-2.0-or-later
#include "walk.h"

#include <algorithm>
#include <cstring>

namespace djstap::differential {

using ast::BinaryOp;
using program::as;
using program::ExpressionKind;
using program::Type;

Value Interpreter::cut(Value value) const {
    if (auto* text = std::get_if<std::string>(&value))
        if (text->size() >= rules_.string_bytes)
            text->resize(rules_.string_bytes - 1);
    return value;
}

// ---- places ----

std::vector<std::optional<Value>>
Interpreter::keys(const std::vector<program::ExpressionPtr>& nodes) {
    std::vector<std::optional<Value>> result;
    for (const auto& node : nodes)
        result.push_back(node ? std::optional(cut(value(*node))) : std::nullopt);
    return result;
}

bool Interpreter::fits(const Element& element, const std::vector<std::optional<Value>>& keys) {
    for (size_t i = 0; i < keys.size(); i++)
        if (keys[i] && element.keys[i] != *keys[i])
            return false;
    return true;
}

Element* Interpreter::find(const program::GlobalValue& place) {
    const auto wanted = keys(place.keys);
    for (Element& element : storage(*place.global).elements)
        if (fits(element, wanted))
            return &element;
    return nullptr;
}

Element& Interpreter::make(const program::GlobalValue& place) {
    const auto wanted = keys(place.keys);
    const program::Global& global = *place.global;
    auto& elements = storage(global).elements;
    for (Element& element : elements)
        if (fits(element, wanted))
            return element;
    const uint64_t room = global.size > 0 ? static_cast<uint64_t>(global.size) : rules_.map_entries;
    if (elements.size() >= room) {
        if (!global.wrap)
            throw ScriptError{"Array overflow, check " +
                              (global.size > 0 ? "size limit (" + std::to_string(room) + ")"
                                               : std::string("MAXMAPENTRIES"))};
        elements.erase(elements.begin());
    }
    Element element;
    for (const auto& key : wanted)
        element.keys.push_back(*key);
    element.value = nothing(global.value);
    elements.push_back(std::move(element));
    return elements.back();
}

Value Interpreter::read_place(const program::Expression& place) {
    if (place.kind == ExpressionKind::LocalValue)
        return frame_->locals[as<program::LocalValue>(place).local];
    const auto& global = as<program::GlobalValue>(place);
    if (!global.global->is_array())
        return storage(*global.global).value;
    const Element* element = find(global);
    return element ? element->value : nothing(global.global->value);
}

template <class Change>
std::pair<Value, Value> Interpreter::change(const program::Expression& place, Change change) {
    Value* at = nullptr;
    if (place.kind == ExpressionKind::LocalValue) {
        at = &frame_->locals[as<program::LocalValue>(place).local];
    } else if (place.kind == ExpressionKind::GlobalValue) {
        const auto& global = as<program::GlobalValue>(place);
        at = global.global->is_array() ? &make(global).value : &storage(*global.global).value;
    } else {
        throw Unknown("an assignment to this");
    }
    Value old = *at;
    *at = cut(change(old));
    return {old, *at};
}

const Statistic* Interpreter::find_statistic(const program::Expression& place) {
    const auto& global = as<program::GlobalValue>(place);
    if (!global.global->is_array())
        return &storage(*global.global).statistic;
    const Element* element = find(global);
    return element ? &element->statistic : nullptr;
}

// ---- expressions ----

bool Interpreter::holds(const program::Expression& node) {
    const Value result = value(node);
    if (const auto* text = std::get_if<std::string>(&result))
        return !text->empty();
    return std::get<int64_t>(result) != 0;
}

Value Interpreter::value(const program::Expression& node) {
    switch (node.kind) {
    case ExpressionKind::Number:
        return as<program::Number>(node).value;
    case ExpressionKind::Text:
        return cut(as<program::Text>(node).value);
    case ExpressionKind::LocalValue:
    case ExpressionKind::GlobalValue:
        return read_place(node);
    case ExpressionKind::Membership:
        return membership(as<program::Membership>(node));
    case ExpressionKind::Unary: {
        const auto& unary = as<program::Unary>(node);
        if (unary.op == ast::UnaryOp::Not)
            return int64_t{!holds(*unary.operand)};
        const int64_t operand = number(*unary.operand);
        return unary.op == ast::UnaryOp::Negate       ? calculate(BinaryOp::Subtract, 0, operand)
               : unary.op == ast::UnaryOp::Complement ? ~operand
                                                      : operand;
    }
    case ExpressionKind::Arithmetic: {
        const auto& binary = as<program::Arithmetic>(node);
        const int64_t left = number(*binary.left);
        return calculate(binary.op, left, number(*binary.right));
    }
    case ExpressionKind::Comparison:
        return compare(as<program::Comparison>(node));
    case ExpressionKind::Concatenation: {
        const auto& concatenation = as<program::Concatenation>(node);
        const std::string left = text(*concatenation.left);
        return cut(left + text(*concatenation.right));
    }
    case ExpressionKind::Logical: {
        const auto& logical = as<program::Logical>(node);
        const bool left = holds(*logical.left);
        if (left != logical.conjunction)
            return int64_t{left};
        return int64_t{holds(*logical.right)};
    }
    case ExpressionKind::Conditional: {
        const auto& conditional = as<program::Conditional>(node);
        return cut(value(holds(*conditional.condition) ? *conditional.then_value
                                                       : *conditional.else_value));
    }
    case ExpressionKind::Assignment:
        return assign(as<program::Assignment>(node));
    case ExpressionKind::Aggregation:
        return aggregate(as<program::Aggregation>(node));
    case ExpressionKind::Increment:
        return increment(as<program::Increment>(node));
    case ExpressionKind::Call:
        return call(as<program::Call>(node));
    case ExpressionKind::Print:
        return print(as<program::Print>(node));
    case ExpressionKind::StatisticRead:
        return statistic(as<program::StatisticRead>(node));
    case ExpressionKind::RegexMatch:
        return match(as<program::RegexMatch>(node));
    default:
        throw Unknown("an expression of kind " + std::to_string(static_cast<int>(node.kind)));
    }
}

Value Interpreter::compare(const program::Comparison& node) {
    const Value left = value(*node.left), right = value(*node.right);
    int order = 0;
    if (node.left->type == Type::String) // by bytes
        order =
            std::strcmp(std::get<std::string>(left).c_str(), std::get<std::string>(right).c_str());
    else
        order = left < right ? -1 : left > right;
    switch (node.op) {
    case BinaryOp::Equal:
        return int64_t{order == 0};
    case BinaryOp::NotEqual:
        return int64_t{order != 0};
    case BinaryOp::Less:
        return int64_t{order < 0};
    case BinaryOp::LessEqual:
        return int64_t{order <= 0};
    case BinaryOp::Greater:
        return int64_t{order > 0};
    default:
        return int64_t{order >= 0};
    }
}

Value Interpreter::assign(const program::Assignment& node) {
    const Value right = value(*node.value);
    // A division by zero creates no element that did not exist.
    if (node.op && node.type == Type::Long)
        static_cast<void>(calculate(*node.op, 0, std::get<int64_t>(right)));
    return change(*node.place,
                  [&](const Value& old) -> Value {
                      if (!node.op)
                          return right;
                      if (node.type == Type::String)
                          return std::get<std::string>(old) + std::get<std::string>(right);
                      return calculate(*node.op, std::get<int64_t>(old), std::get<int64_t>(right));
                  })
        .second;
}

Value Interpreter::increment(const program::Increment& node) {
    auto [old, changed] = change(*node.place, [&](const Value& before) -> Value {
        return calculate(node.decrement ? BinaryOp::Subtract : BinaryOp::Add,
                         std::get<int64_t>(before), 1);
    });
    return node.prefix ? changed : old;
}

Value Interpreter::aggregate(const program::Aggregation& node) {
    const int64_t added = number(*node.value);
    const auto& place = as<program::GlobalValue>(*node.place);
    Statistic& into =
        place.global->is_array() ? make(place).statistic : storage(*place.global).statistic;
    into.add(place.global->statistic, added);
    return added;
}

Value Interpreter::membership(const program::Membership& node) {
    const auto wanted = keys(node.keys);
    const auto& elements = storage(*node.array).elements;
    return int64_t{std::any_of(elements.begin(), elements.end(),
                               [&](const Element& element) { return fits(element, wanted); })};
}

Value Interpreter::statistic(const program::StatisticRead& node) {
    const Statistic* found = find_statistic(*node.place);
    if (!node.bucket)
        return (found ? *found : Statistic()).read(node.op);
    if (!found)
        return int64_t{0};
    const int64_t bucket = number(*node.bucket);
    const auto& needs = as<program::GlobalValue>(*node.place).global->statistic;
    if (bucket < 0 || bucket >= bucket_count(needs))
        throw ScriptError{"histogram index out of range"};
    auto hits = found->hits.find(bucket);
    return hits == found->hits.end() ? int64_t{0} : hits->second;
}

Value Interpreter::print(const program::Print& node) {
    std::vector<Value> arguments;
    for (const auto& argument : node.arguments) {
        if (argument->kind == ExpressionKind::HistogramText) {
            const auto& place = *as<program::HistogramText>(*argument).place;
            const Statistic* found = find_statistic(place);
            if (!found || found->count == 0)
                throw ScriptError{"empty aggregate"};
            arguments.emplace_back(
                histogram_text(as<program::GlobalValue>(place).global->statistic, *found));
        } else {
            arguments.push_back(cut(value(*argument)));
        }
    }
    std::string out;
    size_t next = 0;
    for (const program::FormatPiece& piece : node.format) {
        out += piece.literal;
        if (!piece.conversion)
            continue;
        auto field = [&](int given) {
            return given == -2
                       ? std::max(static_cast<int>(std::get<int64_t>(arguments.at(next++))), 0)
                       : given;
        };
        const int width = field(piece.width), precision = field(piece.precision);
        const Value& argument = arguments.at(next++);
        out += piece.conversion == 'H' ? std::get<std::string>(argument)
                                       : convert(piece, width, precision, argument);
    }
    if (node.to_string)
        return cut(out);
    outcome_.output += out;
    return int64_t{0};
}

} // namespace djstap::differential
