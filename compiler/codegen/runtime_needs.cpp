// SPDX-License-Identifier: GPL-2.0-or-later
// What a script needs of the runtime, as far as it is known before code is generated.
#include "codegen/codegen.h"
#include "codegen/stacks.h"
#include "semantics/walk.h"

#include <algorithm>

namespace djstap {

namespace {

// The operations that attach each mechanism, by its number.
constexpr const char* operations[] = {
#define DJS_MECHANISM(ID, Id, name, ops, capabilities) "djs_ops_" #ops,
#include "include/mechanisms.def"
#undef DJS_MECHANISM
};

bool has_storage_of_runtime(const program::Global& global) {
    return global.is_array() || global.value == program::Type::Statistic ||
           global.storage == program::Storage::PerCpu;
}

} // namespace

std::set<std::string> symbols_for_tables(const program::Program& program, const ProbePlan& plan) {
    std::set<std::string> symbols;
    for (const Site& site : plan.sites)
        symbols.insert(operations[static_cast<size_t>(site.mechanism)]);
    if (std::any_of(program.globals.begin(), program.globals.end(),
                    [](const auto& global) { return has_storage_of_runtime(*global); }))
        symbols.insert("djs_globals_init");
    if (codegen::uses_symbols(program))
        symbols.insert("djs_symbols_init");
    if (codegen::uses_programs(program))
        symbols.insert("djs_ustack_init");
    return symbols;
}

std::optional<std::set<std::string>> symbols_for_calls(program::Program& program) {
    std::set<std::string> symbols;
    const auto look = [&](program::Expression& node) {
        if (node.kind == program::ExpressionKind::RegexMatch)
            symbols.insert("djs_regex_search");
    };
    for (const auto& function : program.functions) {
        if (!function->embedded.empty())
            return std::nullopt;
        if (!function->intrinsic.empty())
            symbols.insert("djs_fn_" + function->intrinsic);
        if (function->body)
            program::walk_expressions(*function->body, look);
    }
    for (const auto& probe : program.probes) {
        program::walk_expressions(*probe->body, look);
        if (probe->condition)
            program::walk_expressions(*probe->condition, look);
    }
    return symbols;
}

} // namespace djstap
