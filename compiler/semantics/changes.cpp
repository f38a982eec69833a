// SPDX-License-Identifier: GPL-2.0-or-later
// Checks what must not be changed, also through functions: an array while a foreach walks over it,
// and anything at all in a probe's condition.
#include "semantics/passes.h"
#include "semantics/walk.h"

#include <map>
#include <set>

namespace djstap::semantics {

using namespace program;

namespace {

bool is_pure(const EmbeddedC& node) {
    return node.code.find("/* pure */") != std::string::npos;
}

class ChangeCheck {
  public:
    ChangeCheck(Program& program, Diagnostics& diagnostics)
        : program_(program), diagnostics_(diagnostics) {
        collect();
    }

    void run() {
        for (auto& function : program_.functions)
            if (function->body)
                check_loops(*function->body);
        for (auto& probe : program_.probes) {
            check_loops(*probe->body);
            if (!probe->condition)
                continue;
            check_condition(*probe->condition);
            walk_expressions(*probe->condition, [&](Expression& node) { check_condition(node); });
        }
    }

  private:
    using Globals = std::set<const Global*>;

    static void note(const std::vector<EmbeddedGlobal>& used, Globals& out) {
        for (const EmbeddedGlobal& each : used)
            if (each.writes)
                out.insert(each.global);
    }

    // Collects the variables that each function assigns to, with all its callees. As in SystemTap,
    // deletions do not count: a foreach skips deleted elements.
    void collect() {
        std::map<const Function*, std::set<const Function*>> calls;
        for (auto& function : program_.functions) {
            Globals& changed = changed_[function.get()];
            note(function->embedded_globals, changed);
            if (!function->body)
                continue;
            walk_expressions(*function->body, [&](Expression& node) {
                if (const Global* global = changed_by(node))
                    changed.insert(global);
                if (node.kind == ExpressionKind::EmbeddedC)
                    note(as<EmbeddedC>(node).globals, changed);
                if (node.kind == ExpressionKind::Call)
                    for (const Function* each = as<Call>(node).function; each;
                         each = each->next_overload)
                        calls[function.get()].insert(each);
            });
            walk_statements(*function->body, [&](Statement& node) {
                if (node.kind == StatementKind::EmbeddedStatement)
                    note(as<EmbeddedStatement>(node).globals, changed);
            });
        }
        for (bool more = true; more;) {
            more = false;
            for (auto& [caller, called] : calls)
                for (const Function* each : called) {
                    const size_t before = changed_[caller].size();
                    changed_[caller].insert(changed_[each].begin(), changed_[each].end());
                    more |= changed_[caller].size() != before;
                }
        }
    }

    static const Global* changed_by(const Expression& node) {
        const Expression* place = nullptr;
        if (node.kind == ExpressionKind::Assignment)
            place = as<Assignment>(node).place.get();
        else if (node.kind == ExpressionKind::Aggregation)
            place = as<Aggregation>(node).place.get();
        else if (node.kind == ExpressionKind::Increment)
            place = as<Increment>(node).place.get();
        return place && place->kind == ExpressionKind::GlobalValue ? as<GlobalValue>(*place).global
                                                                   : nullptr;
    }

    bool changes(const Function* function, const Global* global) {
        for (; function; function = function->next_overload)
            if (changed_[function].count(global))
                return true;
        return false;
    }

    void check_loops(Statement& body) {
        walk_statements(body, [&](Statement& node) {
            if (node.kind != StatementKind::Foreach)
                return;
            auto& loop = as<Foreach>(node);
            if (!loop.array)
                return;
            auto look = [&](Expression& part) {
                if (part.kind == ExpressionKind::Call &&
                    changes(as<Call>(part).function, loop.array))
                    report_change(loop, part.range, as<Call>(part).function);
                if (part.kind == ExpressionKind::EmbeddedC &&
                    writes(as<EmbeddedC>(part).globals, loop.array))
                    report_change(loop, part.range, nullptr);
            };
            if (loop.limit) {
                look(*loop.limit);
                walk_expressions(*loop.limit, look);
            }
            walk_expressions(*loop.body, look);
            walk_statements(*loop.body, [&](Statement& part) {
                if (part.kind == StatementKind::EmbeddedStatement &&
                    writes(as<EmbeddedStatement>(part).globals, loop.array))
                    report_change(loop, part.range, nullptr);
            });
        });
    }

    static bool writes(const std::vector<EmbeddedGlobal>& used, const Global* global) {
        Globals written;
        note(used, written);
        return written.count(global) > 0;
    }

    // `function`: the one that is called there; null for C code.
    void report_change(const Foreach& loop, SourceRange at, const Function* function) {
        if (!reported_.insert({at.file, at.begin}).second)
            return; // two loops over one array
        Diagnostic& diagnostic =
            diagnostics_.report(DiagnosticKind::ForeachReadOnly, at, {loop.array->name})
                .hint("collect the changes in another array and apply them after the loop")
                .note(loop.range, "the foreach begins here");
        if (function)
            diagnostic.note(function->range, "'" + function->name + "' changes it");
    }

    void check_condition(const Expression& node) {
        std::string what;
        switch (node.kind) {
        case ExpressionKind::Assignment:
        case ExpressionKind::Aggregation:
        case ExpressionKind::Increment:
            what = "has a side effect";
            break;
        case ExpressionKind::Print:
            if (!as<Print>(node).to_string)
                what = "prints";
            break;
        case ExpressionKind::EmbeddedC:
            if (!is_pure(as<EmbeddedC>(node)))
                what = "is C code that is not marked /* pure */";
            break;
        case ExpressionKind::Call:
            if (!as<Call>(node).function->pure)
                what = "does more than return a value";
            break;
        default:
            break;
        }
        if (!what.empty())
            diagnostics_
                .report(DiagnosticKind::ConditionLocal, node.range,
                        {std::string(diagnostics_.sources().text(node.range)), what})
                .hint("a condition must not have side effects: do this in the probe's body");
    }

    Program& program_;
    Diagnostics& diagnostics_;
    std::map<const Function*, Globals> changed_;
    std::set<std::pair<uint32_t, uint32_t>> reported_;
};

} // namespace

void check_changes(Program& program, Diagnostics& diagnostics) {
    ChangeCheck(program, diagnostics).run();
}

} // namespace djstap::semantics
