// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/contexts.h"

#include "codegen/script_module.h"
#include "include/script.h"
#include "semantics/walk.h"

#include <algorithm>
#include <array>
#include <set>

namespace djstap::codegen {

using program::ExpressionKind;
using program::StatementKind;

namespace {

// What one body does, and which functions it calls.
class Look {
  public:
    explicit Look(const ScriptModule& script) : script_(script) {}

    bool walks_far = false;      // over an array that may be large
    bool bound_to_place = false; // it cannot run in another context
    std::set<const program::Function*> calls;
    std::set<const program::Global*> clears;
    std::set<const program::Global*> erases; // elements of these

    void at(program::Statement& body) {
        program::walk_statements(body, [&](program::Statement& node) { one(node); });
        program::walk_expressions(body, [&](program::Expression& node) { one(node); });
    }
    void at(program::Expression& body) {
        program::walk_expressions(body, [&](program::Expression& node) { one(node); });
    }
    // Adds what the callee does.
    void join(const Look& other) {
        walks_far |= other.walks_far;
        bound_to_place |= other.bound_to_place;
        clears.insert(other.clears.begin(), other.clears.end());
        erases.insert(other.erases.begin(), other.erases.end());
    }

  private:
    void walk(const program::Global& array, bool sorts_texts = false) {
        walks_far |=
            script_.capacity(array) > (sorts_texts ? DJS_TEXTS_SORTED_AT_ONCE : DJS_SORTED_AT_ONCE);
    }
    static bool sorts_texts(const program::Foreach& foreach) {
        if (foreach.sort_key <= 0)
            return foreach.sort_key == 0 && foreach.array->value == program::Type::String;
        return foreach.array->keys[static_cast<size_t>(foreach.sort_key) - 1] ==
               program::Type::String;
    }
    void one(const program::Statement& node) {
        if (node.kind == StatementKind::Foreach) {
            const auto& foreach = program::as<program::Foreach>(node);
            if (foreach.array)
                walk(*foreach.array, sorts_texts(foreach));
        } else if (node.kind == StatementKind::Delete) {
            const auto& erased = program::as<program::Delete>(node);
            if (erased.keys.empty())
                clears.insert(erased.global);
            else
                erases.insert(erased.global);
            if (program::is_slice(erased.keys))
                walk(*erased.global);
        } else if (node.kind == StatementKind::EmbeddedStatement) {
            bound_to_place = true;
        }
    }
    void one(const program::Expression& node) {
        switch (node.kind) {
        case ExpressionKind::Membership: {
            const auto& membership = program::as<program::Membership>(node);
            if (program::is_slice(membership.keys))
                walk(*membership.array);
            break;
        }
        case ExpressionKind::Call:
            calls.insert(program::as<program::Call>(node).function);
            break;
        case ExpressionKind::EmbeddedC:
        case ExpressionKind::Register:
            bound_to_place = true;
            break;
        case ExpressionKind::TargetValue:
            bound_to_place |= program::as<program::TargetValue>(node).base ==
                              program::TargetValue::Base::PerfCounter;
            break;
        default:
            break;
        }
    }

    const ScriptModule& script_;
};

class Finder {
  public:
    explicit Finder(const ScriptModule& script) : script_(script) {}

    Contexts find() {
        for (const Variant& variant : script_.plan.variants) {
            // Includes all functions that the handler calls.
            Look all(script_);
            all.at(*variant.probe->body);
            if (variant.probe->condition)
                all.at(*variant.probe->condition);
            const std::set<const program::Function*> called = reached(all);
            const RunContexts contexts = run_contexts(variant, all);
            contexts_.variants.push_back(contexts);
            if (!contexts.alone) {
                contexts_.cleared.insert(all.clears.begin(), all.clears.end());
                contexts_.shrinking.insert(all.erases.begin(), all.erases.end());
            }
            for (const program::Function* function : called)
                contexts_.functions[function].join(contexts);
        }
        return std::move(contexts_);
    }

  private:
    const Look& look_at(const program::Function& function) {
        auto [known, is_new] = functions_.try_emplace(&function, script_);
        Look& look = known->second;
        if (!is_new)
            return look;
        if (function.body)
            look.at(*function.body);
        if (function.next_overload)
            look.calls.insert(function.next_overload);
        // A task that acts for the interrupted one does not have the state that such a function
        // reads.
        look.bound_to_place |= function.place || (!function.body && function.intrinsic.empty());
        return look;
    }
    // Returns all functions that are called from `look`, and adds what they do to it.
    std::set<const program::Function*> reached(Look& look) {
        std::set<const program::Function*> found;
        std::vector<const program::Function*> open(look.calls.begin(), look.calls.end());
        while (!open.empty()) {
            const program::Function* function = open.back();
            open.pop_back();
            if (!found.insert(function).second)
                continue;
            const Look& inner = look_at(*function);
            look.join(inner);
            open.insert(open.end(), inner.calls.begin(), inner.calls.end());
        }
        return found;
    }
    RunContexts run_contexts(const Variant& variant, const Look& look) const {
        RunContexts contexts;
        const bool is_only = script_.kernel.user_space && !script_.kernel.injected;
        contexts.alone = is_only || variant.kind == HandlerKind::Begin ||
                         variant.kind == HandlerKind::End || variant.kind == HandlerKind::Error;
        contexts.task = !contexts.alone && !script_.kernel.user_space && look.walks_far &&
                        variant.has_only(DJS_RUNS_IN_TASK) &&
                        (variant.has_only(DJS_IS_TASK) || !look.bound_to_place);
        contexts.others = !contexts.alone && !contexts.task;
        return contexts;
    }

    const ScriptModule& script_;
    std::unordered_map<const program::Function*, Look> functions_;
    Contexts contexts_;
};

} // namespace

Contexts find_contexts(const ScriptModule& script) {
    return Finder(script).find();
}

} // namespace djstap::codegen
