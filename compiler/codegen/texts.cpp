// SPDX-License-Identifier: GPL-2.0-or-later
// Strings, with as few copies as possible.
#include "codegen/body.h"

#include "semantics/walk.h"

#include <algorithm>

namespace djstap::codegen {

using program::ExpressionKind;

// Returns the bytes of a literal including those that pad it, if that many can be copied to any
// string; else 0.
uint64_t Body::short_literal(Value text) const {
    constexpr uint64_t most = 64;
    auto* literal = llvm::dyn_cast<llvm::GlobalVariable>(text);
    if (!literal || !literal->isConstant())
        return 0;
    const uint64_t bytes = script_.module.getDataLayout().getTypeAllocSize(literal->getValueType());
    return bytes <= std::min<uint64_t>(most, script_.string_bytes()) ? bytes : 0;
}

void Body::copy_bytes(Value to, Value from, uint64_t bytes) {
    builder_.CreateMemCpy(to, llvm::Align(8), from, llvm::Align(8), bytes);
}

void Body::copy_text(Value to, Value from) {
    if (const uint64_t bytes = short_literal(from))
        copy_bytes(to, from, bytes);
    else if (to != from)
        builder_.CreateCall(script_.runtime("djs_text_copy"),
                            {to, from, script_.number(script_.string_bytes())});
}

// Returns the number of a text's bytes, which is known of a literal.
Value Body::length_of(Value text) {
    if (auto* literal = llvm::dyn_cast<llvm::GlobalVariable>(text);
        literal && literal->isConstant() && literal->hasInitializer()) {
        if (literal->getInitializer()->isNullValue())
            return script_.number(0);
        if (auto* bytes = llvm::dyn_cast<llvm::ConstantDataArray>(literal->getInitializer()))
            if (bytes->isString())
                return script_.number(static_cast<int64_t>(bytes->getAsString().find('\0')));
    }
    return builder_.CreateCall(script_.runtime("djs_text_length"), {text});
}

// Copies bytes whose number is `length`: few, if it is known, without a call.
void Body::copy_known(Value to, Value from, Value length) {
    constexpr uint64_t few = 32;
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(length);
    if (known && known->getZExtValue() <= few)
        builder_.CreateMemCpy(to, llvm::Align(4), from, llvm::Align(8), known->getZExtValue());
    else
        builder_.CreateCall(script_.runtime("memcpy"), {to, from, length});
}

// Stores left . right in `out`, and copies it from there to `to`.
void Body::concatenate(Value out, Value left, Value right, Value to) {
    builder_.CreateCall(script_.runtime("djs_text_concat"),
                        {out, left, right, script_.number(script_.string_bytes())});
    copy_text(to, out);
}

namespace {

bool assigns(program::Expression& expression) {
    bool found = false;
    program::walk_expressions(expression, [&](program::Expression& node) {
        found |= node.kind == ExpressionKind::Assignment;
    });
    return found;
}

} // namespace

Value Body::text_in_place(const program::Expression& node,
                          const std::vector<program::Expression*>& others) {
    if (node.kind == ExpressionKind::LocalValue &&
        std::none_of(others.begin(), others.end(),
                     [](program::Expression* other) { return other && assigns(*other); }))
        return locals_[program::as<program::LocalValue>(node).local];
    return text(node);
}

// Returns the arguments that are evaluated after the one with this number.
std::vector<program::Expression*> Body::behind(const std::vector<program::ExpressionPtr>& arguments,
                                               size_t number) {
    std::vector<program::Expression*> others;
    for (size_t i = number + 1; i < arguments.size(); i++)
        others.push_back(arguments[i].get());
    return others;
}

// Evaluates arguments from left to right; a text may be a local variable's own storage.
std::vector<Value> Body::values_of(const std::vector<program::ExpressionPtr>& arguments) {
    std::vector<Value> values;
    for (size_t i = 0; i < arguments.size(); i++)
        values.push_back(arguments[i]->type == program::Type::String
                             ? text_in_place(*arguments[i], behind(arguments, i))
                             : number(*arguments[i]));
    return values;
}

// Without an intermediate copy.
void Body::text_into(Value to, const program::Expression& node) {
    if (node.kind == ExpressionKind::StackText) {
        stack_text_into(to, *program::as<program::StackText>(node).stack);
        return;
    }
    if (node.kind == ExpressionKind::Concatenation) {
        // The runtime's function takes the same string on the left, but not on the right.
        const auto& concatenation = program::as<program::Concatenation>(node);
        Value left = text_in_place(*concatenation.left, {concatenation.right.get()});
        Value right = text_in_place(*concatenation.right, {});
        concatenate(right == to ? scratch_text() : to, left, right, to);
        return;
    }
    if (node.kind == ExpressionKind::Print) {
        copy_text(to, print(program::as<program::Print>(node), to));
        return;
    }
    // A call that fails may have begun to write its result, which a catch must not see.
    if (node.kind == ExpressionKind::Call && error_ == outermost_error_) {
        copy_text(to, call(program::as<program::Call>(node), to));
        return;
    }
    if (node.kind != ExpressionKind::Conditional) {
        copy_text(to, text_in_place(node, {}));
        return;
    }
    const auto& choice = program::as<program::Conditional>(node);
    if (choice.then_value->kind == ExpressionKind::Text &&
        choice.else_value->kind == ExpressionKind::Text) {
        Value one = text(*choice.then_value), other = text(*choice.else_value);
        const uint64_t bytes = short_literal(one);
        if (bytes != 0 && bytes == short_literal(other)) {
            copy_bytes(to, builder_.CreateSelect(condition(*choice.condition), one, other), bytes);
            return;
        }
    }
    choose(choice, [&](const program::Expression& value) { text_into(to, value); });
}

// An assignment to a local variable whose value is not used.
void Body::set_text(uint32_t local, const program::Assignment& node) {
    if (node.value.get() == constant_texts_[local])
        return;
    Value to = locals_[local];
    if (!node.op) {
        text_into(to, *node.value);
        return;
    }
    Value right = text_in_place(*node.value, {});
    concatenate(right == to ? scratch_text() : to, to, right, to);
}

namespace {

struct LocalUse {
    uint32_t writes = 0;
    bool early = false; // used before the assignment that is looked at
};

void count_writes(program::Block& body, std::vector<LocalUse>& uses) {
    program::walk_statements(body, [&](program::Statement& node) {
        if (node.kind == program::StatementKind::Foreach) {
            const auto& loop = program::as<program::Foreach>(node);
            for (uint32_t key : loop.keys)
                uses[key].writes++;
            if (loop.value)
                uses[*loop.value].writes++;
        } else if (node.kind == program::StatementKind::TryCatch) {
            if (const auto message = program::as<program::TryCatch>(node).message)
                uses[*message].writes++;
        }
    });
    program::walk_expressions(body, [&](program::Expression& node) {
        const program::Expression* place = program::assigned_place(node);
        if (place && place->kind == ExpressionKind::LocalValue)
            uses[program::as<program::LocalValue>(*place).local].writes++;
    });
}

// Calls `visit` for the statements that are executed one after the other.
void in_sequence(const program::Block& block,
                 const std::function<void(program::Statement&)>& visit) {
    for (const auto& statement : block.statements) {
        if (statement->kind == program::StatementKind::Block)
            in_sequence(program::as<program::Block>(*statement), visit);
        else
            visit(*statement);
    }
}

// Returns the assignment of a literal to a local variable that a statement is; else null.
const program::Assignment* literal_assignment(const program::Statement& statement) {
    if (statement.kind != program::StatementKind::Evaluate)
        return nullptr;
    const auto& expression = *program::as<program::Evaluate>(statement).expression;
    if (expression.kind != ExpressionKind::Assignment || expression.type != program::Type::String)
        return nullptr;
    const auto& node = program::as<program::Assignment>(expression);
    return !node.op && node.place->kind == ExpressionKind::LocalValue &&
                   node.value->kind == ExpressionKind::Text
               ? &node
               : nullptr;
}

} // namespace

// A variable that is only set once, to a literal, before anything reads it, is that literal, such
// as `name` of most aliases.
void Body::find_constant_texts(const program::Probe& probe) {
    if (probe.effects.embedded)
        return;
    std::vector<LocalUse> uses(local_declarations_.size());
    count_writes(*probe.body, uses);
    in_sequence(*probe.body, [&](program::Statement& statement) {
        if (const program::Assignment* node = literal_assignment(statement)) {
            const uint32_t local = program::as<program::LocalValue>(*node->place).local;
            if (uses[local].writes == 1 && !uses[local].early)
                constant_texts_[local] = node->value.get();
        }
        program::walk_expressions(statement, [&](program::Expression& node) {
            if (node.kind == ExpressionKind::LocalValue)
                uses[program::as<program::LocalValue>(node).local].early = true;
        });
    });
}

} // namespace djstap::codegen
