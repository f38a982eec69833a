// SPDX-License-Identifier: GPL-2.0-or-later
// Chooses the storage of each global, from every use in the program.
#include "semantics/passes.h"
#include "semantics/walk.h"

namespace djstap::semantics {

using namespace program;

namespace {

class UseCollector {
  public:
    explicit UseCollector(GlobalUses& uses) : uses_(uses) {}

    void statement(Statement& node) {
        if (node.kind == StatementKind::Delete) {
            GlobalUse& use = uses_[as<program::Delete>(node).global];
            use.written = use.deleted = true;
        } else if (node.kind == StatementKind::Foreach && as<program::Foreach>(node).array) {
            uses_[as<program::Foreach>(node).array].read = true;
        } else if (node.kind == StatementKind::EmbeddedStatement) {
            embedded(as<program::EmbeddedStatement>(node).globals);
        }
        for_each_child(
            node, [&](ExpressionPtr& child) { expression(*child); },
            [&](StatementPtr& child) { statement(*child); });
    }

    void function(const Function& node) {
        embedded(node.embedded_globals);
        if (node.body)
            statement(*node.body);
    }

    void embedded(const std::vector<EmbeddedGlobal>& globals) {
        for (const EmbeddedGlobal& each : globals) {
            GlobalUse& use = uses_[each.global];
            use.read |= each.reads;
            use.written |= each.writes;
            use.only_lone_updates &= !each.writes;
        }
    }

    void expression(Expression& node) {
        switch (node.kind) {
        case ExpressionKind::EmbeddedC:
            embedded(as<EmbeddedC>(node).globals);
            break;
        case ExpressionKind::GlobalValue:
            uses_[as<GlobalValue>(node).global].read = true;
            break;
        case ExpressionKind::Membership:
            uses_[as<program::Membership>(node).array].read = true;
            break;
        case ExpressionKind::Assignment: {
            auto& assignment = as<program::Assignment>(node);
            const bool lone =
                assignment.op && !assignment.value_used &&
                (*assignment.op == ast::BinaryOp::Add || *assignment.op == ast::BinaryOp::Subtract);
            if (write(*assignment.place, lone && !reads(*assignment.value, *assignment.place),
                      assignment.op && assignment.value_used))
                return expression(*assignment.value);
            break;
        }
        case ExpressionKind::Increment:
            if (write(*as<program::Increment>(node).place, !as<program::Increment>(node).value_used,
                      as<program::Increment>(node).value_used))
                return;
            break;
        case ExpressionKind::Aggregation:
            if (write(*as<Aggregation>(node).place, true, false))
                return expression(*as<Aggregation>(node).value);
            break;
        default:
            break;
        }
        for_each_child(node, [&](ExpressionPtr& child) { expression(*child); });
    }

  private:
    // Returns false if the place is not a global.
    bool write(Expression& place, bool lone, bool also_read) {
        if (place.kind != ExpressionKind::GlobalValue)
            return false;
        GlobalUse& use = uses_[as<GlobalValue>(place).global];
        use.written = use.added = true;
        use.read = use.read || also_read;
        use.only_lone_updates = use.only_lone_updates && lone;
        for (ExpressionPtr& key : as<GlobalValue>(place).keys)
            expression(*key);
        return true;
    }

    // `n += n` depends on one consistent value of n.
    static bool reads(Expression& value, const Expression& place) {
        bool found = false;
        if (place.kind == ExpressionKind::GlobalValue)
            walk_expressions(value, [&](Expression& part) {
                found = found || (part.kind == ExpressionKind::GlobalValue &&
                                  as<GlobalValue>(part).global == as<GlobalValue>(place).global);
            });
        return found;
    }

    GlobalUses& uses_;
};

// Returns the uses by a handler's body and all its callees.
GlobalUses uses_of_handler(Probe& probe) {
    GlobalUses uses;
    UseCollector collector(uses);
    std::unordered_set<const Function*> seen;
    std::vector<const Function*> pending;
    auto call = [&](const Function* function) {
        if (function && seen.insert(function).second)
            pending.push_back(function);
    };
    auto calls = [&](Statement& body) {
        walk_expressions(body, [&](Expression& node) {
            if (node.kind == ExpressionKind::Call)
                call(as<Call>(node).function);
        });
    };
    collector.statement(*probe.body);
    calls(*probe.body);
    while (!pending.empty()) {
        const Function& function = *pending.back();
        pending.pop_back();
        collector.function(function);
        if (function.body)
            calls(*function.body);
        call(function.next_overload);
    }
    return uses;
}

void need(Global& global, ast::StatOp op) {
    StatisticNeeds& needs = global.statistic;
    switch (op) {
    case ast::StatOp::Count:
        return;
    case ast::StatOp::Sum:
    case ast::StatOp::Avg:
        needs.sum = true;
        return;
    case ast::StatOp::Min:
        needs.min = true;
        return;
    case ast::StatOp::Max:
        needs.max = true;
        return;
    case ast::StatOp::Variance:
        needs.variance = needs.sum = true;
        return;
    case ast::StatOp::HistLog:
    case ast::StatOp::HistLinear:
        return; // the kind of histogram was noted when names were resolved
    }
}

void collect_needs(Program& program) {
    std::unordered_map<const Global*, Global*> mine;
    std::unordered_set<const Global*> shown;
    for (auto& global : program.globals)
        mine.emplace(global.get(), global.get());
    auto of = [&](const ExpressionPtr& place) { return mine.at(as<GlobalValue>(*place).global); };
    auto visit = [&](Expression& node) {
        if (node.kind == ExpressionKind::StatisticRead) {
            need(*of(as<StatisticRead>(node).place), as<StatisticRead>(node).op);
            if (as<StatisticRead>(node).op >= ast::StatOp::HistLog)
                shown.insert(of(as<StatisticRead>(node).place));
        } else if (node.kind == ExpressionKind::HistogramText) {
            shown.insert(of(as<HistogramText>(node).place));
        }
    };
    auto body = [&](Statement& root) {
        walk_expressions(root, visit);
        walk_statements(root, [&](Statement& node) {
            if (node.kind == StatementKind::Foreach && as<program::Foreach>(node).array &&
                as<program::Foreach>(node).array->value == Type::Statistic)
                need(*mine.at(as<program::Foreach>(node).array),
                     as<program::Foreach>(node).sort_stat);
        });
    };
    for (auto& function : program.functions)
        if (function->body)
            body(*function->body);
    for (auto& probe : program.probes) {
        body(*probe->body);
        if (probe->condition)
            walk_expressions(*probe->condition, visit);
        for (auto& value : probe->entry_values)
            walk_expressions(*value, visit);
    }
    for (auto& global : program.globals)
        if (!shown.count(global.get()))
            global->statistic.histogram = StatisticNeeds::Histogram::None;
}

} // namespace

GlobalUses handler_uses(Probe& probe) {
    GlobalUses uses = uses_of_handler(probe);
    if (probe.condition)
        UseCollector(uses).expression(*probe.condition);
    for (auto& value : probe.entry_values)
        UseCollector(uses).expression(*value);
    return uses;
}

GlobalUses global_uses(Program& program) {
    GlobalUses uses;
    UseCollector collector(uses);
    for (auto& function : program.functions)
        collector.function(*function);
    for (auto& probe : program.probes) {
        collector.statement(*probe->body);
        if (probe->condition) {
            collector.expression(*probe->condition);
            walk_expressions(*probe->condition, [&](Expression& node) {
                if (node.kind == ExpressionKind::GlobalValue)
                    uses[as<GlobalValue>(node).global].in_condition = true;
            });
        }
        for (auto& value : probe->entry_values)
            collector.expression(*value);
        for (const auto& [global, use] : uses_of_handler(*probe))
            uses[global].read_where_added |= use.added && use.read;
    }
    return uses;
}

void choose_storage(Program& program, const GlobalUses& uses) {
    for (auto& global : program.globals) {
        const auto found = uses.find(global.get());
        const GlobalUse use = found == uses.end() ? GlobalUse() : found->second;
        const bool counter = global->value == Type::Long || global->value == Type::Statistic;
        global->storage = Storage::Locked;
        global->statistic.deleted = use.deleted;
        // Its values are taken, or added to, as one.
        if (global->is_array() || global->is_taken || global->is_shared)
            continue;
        if (!use.written && global->value != Type::Statistic)
            global->storage = Storage::Constant;
        // Reads of a counter add its initial value to the sum of the CPUs' values, and clearing it
        // makes that sum 0: an initial value that is not 0 would remain. Each handler that changes
        // a condition's global evaluates the condition: its sums would cost more than a lock. `n++;
        // if (n == 100)` would miss 100 if another CPU counts in between.
        else if (counter && use.only_lone_updates && !use.in_condition && !use.read_where_added &&
                 !(use.deleted && global->initial_number != 0))
            global->storage = Storage::PerCpu;
    }
    collect_needs(program);
}

} // namespace djstap::semantics
