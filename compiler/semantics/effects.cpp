// SPDX-License-Identifier: GPL-2.0-or-later
// What each body needs of its environment, including all its callees.
#include "arch/arch.h"
#include "semantics/passes.h"
#include "semantics/walk.h"

#include <algorithm>
#include <array>

namespace djstap::semantics {

using namespace program;

namespace {

using Set = std::unordered_set<const Global*>;

// Deeper calls are counted at run time (MAXNESTING), even without recursion.
constexpr uint32_t many_calls_deep = 10;
constexpr int64_t bonus_of_recursion = 10; // added to MAXNESTING, as in SystemTap
constexpr uint64_t unbounded = uint64_t{1} << 32;

struct Found {
    Effects effects; // reads and writes are filled at the end
    Set reads, writes;
    std::unordered_set<const Function*> calls;
    // number of call sites of each function
    std::unordered_map<const Function*, uint64_t> call_sites;
    uint64_t statements = 0; // the most that are executed; includes callees after bound()
    uint32_t depth = 0;      // depth of calls, after bound()
};

bool is_locked(const Global* global) {
    return global && global->storage == Storage::Locked;
}

// Whether C code names the registers at the hit (include/embedded_context.h), however it writes
// CONTEXT->kregs.
bool names_registers(const std::string& code) {
    return code.find("kregs") != std::string::npos;
}

class Collector {
  public:
    enum class Of { Probe, Function, EntryValue };
    explicit Collector(Found& found, Of of) : found_(found), of_(of) {}

    void statement(Statement& root) {
        walk_statements(root, [&](Statement& node) { one(node); });
        walk_expressions(root, [&](Expression& node) { one(node); });
    }
    void expression(Expression& root) {
        walk_expressions(root, [&](Expression& node) { one(node); });
    }

    // C code may use each of the registers that it names.
    void embedded_code(const std::string& code) {
        found_.effects.embedded = true;
        found_.effects.registers |= names_registers(code);
    }

    void embedded(const std::vector<EmbeddedGlobal>& globals) {
        for (const EmbeddedGlobal& each : globals) {
            if (each.reads)
                read(each.global);
            if (each.writes && is_locked(each.global))
                found_.writes.insert(each.global);
        }
    }

  private:
    void read(const Global* global) {
        if (is_locked(global))
            found_.reads.insert(global);
        found_.effects.calls_runtime |= global && global->is_array();
    }
    void write(const Expression& place) {
        if (place.kind != ExpressionKind::GlobalValue)
            return;
        const Global* global = as<GlobalValue>(place).global;
        if (is_locked(global))
            found_.writes.insert(global);
        // A full array is a run-time error.
        found_.effects.can_fail |= global->is_array() && !global->wrap;
    }

    void one(Statement& node) {
        Effects& effects = found_.effects;
        found_.statements += node.kind != StatementKind::Block;
        switch (node.kind) {
        case StatementKind::Loop:
            effects.loops = effects.can_fail = true;
            break;
        case StatementKind::Foreach:
            effects.loops = effects.can_fail = effects.calls_runtime = effects.walks = true;
            read(as<program::Foreach>(node).array);
            break;
        case StatementKind::Delete: {
            const Global* global = as<program::Delete>(node).global;
            if (is_locked(global))
                found_.writes.insert(global);
            effects.calls_runtime = true;
            if (is_slice(as<program::Delete>(node).keys))
                effects.can_fail = effects.walks = true;
            break;
        }
        case StatementKind::TryCatch:
            effects.strings |= as<program::TryCatch>(node).message.has_value();
            break;
        case StatementKind::EmbeddedStatement:
            embedded(as<program::EmbeddedStatement>(node).globals);
            embedded_code(as<program::EmbeddedStatement>(node).code);
            effects.prints = effects.can_fail = effects.calls_runtime = true;
            break;
        default:
            break;
        }
    }

    void one(Expression& node) {
        Effects& effects = found_.effects;
        effects.strings |= (node.type == Type::String || node.type == Type::Stack) &&
                           node.kind != ExpressionKind::Text &&
                           node.kind != ExpressionKind::HistogramText;
        switch (node.kind) {
        case ExpressionKind::GlobalValue:
            read(as<GlobalValue>(node).global);
            break;
        case ExpressionKind::Membership:
            read(as<program::Membership>(node).array);
            if (is_slice(as<program::Membership>(node).keys))
                effects.can_fail = effects.walks = true;
            break;
        case ExpressionKind::Assignment: {
            auto& assignment = as<program::Assignment>(node);
            write(*assignment.place);
            effects.can_fail |= assignment.op && divides(*assignment.op);
            effects.can_fail |= assignment.place->kind == ExpressionKind::TargetValue;
            effects.registers |= is_whole_variable(*assignment.place);
            break;
        }
        case ExpressionKind::Increment:
            write(*as<program::Increment>(node).place);
            effects.registers |= is_whole_variable(*as<program::Increment>(node).place);
            break;
        case ExpressionKind::Aggregation:
            write(*as<Aggregation>(node).place);
            break;
        case ExpressionKind::Arithmetic: {
            auto& arithmetic = as<Arithmetic>(node);
            const bool constant = arithmetic.right->kind == ExpressionKind::Number &&
                                  as<Number>(*arithmetic.right).value != 0;
            effects.can_fail |= divides(arithmetic.op) && !constant;
            break;
        }
        case ExpressionKind::Print:
            effects.prints |= !as<program::Print>(node).to_string;
            effects.calls_runtime = true;
            for (const FormatPiece& piece : as<program::Print>(node).format)
                effects.can_fail |= piece.conversion == 'm' || piece.conversion == 'M';
            break;
        case ExpressionKind::StatisticRead:
            // The average, minimum and maximum of an empty statistic are errors.
            effects.calls_runtime = true;
            effects.can_fail |= as<StatisticRead>(node).op != ast::StatOp::Count &&
                                as<StatisticRead>(node).op != ast::StatOp::Sum;
            break;
        case ExpressionKind::HistogramText:
            effects.calls_runtime = true;
            break;
        case ExpressionKind::TargetValue: {
            auto& target = as<TargetValue>(node);
            effects.can_fail |= !target.components.empty() || target.pretty > 0 ||
                                target.name.rfind("$$", 0) == 0 ||
                                (target.base != TargetValue::Base::Variable &&
                                 target.base != TargetValue::Base::Enumerator &&
                                 target.base != TargetValue::Base::PerfCounter);
            effects.calls_runtime |= target.base == TargetValue::Base::PerfCounter;
            break;
        }
        case ExpressionKind::Register:
            if (!as<program::Register>(node).user) {
                // A function knows the registers of the context alone.
                if (of_ == Of::Function || !is_argument(as<program::Register>(node).number))
                    effects.registers = true;
                else if (of_ == Of::Probe)
                    effects.argument_registers = true;
            }
            effects.can_fail = effects.calls_runtime = true;
            break;
        case ExpressionKind::EmbeddedC:
            embedded(as<EmbeddedC>(node).globals);
            embedded_code(as<EmbeddedC>(node).code);
            [[fallthrough]];
        case ExpressionKind::Dereference:
        case ExpressionKind::RegexMatch:
            effects.can_fail = effects.calls_runtime = true;
            break;
        case ExpressionKind::Call:
            found_.calls.insert(as<Call>(node).function);
            found_.call_sites[as<Call>(node).function]++;
            break;
        default:
            break;
        }
    }

    // `number` is DWARF's.
    static bool is_argument(int64_t number) {
        const auto reg = arch::register_of_dwarf(static_cast<uint64_t>(number));
        return reg && arch::is_seen_by_direct_call(*reg);
    }

    // Such a variable may be in a register. The result of a function is one, too, but every
    // mechanism for returns passes on what the handler makes of it.
    static bool is_whole_variable(const Expression& place) {
        return place.kind == ExpressionKind::TargetValue &&
               as<TargetValue>(place).base == TargetValue::Base::Variable &&
               as<TargetValue>(place).components.empty() &&
               as<TargetValue>(place).name != "$return";
    }

    static bool divides(ast::BinaryOp op) {
        return op == ast::BinaryOp::Divide || op == ast::BinaryOp::Modulo;
    }

    Found& found_;
    Of of_;
};

using FoundOf = std::unordered_map<const Function*, Found>;

// Adds what the callees execute, which are already bounded; recursion is counted at run time
// anyway.
void bound_body(const FoundOf& functions, Found& found) {
    for (const auto& [called, sites] : found.call_sites) {
        const Found& other = functions.at(called);
        found.statements = std::min(unbounded, found.statements + sites * other.statements);
        found.depth = std::max(found.depth, other.depth + 1);
    }
}

// Visits callees first, without recursion in the compiler: a chain of calls may be as long as the
// script.
void bound(FoundOf& functions) {
    struct Visit {
        Found* found;
        std::unordered_set<const Function*>::const_iterator next;
    };
    std::unordered_set<const Function*> seen;
    for (auto& [root, found] : functions) {
        if (!seen.insert(root).second)
            continue;
        std::vector<Visit> path{{&found, found.calls.begin()}};
        while (!path.empty()) {
            Visit& at = path.back();
            if (at.next == at.found->calls.end()) {
                bound_body(functions, *at.found);
                path.pop_back();
                continue;
            }
            const Function* called = *at.next++;
            if (seen.insert(called).second)
                path.push_back({&functions.at(called), functions.at(called).calls.begin()});
        }
    }
}

void count_at_run_time(Effects& effects) {
    effects.loops = effects.can_fail = true;
}

void join(Effects& into, const Effects& from) {
    into.prints |= from.prints;
    into.can_fail |= from.can_fail;
    into.loops |= from.loops;
    into.walks |= from.walks;
    into.strings |= from.strings;
    into.calls_runtime |= from.calls_runtime;
    into.can_exit |= from.can_exit;
    into.registers |= from.registers;
    into.argument_registers |= from.argument_registers;
    into.embedded |= from.embedded;
}

// Returns whether a probe's condition has the same value wherever it is evaluated.
bool depends_on_globals_alone(Expression& condition) {
    bool alone = true;
    walk_expressions(condition, [&](Expression& node) {
        switch (node.kind) {
        case ExpressionKind::GlobalValue:
        case ExpressionKind::Membership:
        case ExpressionKind::Number:
        case ExpressionKind::Text:
        case ExpressionKind::Unary:
        case ExpressionKind::Arithmetic:
        case ExpressionKind::Comparison:
        case ExpressionKind::Concatenation:
        case ExpressionKind::Logical:
        case ExpressionKind::Conditional:
        case ExpressionKind::StatisticRead:
        case ExpressionKind::RegexMatch:
            break;
        default:
            alone = false;
        }
    });
    return alone;
}

// A handler that writes what a condition reads also evaluates it: with its locks, and everything
// else that it needs.
void join_conditions(const std::vector<Probe*>& probes, std::vector<Found>& found) {
    for (size_t i = 0; i < probes.size(); i++) {
        if (!probes[i]->arms)
            continue;
        Found condition;
        Collector(condition, Collector::Of::Probe).expression(*probes[i]->condition);
        for (size_t j = 0; j < probes.size(); j++) {
            const bool touches =
                std::any_of(condition.reads.begin(), condition.reads.end(),
                            [&](const Global* global) { return found[j].writes.count(global); });
            if (!touches)
                continue;
            probes[j]->arms_others.push_back(probes[i]);
            found[j].reads.insert(condition.reads.begin(), condition.reads.end());
            join(found[j].effects, condition.effects);
        }
    }
}

} // namespace

void find_recursion(Program& program) {
    std::unordered_map<const Function*, std::unordered_set<const Function*>> calls;
    for (auto& function : program.functions) {
        auto& list = calls[function.get()];
        if (function->body)
            walk_expressions(*function->body, [&](Expression& node) {
                if (node.kind == ExpressionKind::Call)
                    list.insert(as<Call>(node).function);
            });
        if (function->next_overload)
            list.insert(function->next_overload);
    }
    for (auto& function : program.functions) {
        std::unordered_set<const Function*> seen;
        std::vector<const Function*> pending(calls[function.get()].begin(),
                                             calls[function.get()].end());
        while (!pending.empty() && !function->recursive) {
            const Function* next = pending.back();
            pending.pop_back();
            if (next == function.get())
                function->recursive = true;
            else if (seen.insert(next).second)
                pending.insert(pending.end(), calls[next].begin(), calls[next].end());
        }
    }
}

void compute_effects(Program& program, uint64_t max_statements) {
    FoundOf functions;
    for (auto& function : program.functions) {
        Found& found = functions[function.get()];
        found.effects = function->effects; // those of an intrinsic, from its declaration
        if (function->body)
            Collector(found, Collector::Of::Function).statement(*function->body);
        // `next` without a further overload is a run-time error.
        found.effects.can_fail |=
            function->body && !function->next_overload && contains_next(*function->body);
        Collector(found, Collector::Of::Function).embedded(function->embedded_globals);
        if (!function->embedded.empty()) {
            Collector(found, Collector::Of::Function).embedded_code(function->embedded);
            found.effects.prints = found.effects.can_fail = found.effects.calls_runtime =
                found.effects.can_exit = true;
        }
        if (function->recursive)
            count_at_run_time(found.effects);
        found.effects.strings |= function->return_type == Type::String;
        if (function->next_overload) {
            found.calls.insert(function->next_overload);
            found.call_sites[function->next_overload]++;
        }
    }
    bound(functions);
    const bool deep = std::any_of(functions.begin(), functions.end(), [](const auto& each) {
        return each.second.depth >= many_calls_deep; // and a probe calls it
    });
    for (auto& function : program.functions) {
        Found& found = functions[function.get()];
        const int64_t deepest = int64_t{found.depth} + 1;
        program.nesting =
            std::max(program.nesting, deepest + (function->recursive ? bonus_of_recursion : 0));
        function->counts_nesting = function->body && (deep || function->recursive);
        found.effects.can_fail |= function->counts_nesting;
        if (found.statements >= max_statements)
            count_at_run_time(found.effects);
    }
    auto absorb = [&](Found& found) {
        const size_t reads = found.reads.size(), writes = found.writes.size();
        const Effects before = found.effects;
        for (const Function* called : found.calls) {
            const Found& other = functions[called];
            found.reads.insert(other.reads.begin(), other.reads.end());
            found.writes.insert(other.writes.begin(), other.writes.end());
            join(found.effects, other.effects);
        }
        return reads != found.reads.size() || writes != found.writes.size() ||
               before != found.effects;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (auto& [function, found] : functions)
            changed |= absorb(found);
    }
    auto fill = [&](const Found& found, Effects& effects) {
        effects = found.effects;
        for (auto& global : program.globals) {
            if (found.reads.count(global.get()))
                effects.reads.push_back(global.get());
            if (found.writes.count(global.get()))
                effects.writes.push_back(global.get());
        }
    };
    for (auto& function : program.functions)
        fill(functions[function.get()], function->effects);
    std::vector<Probe*> probes;
    std::vector<Found> found_of;
    for (auto& probe : program.probes) {
        Found& found = found_of.emplace_back();
        Collector collector(found, Collector::Of::Probe);
        collector.statement(*probe->body);
        if (probe->condition) {
            collector.expression(*probe->condition);
            probe->arms = depends_on_globals_alone(*probe->condition);
        }
        for (auto& value : probe->entry_values)
            Collector(found, Collector::Of::EntryValue).expression(*value);
        bound_body(functions, found);
        if (found.statements >= max_statements)
            count_at_run_time(found.effects);
        absorb(found);
        probes.push_back(probe.get());
    }
    join_conditions(probes, found_of);
    for (size_t i = 0; i < probes.size(); i++)
        fill(found_of[i], probes[i]->effects);
    // A macro or a function of top-level C stands for the registers wherever C code uses it.
    if (std::any_of(program.embedded.begin(), program.embedded.end(),
                    [](const auto* block) { return names_registers(block->code); }))
        for (Probe* probe : probes)
            probe->effects.registers |= probe->effects.embedded;
}

} // namespace djstap::semantics
