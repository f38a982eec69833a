// SPDX-License-Identifier: GPL-2.0-or-later
// Call stacks as addresses (program::Type::Stack). A value is the address of words: the number of
// addresses, then these (runtime/include/script.h).
#include "codegen/body.h"

#include "include/script.h"

namespace djstap::codegen {

using program::ExpressionKind;

// Yields a stack for the duration of the statement.
Value Body::stack(const program::Expression& node) {
    Value to = scratch_stack();
    stack_into(to, node);
    return to;
}

void Body::stack_into(Value to, const program::Expression& node) {
    auto copy = [&](Value from) {
        builder_.CreateCall(script_.runtime("djs_copy_stack"), {to, from});
    };
    switch (node.kind) {
    case ExpressionKind::Call:
        take_stack(to);
        break;
    case ExpressionKind::LocalValue:
        copy(locals_[program::as<program::LocalValue>(node).local]);
        break;
    case ExpressionKind::Assignment:
        copy(assign_stack(program::as<program::Assignment>(node)));
        break;
    case ExpressionKind::Conditional:
        choose(program::as<program::Conditional>(node),
               [&](const program::Expression& value) { stack_into(to, value); });
        break;
    default:
        script_.unexpected(node.range, "a stack that is none");
    }
}

// backtrace()
void Body::take_stack(Value to) {
    if (hit_.frame)
        builder_.CreateCall(script_.runtime("djs_take_stack_at_entry"),
                            {ctx_, to, hit_.reg(arch::stack_pointer()), hit_.frame()});
    else
        builder_.CreateCall(script_.runtime("djs_take_stack"), {ctx_, to});
}

// Returns the variable, a local one.
Value Body::assign_stack(const program::Assignment& node) {
    Value local = locals_[program::as<program::LocalValue>(*node.place).local];
    // The value may depend on what the variable held.
    if (node.value->kind == ExpressionKind::Conditional)
        builder_.CreateCall(script_.runtime("djs_copy_stack"), {local, stack(*node.value)});
    else
        stack_into(local, *node.value);
    return local;
}

// The string that it stands for.
void Body::stack_text_into(Value out, const program::Expression& stack_value) {
    builder_.CreateCall(script_.runtime("djs_stack_text"), {out, stack(stack_value)});
}

} // namespace djstap::codegen
