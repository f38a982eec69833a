// SPDX-License-Identifier: GPL-2.0-or-later
// Values that keep the C type of their origin: x = $ptr; x->member.
#include "semantics/constant.h"
#include "semantics/lower.h"

namespace djstap::semantics {

using program::ExpressionKind;
using program::Type;

namespace {

constexpr int max_hops = 64; // x = y; y = x

} // namespace

// Returns the part of a target variable that determines its type; no operand, no index.
static std::shared_ptr<program::TargetValue> type_part(const program::TargetValue& from) {
    auto to = std::make_shared<program::TargetValue>();
    to->range = from.range;
    to->base = from.base;
    to->name = from.name;
    to->module = from.module;
    to->cast_type = from.cast_type;
    to->address_of = from.address_of;
    for (const program::TargetComponent& component : from.components) {
        program::TargetComponent& copy = to->components.emplace_back();
        copy.kind = component.kind;
        copy.range = component.range;
        copy.member = component.member;
    }
    return to;
}

TypeSource Lowering::source_of(const program::Expression& node) const {
    switch (node.kind) {
    case ExpressionKind::TargetValue: {
        const auto& value = program::as<program::TargetValue>(node);
        if (value.pretty > 0 || value.name.starts_with("$$"))
            return {};
        TypeSource source;
        source.origin = std::make_shared<program::TypeOrigin>();
        source.origin->value = type_part(value);
        source.origin->probe = body_ ? body_->probe : nullptr;
        if (value.base == program::TargetValue::Base::Autocast)
            source.of_autocast = &value;
        return source;
    }
    case ExpressionKind::LocalValue:
        return {nullptr, nullptr, body_->locals, program::as<program::LocalValue>(node).local};
    case ExpressionKind::GlobalValue:
        return {nullptr, nullptr, program::as<program::GlobalValue>(node).global, 0};
    case ExpressionKind::EntryValue:
        return source_of(*body_->probe->entry_values[program::as<program::EntryValue>(node).slot]);
    case ExpressionKind::Call: {
        const program::Function* function = program::as<program::Call>(node).function;
        if (function->points_to.empty())
            return {nullptr, nullptr, function, 0};
        TypeSource source;
        source.origin = std::make_shared<program::TypeOrigin>();
        source.origin->value = std::make_shared<program::TargetValue>();
        source.origin->value->range = node.range;
        source.origin->value->base = program::TargetValue::Base::Cast;
        source.origin->value->cast_type = function->points_to;
        source.origin->value->module = "kernel";
        source.origin->probe = body_ ? body_->probe : nullptr;
        return source;
    }
    case ExpressionKind::Assignment:
        return source_of(*program::as<program::Assignment>(node).value);
    case ExpressionKind::Conditional: {
        const auto& conditional = program::as<program::Conditional>(node);
        TypeSource source = source_of(*conditional.then_value);
        return source.known() ? source : source_of(*conditional.else_value);
    }
    default:
        return {};
    }
}

void Lowering::note_source(const void* owner, uint32_t index, const program::Expression& value) {
    if (TypeSource source = source_of(value); source.known())
        sources_.try_emplace({owner, index}, std::move(source)); // the first one counts
}

void Lowering::note_source(const program::Expression& place, const program::Expression& value) {
    if (place.kind == ExpressionKind::LocalValue)
        note_source(body_->locals, program::as<program::LocalValue>(place).local, value);
    else if (place.kind == ExpressionKind::GlobalValue)
        note_source(program::as<program::GlobalValue>(place).global, 0, value);
}

Value Lowering::autocast(const ast::Autocast& node) {
    auto to = make<program::TargetValue>(node.range);
    to->base = program::TargetValue::Base::Autocast;
    to->address_of = node.address_of;
    to->name = std::string(diagnostics_.sources().text(node.operand->range));
    to->operand = expect(*node.operand, Type::Long);
    const bool pretty = components(node.components, *to);
    autocasts_.emplace_back(to.get(), source_of(*to->operand));
    return known(std::move(to), pretty ? Type::String : Type::Long);
}

// Called when every assignment and every function has been seen.
void Lowering::settle_autocasts() {
    std::map<const program::TargetValue*, TypeSource> own;
    for (auto& [node, source] : autocasts_)
        own.emplace(node, source);
    std::function<std::shared_ptr<program::TypeOrigin>(TypeSource, int)> settle =
        [&](TypeSource source, int hops) -> std::shared_ptr<program::TypeOrigin> {
        for (; hops < max_hops && !source.origin; hops++) {
            const auto found = sources_.find({source.owner, source.index});
            if (found == sources_.end())
                return nullptr;
            source = found->second;
        }
        if (!source.origin || !source.of_autocast)
            return source.origin;
        const auto inner = own.find(source.of_autocast);
        if (inner != own.end() && hops < max_hops)
            source.origin->value->origin = settle(inner->second, hops + 1);
        return source.origin;
    };
    for (auto& [node, source] : autocasts_)
        node->origin = settle(source, 0);
}

// Whether the probe's own body writes to it is known after that has been lowered.
Value Lowering::probe_write(const ast::ProbeWrite& node) {
    std::string name;
    if (node.operand->kind == ast::ExpressionKind::Identifier)
        name = ast::as<ast::Identifier>(*node.operand).name;
    else if (node.operand->kind == ast::ExpressionKind::TargetSymbol)
        name = ast::as<ast::TargetSymbol>(*node.operand).name;
    if (name.empty()) {
        diagnostics_.report(DiagnosticKind::NotAPlace, node.operand->range)
            .hint("@probewrite tests a variable: @probewrite(name), @probewrite($name)");
        return broken(node.range);
    }
    auto to = make<program::Number>(node.range);
    body_->asked_writes.emplace_back(to.get(), name);
    return known(std::move(to), Type::Long);
}

// @enum("NAME"), @enum("NAME", "module"): its value comes from debug information.
Value Lowering::enumerator(const ast::Enumerator& node) {
    std::vector<std::string> texts;
    for (const ast::ExpressionPtr& argument : node.arguments) {
        if (argument->kind != ast::ExpressionKind::StringLiteral || texts.size() == 2) {
            diagnostics_.report(DiagnosticKind::EnumeratorName, argument->range)
                .hint("@enum(\"PIDTYPE_PID\"), or with a module: @enum(\"NAME\", \"nfsd\")");
            return broken(node.range);
        }
        texts.push_back(ast::as<ast::StringLiteral>(*argument).value);
    }
    auto to = make<program::TargetValue>(node.range);
    to->base = program::TargetValue::Base::Enumerator;
    to->name = texts.front();
    if (texts.size() > 1)
        to->module = texts.back();
    return known(std::move(to), Type::Long);
}

// @const: what is not a number already is evaluated by the kernel's compiler.
Value Lowering::constant(const ast::Const& node) {
    if (const std::optional<int64_t> value = c_constant(node.text)) {
        auto number = make<program::Number>(node.range);
        number->value = *value;
        return known(std::move(number), Type::Long);
    }
    auto to = make<program::EmbeddedC>(node.range);
    to->code = "/* pure */ " + node.text;
    return known(std::move(to), Type::Long);
}

} // namespace djstap::semantics
