// SPDX-License-Identifier: GPL-2.0-or-later
// Drops unused code, with a warning, as SystemTap does: what a library's alias prepares and nothing
// reads then costs nothing.
#include "semantics/passes.h"
#include "semantics/walk.h"

#include <functional>

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

    // Returns whether it calls a procedure of the library that only has an effect on other machines,
    // such as asmlinkage().
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

// Returns whether it reads and writes nothing beyond its parameters and locals, cannot loop for
// ever, and never ends the handler. The library's loops are trusted to end.
bool is_pure(program::Function& function, bool in_library) {
    bool pure = true;
    walk_statements(*function.body, [&](Statement& part) {
        switch (part.kind) {
        case StatementKind::Loop:
            pure = pure && in_library;
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
        const Expression* place = nullptr;
        switch (part.kind) {
        case ExpressionKind::Assignment:
            place = as<program::Assignment>(part).place.get();
            break;
        case ExpressionKind::Increment:
            place = as<program::Increment>(part).place.get();
            break;
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
        if (place && place->kind != ExpressionKind::LocalValue)
            pure = false;
    });
    return pure;
}

// Drops the locals and the values from function entry that no statement of the probe mentions: a
// string would otherwise take scratch memory at each hit, and a value would be saved at each entry.
class Compactor {
  public:
    explicit Compactor(Probe& probe) : probe_(probe) {}

    void run() {
        saved_.assign(probe_.entry_values.size(), 0);
        for_each_slot([&](uint32_t& slot) { saved_[slot] = 1; });
        number(saved_, probe_.entry_values);
        for_each_slot([&](uint32_t& slot) { slot = saved_[slot]; });

        mentioned_.assign(probe_.locals.size(), 0);
        for_each_local([&](uint32_t& local) { mentioned_[local] = 1; });
        number(mentioned_, probe_.locals);
        for_each_local([&](uint32_t& local) { local = mentioned_[local]; });
    }

  private:
    // Erases the items that are marked with 0, and turns the other marks into new indices.
    template <typename Item>
    static void number(std::vector<uint32_t>& marks, std::vector<Item>& items) {
        uint32_t next = 0;
        for (size_t i = 0; i < items.size(); ++i) {
            if (!marks[i])
                continue;
            if (next != i)
                items[next] = std::move(items[i]);
            marks[i] = next++;
        }
        items.resize(next);
    }

    void for_each_expression(const std::function<void(Expression&)>& visit) {
        walk_expressions(*probe_.body, visit);
        if (probe_.condition)
            walk_expressions(*probe_.condition, visit);
        for (ExpressionPtr& value : probe_.entry_values)
            walk_expressions(*value, visit);
    }
    void for_each_slot(const std::function<void(uint32_t&)>& visit) {
        for_each_expression([&](Expression& node) {
            if (node.kind == ExpressionKind::EntryValue)
                visit(as<EntryValue>(node).slot);
        });
    }
    void for_each_local(const std::function<void(uint32_t&)>& visit) {
        for_each_expression([&](Expression& node) {
            if (node.kind == ExpressionKind::LocalValue)
                visit(as<LocalValue>(node).local);
        });
        walk_statements(*probe_.body, [&](Statement& node) {
            if (node.kind == StatementKind::Foreach) {
                auto& loop = as<program::Foreach>(node);
                for (uint32_t& key : loop.keys)
                    visit(key);
                if (loop.value)
                    visit(*loop.value);
            } else if (node.kind == StatementKind::TryCatch) {
                auto& attempt = as<program::TryCatch>(node);
                if (attempt.message)
                    visit(*attempt.message);
            }
        });
    }

    Probe& probe_;
    std::vector<uint32_t> saved_, mentioned_;
};

} // namespace

void find_pure_functions(const std::vector<Function*>& functions, const Names& names) {
    // Iterates from none upwards: recursive functions never become pure.
    for (bool changed = true; changed;) {
        changed = false;
        for (Function* function : functions)
            if (function->body && !function->pure &&
                is_pure(*function, names.in_library(function->range))) {
                function->pure = true;
                changed = true;
            }
    }
}

void drop_unused(Program& program, const Names& names, Diagnostics& diagnostics) {
    for (auto& function : program.functions)
        if (function->body)
            Pruner(function->locals, *function->body, names, diagnostics).run();
    for (auto& probe : program.probes) {
        Pruner(probe->locals, *probe->body, names, diagnostics).run();
        Compactor(*probe).run();
    }
}

} // namespace djstap::semantics
