// SPDX-License-Identifier: GPL-2.0-or-later
// Drops unused code, with a warning, as SystemTap does: what a library's alias prepares and nothing
// reads then costs nothing, not even a variable of the handler or a value saved at the entry.
#include "semantics/passes.h"
#include "semantics/walk.h"

#include <map>

namespace djstap::semantics {

using namespace program;

namespace {

bool has_effect(Expression& node) {
    bool effect = false;
    walk_expressions(node, [&](Expression& part) {
        switch (part.kind) {
        case ExpressionKind::Assignment:
        case ExpressionKind::Aggregation:
        case ExpressionKind::Increment:
            effect = true;
            break;
        case ExpressionKind::Print:
            effect = effect || !as<program::Print>(part).to_string;
            break;
        case ExpressionKind::Call:
            effect = effect || !as<Call>(part).function->pure;
            break;
        case ExpressionKind::EmbeddedC:
            effect = effect || as<EmbeddedC>(part).code.find("/* pure */") == std::string::npos;
            break;
        case ExpressionKind::RegexMatch: // matched() reads its result
            effect = true;
            break;
        default:
            break;
        }
    });
    return effect;
}

// Returns the local that `x = value` writes, or nothing. `x += value` and `x++` read it, too.
std::optional<uint32_t> written_local(Expression& node) {
    if (node.kind != ExpressionKind::Assignment || as<program::Assignment>(node).op)
        return std::nullopt;
    const Expression& place = *as<program::Assignment>(node).place;
    if (place.kind != ExpressionKind::LocalValue)
        return std::nullopt;
    return as<LocalValue>(place).local;
}

bool is_empty(const StatementPtr& node) {
    if (!node)
        return true;
    if (node->kind != StatementKind::Block)
        return false;
    for (const StatementPtr& item : as<program::Block>(*node).statements)
        if (!is_empty(item))
            return false;
    return true;
}

class Pruner {
  public:
    Pruner(std::vector<Local>& locals, program::Block& body, const Names& names,
           Diagnostics& diagnostics)
        : locals_(locals), body_(body), names_(names), diagnostics_(diagnostics) {}

    void run() {
        do {
            changed_ = false;
            read_.assign(locals_.size(), false);
            note_reads(body_);
            prune_list(body_.statements);
        } while (changed_);
    }

  private:
    void note_reads(Statement& node) {
        for_each_child(
            node, [&](ExpressionPtr& child) { note_reads(*child); },
            [&](StatementPtr& child) { note_reads(*child); });
    }
    void note_reads(Expression& node) {
        if (node.kind == ExpressionKind::LocalValue)
            read_[as<LocalValue>(node).local] = true;
        const Expression* place =
            written_local(node) ? as<program::Assignment>(node).place.get() : nullptr;
        for_each_child(node, [&](ExpressionPtr& child) {
            if (child.get() != place)
                note_reads(*child);
        });
    }

    void prune_list(std::vector<StatementPtr>& list) {
        for (StatementPtr& item : list)
            prune(item);
        std::erase_if(list, [](const StatementPtr& item) { return !item; });
    }

    // Sets unused statements to null.
    void prune(StatementPtr& node) {
        if (node->kind == StatementKind::Evaluate)
            return prune_evaluate(node);
        if (node->kind == StatementKind::Block) {
            prune_list(as<program::Block>(*node).statements);
            // This needs no further round: the block read nothing.
            if (as<program::Block>(*node).statements.empty())
                node.reset();
            return;
        }
        for_each_child(
            *node, [](ExpressionPtr&) {},
            [&](StatementPtr& child) {
                const SourceRange range = child->range;
                prune(child);
                if (!child) {
                    child = std::make_unique<program::Block>();
                    child->range = range;
                }
            });
        if (node->kind == StatementKind::If) {
            auto& branch = as<program::If>(*node);
            if (is_empty(branch.else_branch))
                branch.else_branch.reset();
            if (!is_empty(branch.then_branch) || branch.else_branch)
                return;
            if (!has_effect(*branch.condition))
                return drop(node);
        }
        if (node->kind == StatementKind::TryCatch && is_empty(as<program::TryCatch>(*node).body))
            drop(node);
    }

    void prune_evaluate(StatementPtr& node) {
        ExpressionPtr& expression = as<Evaluate>(*node).expression;
        if (auto local = written_local(*expression); local && !read_[*local]) {
            if (!warned_.count(*local) && !names_.in_library(expression->range) &&
                !names_.in_alias(expression->range)) {
                warned_.insert(*local);
                diagnostics_.report(DiagnosticKind::UnusedLocal, expression->range,
                                    {locals_[*local].name});
            }
            ExpressionPtr value = std::move(as<program::Assignment>(*expression).value);
            if (!has_effect(*value))
                return drop(node);
            expression = std::move(value);
            changed_ = true;
            return;
        }
        if (has_effect(*expression))
            return;
        if (!names_.in_library(expression->range) && !does_nothing_here(*expression))
            diagnostics_.report(DiagnosticKind::NoEffect, expression->range);
        drop(node);
    }

    // Returns whether it calls a procedure of the library that only has an effect on other
    // machines, such as asmlinkage().
    bool does_nothing_here(const Expression& expression) const {
        if (expression.kind != ExpressionKind::Call)
            return false;
        const auto* function = as<program::Call>(expression).function;
        return function && function->return_type == Type::Void &&
               names_.in_library(function->range);
    }

    void drop(StatementPtr& node) {
        node.reset();
        changed_ = true;
    }

    std::vector<Local>& locals_;
    program::Block& body_;
    const Names& names_;
    Diagnostics& diagnostics_;
    std::vector<bool> read_;
    std::unordered_set<uint32_t> warned_;
    bool changed_ = false;
};

// The numbers that elements of a list have without the unused ones.
class Renumbering {
  public:
    // The first `kept` of `count` elements remain in any case.
    Renumbering(size_t count, size_t kept) : used_(count, false), numbers_(count, 0) {
        std::fill(used_.begin(), used_.begin() + static_cast<ptrdiff_t>(kept), true);
    }
    void use(uint32_t number) { used_[number] = true; }
    uint32_t operator()(uint32_t number) const { return numbers_[number]; }

    template <typename Element> void apply(std::vector<Element>& list) {
        uint32_t next = 0;
        for (size_t i = 0; i < list.size(); ++i) {
            numbers_[i] = next;
            if (!used_[i])
                continue;
            if (next != i)
                list[next] = std::move(list[i]);
            ++next;
        }
        list.erase(list.begin() + next, list.end());
    }

  private:
    std::vector<bool> used_;
    std::vector<uint32_t> numbers_;
};

// Calls `visit` with each reference to a local, which it may change.
template <typename Visitor> void for_each_local(program::Block& body, const Visitor& visit) {
    walk_expressions(body, [&](Expression& node) {
        if (node.kind == ExpressionKind::LocalValue)
            visit(as<LocalValue>(node).local);
    });
    walk_statements(body, [&](Statement& node) {
        if (node.kind == StatementKind::Foreach) {
            for (uint32_t& key : as<program::Foreach>(node).keys)
                visit(key);
            if (auto& value = as<program::Foreach>(node).value)
                visit(*value);
        } else if (node.kind == StatementKind::TryCatch) {
            if (auto& message = as<program::TryCatch>(node).message)
                visit(*message);
        }
    });
}

void drop_unused_locals(program::Function& function) {
    Renumbering numbers(function.locals.size(), function.parameter_count);
    for_each_local(*function.body, [&](uint32_t& local) { numbers.use(local); });
    numbers.apply(function.locals);
    for_each_local(*function.body, [&](uint32_t& local) { local = numbers(local); });
}

void drop_unused_locals(program::Probe& probe) {
    Renumbering numbers(probe.locals.size(), 0);
    auto each = [&](auto visit) {
        for_each_local(*probe.body, visit);
        auto one = [&](Expression& node) {
            if (node.kind == ExpressionKind::LocalValue)
                visit(as<LocalValue>(node).local);
        };
        if (probe.condition)
            walk_expressions(*probe.condition, one);
        for (ExpressionPtr& value : probe.entry_values)
            walk_expressions(*value, one);
    };
    each([&](uint32_t& local) { numbers.use(local); });
    numbers.apply(probe.locals);
    each([&](uint32_t& local) { local = numbers(local); });
}

void drop_unused_entry_values(program::Probe& probe) {
    Renumbering numbers(probe.entry_values.size(), 0);
    auto each = [&](auto visit) {
        auto one = [&](Expression& node) {
            if (node.kind == ExpressionKind::EntryValue)
                visit(as<EntryValue>(node).slot);
        };
        walk_expressions(*probe.body, one);
        if (probe.condition)
            walk_expressions(*probe.condition, one);
    };
    each([&](uint32_t& slot) { numbers.use(slot); });
    numbers.apply(probe.entry_values);
    each([&](uint32_t& slot) { slot = numbers(slot); });
}

// Returns whether it reads and writes nothing beyond its parameters and locals, cannot loop for
// ever, and never ends the handler. A library's loops are bounded.
bool is_pure(program::Function& function, const Names& names) {
    const bool library = names.in_library(function.range);
    bool pure = true;
    walk_statements(*function.body, [&](Statement& part) {
        switch (part.kind) {
        case StatementKind::Loop:
            pure = pure && library;
            break;
        case StatementKind::Delete:
        case StatementKind::Next:
        case StatementKind::EmbeddedStatement:
            pure = false;
            break;
        default:
            break;
        }
    });
    walk_expressions(*function.body, [&](Expression& part) {
        switch (part.kind) {
        case ExpressionKind::Aggregation:
        case ExpressionKind::RegexMatch:
            pure = false;
            break;
        case ExpressionKind::Print:
            pure = pure && as<program::Print>(part).to_string;
            break;
        case ExpressionKind::Call:
            pure = pure && as<Call>(part).function->pure;
            break;
        case ExpressionKind::EmbeddedC:
            pure = pure && as<EmbeddedC>(part).code.find("/* pure */") != std::string::npos;
            break;
        default:
            break;
        }
        const Expression* place = program::assigned_place(part);
        if (place && place->kind != ExpressionKind::LocalValue)
            pure = false;
    });
    return pure;
}

// Returns whether nothing remains of what aliases add to the probe's own block.
bool is_own_block(const program::Probe& probe, const Names& names) {
    bool own = !probe.condition;
    for (const StatementPtr& item : probe.body->statements)
        walk_statements(*item, [&](Statement& node) {
            own = own && node.range.file == probe.range.file && !names.in_alias(node.range);
        });
    return own;
}

} // namespace

void find_pure_functions(const std::vector<Function*>& functions, const Names& names) {
    // Iterates from none upwards: recursive functions never become pure.
    for (bool changed = true; changed;) {
        changed = false;
        for (Function* function : functions)
            if (function->body && !function->pure && is_pure(*function, names)) {
                function->pure = true;
                changed = true;
            }
    }
}

void merge_copies(std::vector<std::unique_ptr<program::Probe>>& probes, const Names& names) {
    std::map<std::pair<uint32_t, bool>, program::Probe*> first;
    auto join = [](auto& into, auto& from) {
        into.insert(into.end(), std::make_move_iterator(from.begin()),
                    std::make_move_iterator(from.end()));
    };
    std::erase_if(probes, [&](std::unique_ptr<program::Probe>& probe) {
        if (!is_own_block(*probe, names))
            return false;
        auto [found, added] =
            first.emplace(std::pair(probe->declaration, probe->is_return), probe.get());
        if (added)
            return false;
        program::Probe& into = *found->second;
        join(into.points, probe->points);
        join(into.alias_names, probe->alias_names);
        join(into.point_traits, probe->point_traits);
        join(into.point_numbers, probe->point_numbers);
        return true;
    });
}

void drop_unused(Program& program, const Names& names, Diagnostics& diagnostics) {
    for (auto& function : program.functions)
        if (function->body) {
            Pruner(function->locals, *function->body, names, diagnostics).run();
            drop_unused_locals(*function);
        }
    for (auto& probe : program.probes) {
        Pruner(probe->locals, *probe->body, names, diagnostics).run();
        drop_unused_entry_values(*probe);
        drop_unused_locals(*probe);
    }
}

} // namespace djstap::semantics
