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

// Without an intermediate copy.
void Body::text_into(Value to, const program::Expression& node) {
    if (node.kind == ExpressionKind::StackText) {
        stack_text_into(to, *program::as<program::StackText>(node).stack);
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

} // namespace djstap::codegen
