// SPDX-License-Identifier: GPL-2.0-or-later
// Decides which values are call stacks as addresses (Type::Stack). backtrace() and ubacktrace()
// yield a string of hexadecimal addresses in the language; its addresses stand for it wherever
// nothing depends on the characters: as keys, in local variables, and as what is printed. All other
// uses convert them (StackText).
//
// A variable or a position among an array's keys has this type if nothing else is ever stored in
// it or looked up by it, so that equal strings are equal stacks.
#include "semantics/passes.h"
#include "semantics/walk.h"

#include <algorithm>
#include <set>
#include <utility>

namespace djstap::semantics {

using namespace program;

namespace {

using Locals = std::vector<Local>;
using LocalPlace = std::pair<const Locals*, uint32_t>;
using KeyPlace = std::pair<const Global*, size_t>;

bool yields_stack(const Function& function) {
    return function.intrinsic == "backtrace" || function.intrinsic == "ubacktrace";
}

// What may hold stacks, and what may hold anything else.
struct Places {
    std::set<LocalPlace> locals;
    std::set<KeyPlace> keys;
    size_t size() const { return locals.size() + keys.size(); }
};

bool is_source(const Expression& node) {
    return node.kind == ExpressionKind::Call && yields_stack(*as<Call>(node).function);
}

bool prints_symbols(const Call& node) {
    const std::string& name = node.function->intrinsic;
    return name == "print_stack" || name == "print_syms" || name == "print_usyms" ||
           name == "print_ustack";
}

// What these yield is made of symbols by the reader, if it is printed at once.
bool is_lines(const Expression& node) {
    if (node.kind != ExpressionKind::Call)
        return false;
    const std::string& name = as<Call>(node).function->intrinsic;
    return name == "sprint_syms" || name == "sprint_stack" || name == "sprint_usyms" ||
           name == "sprint_ustack";
}

// Calls `visit` for each body of the program, with the variables that it uses.
template <class Visit> void for_each_body(Program& program, const Visit& visit) {
    for (auto& function : program.functions)
        if (function->body)
            visit(*function->body, function->locals);
    for (auto& probe : program.probes)
        visit(*probe->body, probe->locals);
}

// Calls `visit` for each expression that is evaluated outside the bodies.
template <class Visit> void for_each_value(Program& program, const Visit& visit) {
    for (auto& probe : program.probes) {
        if (probe->condition)
            visit(probe->condition, probe->locals);
        for (auto& value : probe->entry_values)
            visit(value, probe->locals);
    }
}

// One pass over everything that stores values or looks them up. It adds places to `stacks` into
// which a stack may get, and to `others` those into which anything else may.
class Pass {
  public:
    Pass(Places& stacks, Places& others) : stacks_(stacks), others_(others) {}

    void over(Program& program) {
        for (auto& function : program.functions) {
            for (uint32_t i = 0; i < function->parameter_count; ++i)
                others_.locals.insert({&function->locals, i});
            embedded(function->embedded_globals);
        }
        for_each_body(program, [&](Block& body, const Locals& locals) {
            locals_ = &locals;
            walk_statements(body, [&](Statement& node) { statement(node); });
            walk_expressions(body, [&](Expression& node) { expression(node); });
        });
        for_each_value(program, [&](ExpressionPtr& value, const Locals& locals) {
            locals_ = &locals;
            walk_expressions(*value, [&](Expression& node) { expression(node); });
        });
    }

  private:
    // Whether an expression's value may be a stack, and whether it may be something else.
    struct Origin {
        bool stack = false, other = false;
    };
    Origin origin(const Expression& node) const {
        switch (node.kind) {
        case ExpressionKind::Call:
            return {is_source(node), !is_source(node)};
        case ExpressionKind::LocalValue: {
            const LocalPlace place{locals_, as<LocalValue>(node).local};
            return {stacks_.locals.count(place) > 0, others_.locals.count(place) > 0};
        }
        case ExpressionKind::Conditional: {
            const Origin one = origin(*as<Conditional>(node).then_value);
            const Origin two = origin(*as<Conditional>(node).else_value);
            return {one.stack || two.stack, one.other || two.other};
        }
        case ExpressionKind::Assignment: {
            const auto& assignment = as<program::Assignment>(node);
            if (assignment.place->kind == ExpressionKind::LocalValue && !assignment.op)
                return origin(*assignment.place);
            return {false, true};
        }
        default:
            return {false, true};
        }
    }

    template <class Set, class Place>
    static void add(Origin from, Set& stacks, Set& others, const Place& place) {
        if (from.stack)
            stacks.insert(place);
        if (from.other)
            others.insert(place);
    }

    void key(const Global& array, size_t index, const ExpressionPtr& value) {
        if (value && array.keys[index] == Type::String)
            add(origin(*value), stacks_.keys, others_.keys, KeyPlace{&array, index});
    }
    void keys(const Global& array, const std::vector<ExpressionPtr>& values) {
        for (size_t i = 0; i < values.size(); ++i)
            key(array, i, values[i]);
    }
    void embedded(const std::vector<EmbeddedGlobal>& globals) {
        for (const EmbeddedGlobal& each : globals)
            for (size_t i = 0; i < each.global->keys.size(); ++i)
                others_.keys.insert({each.global, i});
    }

    void loop(const program::Foreach& node) {
        if (node.value)
            others_.locals.insert({locals_, *node.value});
        if (!node.array)
            return;
        keys(*node.array, node.slice);
        // Sorted by its characters.
        if (node.sort_key > 0)
            others_.keys.insert({node.array, static_cast<size_t>(node.sort_key) - 1});
        for (size_t i = 0; i < node.keys.size(); ++i) {
            const KeyPlace from{node.array, i};
            add({stacks_.keys.count(from) > 0, others_.keys.count(from) > 0}, stacks_.locals,
                others_.locals, LocalPlace{locals_, node.keys[i]});
        }
    }

    void statement(const Statement& node) {
        switch (node.kind) {
        case StatementKind::Foreach:
            return loop(as<program::Foreach>(node));
        case StatementKind::Delete:
            return keys(*as<program::Delete>(node).global, as<program::Delete>(node).keys);
        case StatementKind::TryCatch:
            if (const auto& message = as<program::TryCatch>(node).message)
                others_.locals.insert({locals_, *message});
            return;
        case StatementKind::EmbeddedStatement:
            return embedded(as<program::EmbeddedStatement>(node).globals);
        default:
            return;
        }
    }

    void expression(const Expression& node) {
        switch (node.kind) {
        case ExpressionKind::GlobalValue:
            return keys(*as<GlobalValue>(node).global, as<GlobalValue>(node).keys);
        case ExpressionKind::Membership:
            return keys(*as<program::Membership>(node).array, as<program::Membership>(node).keys);
        case ExpressionKind::EmbeddedC:
            return embedded(as<EmbeddedC>(node).globals);
        case ExpressionKind::Assignment: {
            const auto& assignment = as<program::Assignment>(node);
            if (assignment.place->kind == ExpressionKind::LocalValue)
                add(assignment.op ? Origin{false, true} : origin(*assignment.value), stacks_.locals,
                    others_.locals, LocalPlace{locals_, as<LocalValue>(*assignment.place).local});
            return;
        }
        default:
            return;
        }
    }

    Places &stacks_, &others_;
    const Locals* locals_ = nullptr;
};

// Sets the types of expressions, and converts where a string is needed.
class Conversion {
  public:
    void over(Program& program) {
        for_each_body(program, [&](Block& body, const Locals& locals) {
            locals_ = &locals;
            statement(body);
        });
        for_each_value(program, [&](ExpressionPtr& value, const Locals& locals) {
            locals_ = &locals;
            expression(value, false);
        });
    }

  private:
    bool is_stack(const Expression& node) const {
        switch (node.kind) {
        case ExpressionKind::Call:
            return is_source(node);
        case ExpressionKind::LocalValue:
            return (*locals_)[as<LocalValue>(node).local].type == Type::Stack;
        case ExpressionKind::Conditional:
            return is_stack(*as<Conditional>(node).then_value) &&
                   is_stack(*as<Conditional>(node).else_value);
        case ExpressionKind::Assignment:
            return as<program::Assignment>(node).place->kind == ExpressionKind::LocalValue &&
                   is_stack(*as<program::Assignment>(node).place);
        default:
            return false;
        }
    }

    // `takes_stack`: whatever uses the value takes a stack as it is.
    void expression(ExpressionPtr& node, bool takes_stack) {
        const bool stack = is_stack(*node);
        switch (node->kind) {
        case ExpressionKind::GlobalValue:
            keys(*as<GlobalValue>(*node).global, as<GlobalValue>(*node).keys);
            break;
        case ExpressionKind::Membership:
            keys(*as<program::Membership>(*node).array, as<program::Membership>(*node).keys);
            break;
        case ExpressionKind::Conditional: {
            auto& choice = as<Conditional>(*node);
            expression(choice.condition, false);
            expression(choice.then_value, stack);
            expression(choice.else_value, stack);
            break;
        }
        case ExpressionKind::Assignment: {
            auto& assignment = as<program::Assignment>(*node);
            expression(assignment.place, true); // no value, but what is assigned to
            expression(assignment.value, stack);
            break;
        }
        case ExpressionKind::Print: // %s
            for_each_child(*node, [&](ExpressionPtr& child) {
                if (!as<Print>(*node).to_string && is_lines(*child))
                    children(*child, true);
                else
                    expression(child, true);
            });
            break;
        case ExpressionKind::Call:
            children(*node, prints_symbols(as<Call>(*node)));
            break;
        default:
            children(*node, false);
        }
        if (!stack)
            return;
        node->type = Type::Stack;
        if (takes_stack)
            return;
        auto text = std::make_unique<StackText>();
        text->type = Type::String;
        text->range = node->range;
        text->stack = std::move(node);
        node = std::move(text);
    }

    void children(Expression& node, bool take_stacks) {
        for_each_child(node, [&](ExpressionPtr& child) { expression(child, take_stacks); });
    }

    void keys(const Global& global, std::vector<ExpressionPtr>& values) {
        for (size_t i = 0; i < values.size(); ++i)
            if (values[i])
                expression(values[i], global.keys[i] == Type::Stack);
    }

    void statement(Statement& node) {
        switch (node.kind) {
        case StatementKind::Evaluate: // the value is unused
            return expression(as<Evaluate>(node).expression, true);
        case StatementKind::Delete:
            return keys(*as<program::Delete>(node).global, as<program::Delete>(node).keys);
        case StatementKind::Foreach:
            if (as<program::Foreach>(node).array) {
                auto& loop = as<program::Foreach>(node);
                keys(*loop.array, loop.slice);
                if (loop.limit)
                    expression(loop.limit, false);
                return statement(*loop.body);
            }
            break;
        case StatementKind::Loop: {
            auto& loop = as<Loop>(node);
            for (ExpressionPtr* effect : {&loop.init, &loop.step})
                if (*effect)
                    expression(*effect, true);
            if (loop.condition)
                expression(loop.condition, false);
            return statement(*loop.body);
        }
        default:
            break;
        }
        for_each_child(
            node, [&](ExpressionPtr& child) { expression(child, false); },
            [&](StatementPtr& child) { statement(*child); });
    }

    const Locals* locals_ = nullptr;
};

} // namespace

void find_stacks(Program& program) {
    if (std::none_of(program.functions.begin(), program.functions.end(),
                     [](const auto& function) { return yields_stack(*function); }))
        return;
    Places stacks, others;
    auto fill = [&] {
        for (size_t before = ~size_t{0}; before != stacks.size() + others.size();) {
            before = stacks.size() + others.size();
            Pass(stacks, others).over(program);
        }
    };
    fill();
    // A variable that is never assigned to is an empty string.
    auto seal = [&](const Locals& locals) {
        for (uint32_t i = 0; i < locals.size(); ++i)
            if (!stacks.locals.count({&locals, i}))
                others.locals.insert({&locals, i});
    };
    for (auto& function : program.functions)
        seal(function->locals);
    for (auto& probe : program.probes)
        seal(probe->locals);
    fill();
    auto take = [&](const auto& place, const auto& other, Type& type) {
        if (!other.count(place) && type == Type::String)
            type = Type::Stack;
    };
    for (auto& global : program.globals)
        for (size_t i = 0; i < global->keys.size(); ++i)
            if (const KeyPlace place{global.get(), i}; stacks.keys.count(place))
                take(place, others.keys, global->keys[i]);
    auto take_locals = [&](Locals& locals) {
        for (uint32_t i = 0; i < locals.size(); ++i)
            if (const LocalPlace place{&locals, i}; stacks.locals.count(place))
                take(place, others.locals, locals[i].type);
    };
    for (auto& function : program.functions)
        take_locals(function->locals);
    for (auto& probe : program.probes)
        take_locals(probe->locals);
    Conversion().over(program);
}

} // namespace djstap::semantics
