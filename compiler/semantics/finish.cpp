// SPDX-License-Identifier: GPL-2.0-or-later
// The end of inference: settles what waited for types, and sets the type of every node.
#include "semantics/lower.h"

namespace djstap::semantics {

using program::Type;

void Lowering::finish() {
    for (const ForeachValue& value : foreach_values_) {
        const bool statistic = types_.get(value.global->value) == Type::Statistic &&
                               !types_.is_poison(value.global->value);
        if (statistic) {
            diagnostics_.report(DiagnosticKind::StatisticAsValue, value.at, {value.name})
                .hint("omit it, and read the elements with @count(" +
                      value.global->declaration->name + "[…]) and similar operators");
            types_.unify(types_.poison(), value.type);
            continue;
        }
        agree(value.global->value, value.type, "'" + value.name + "'", value.at);
    }
    for (const auto& [global, at] : value_uses_) {
        if (types_.get(global->value) != Type::Statistic || types_.is_poison(global->value))
            continue;
        diagnostics_.report(DiagnosticKind::StatisticAsValue, at, {global->declaration->name})
            .hint("read it with @count, @sum, @min, @max or @avg, change it with <<< and delete");
        types_.unify(types_.poison(), global->value);
    }
    for (const NeverWritten& variable : never_written_) {
        if (const auto type = types_.get(variable.type)) {
            if (!names_.in_library(variable.at) && !types_.is_poison(variable.type))
                diagnostics_
                    .report(DiagnosticKind::NeverAssigned, variable.at,
                            {variable.name, *type == Type::String ? "\"\"" : "0"})
                    .hint(variable.hint);
            continue;
        }
        diagnostics_
            .report(DiagnosticKind::TypeUnknown, variable.at,
                    {"'" + variable.name + "', which is never assigned"})
            .hint(variable.hint);
        types_.unify(types_.poison(), variable.type);
    }
    for (const Needed& needed : needed_) {
        if (types_.get(needed.type))
            continue;
        std::string hint = needed.hint.empty() ? "nothing is ever stored in it" : needed.hint;
        if (needed.function && needed.function->returns_value) {
            const std::string& name = needed.function->declaration->name;
            hint =
                "it returns only results of its own recursive calls; declare its type: function " +
                name + ":long(…)";
        }
        diagnostics_.report(DiagnosticKind::TypeUnknown, needed.at, {needed.what}).hint(hint);
        types_.unify(types_.poison(), needed.type);
    }
    if (diagnostics_.has_errors())
        return;
    settle_autocasts();
    for (auto& settle : deferred_)
        settle();
    for (auto& [node, var] : typed_) {
        const bool call = node->kind == program::ExpressionKind::Call;
        node->type = types_.get(var).value_or(call ? Type::Void : Type::Long);
    }
    for (auto& [local, var] : typed_locals_)
        local->type = types_.get(var).value_or(Type::Long);
    for (auto& function : names_.all_functions())
        function->node->return_type = types_.get(function->result).value_or(Type::Void);
    for (auto& [probe, both] : extra_conditions_) {
        both->right = std::move(probe->condition);
        probe->condition = std::move(both);
    }
}

} // namespace djstap::semantics
