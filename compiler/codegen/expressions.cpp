// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/codegen.h"
#include "codegen/body.h"
#include "codegen/clocks.h"
#include "codegen/lean.h"
#include "codegen/needs.h"

#include "include/script.h"
#include "semantics/walk.h"

#include <llvm/IR/Constants.h>

namespace djstap::codegen {

using ast::BinaryOp;
using program::ExpressionKind;
using program::Type;

Value Body::number(const program::Expression& node) {
    switch (node.kind) {
    case ExpressionKind::Number:
        return script_.number(program::as<program::Number>(node).value);
    case ExpressionKind::LocalValue:
        return builder_.CreateLoad(script_.types.i64,
                                   locals_[program::as<program::LocalValue>(node).local]);
    case ExpressionKind::GlobalValue:
        return read_global(program::as<program::GlobalValue>(node));
    case ExpressionKind::Membership:
        return membership(program::as<program::Membership>(node));
    case ExpressionKind::Unary: {
        const auto& unary = program::as<program::Unary>(node);
        if (unary.op == ast::UnaryOp::Not)
            return builder_.CreateZExt(builder_.CreateNot(condition(*unary.operand)),
                                       script_.types.i64);
        Value operand = number(*unary.operand);
        if (unary.op == ast::UnaryOp::Negate)
            return builder_.CreateNeg(operand);
        return unary.op == ast::UnaryOp::Complement ? builder_.CreateNot(operand) : operand;
    }
    case ExpressionKind::Arithmetic: {
        const auto& binary = program::as<program::Arithmetic>(node);
        Value left = number(*binary.left);
        Value right = number(*binary.right);
        check_divisor(binary.op, right, binary.op_range);
        return arithmetic(binary.op, left, right);
    }
    case ExpressionKind::Comparison:
        return builder_.CreateZExt(comparison(program::as<program::Comparison>(node)),
                                   script_.types.i64);
    case ExpressionKind::Logical:
        return builder_.CreateZExt(logical(program::as<program::Logical>(node)), script_.types.i64);
    case ExpressionKind::Conditional:
        return conditional(program::as<program::Conditional>(node));
    case ExpressionKind::Assignment:
        return assignment(program::as<program::Assignment>(node));
    case ExpressionKind::Aggregation:
        return aggregate(program::as<program::Aggregation>(node));
    case ExpressionKind::Increment:
        return increment(program::as<program::Increment>(node));
    case ExpressionKind::Call:
        return call(program::as<program::Call>(node));
    case ExpressionKind::Print:
        return print(program::as<program::Print>(node));
    case ExpressionKind::StatisticRead:
        return read_statistic(program::as<program::StatisticRead>(node));
    case ExpressionKind::TargetValue:
        return target_value(program::as<program::TargetValue>(node));
    case ExpressionKind::Defined: {
        auto known = hit_.defined ? hit_.defined->find(&node) : DefinedMap::const_iterator();
        return script_.number(hit_.defined && known != hit_.defined->end() && known->second ? 1
                                                                                            : 0);
    }
    case ExpressionKind::EntryValue:
        return builder_.CreateLoad(script_.types.i64,
                                   entry_slot(program::as<program::EntryValue>(node).slot));
    case ExpressionKind::Dereference: {
        const auto& dereference = program::as<program::Dereference>(node);
        Value address = number(*dereference.address);
        return read(address, 0,
                    {.size = static_cast<uint8_t>(dereference.size),
                     .space = dereference.user ? AddressSpace::User : AddressSpace::Kernel,
                     .place = script_.u32(script_.place(node.range))});
    }
    case ExpressionKind::Register:
        return register_value(program::as<program::Register>(node));
    case ExpressionKind::RegexMatch:
        return builder_.CreateZExt(regex_match(program::as<program::RegexMatch>(node)),
                                   script_.types.i64);
    case ExpressionKind::EmbeddedC:
        return embedded_expression(program::as<program::EmbeddedC>(node));
    case ExpressionKind::Text:
    case ExpressionKind::Concatenation:
    case ExpressionKind::HistogramText:
    case ExpressionKind::StackText:
        break; // strings: semantics rejects them
    }
    return script_.number(0);
}

Value Body::text(const program::Expression& node) {
    switch (node.kind) {
    case ExpressionKind::Text: {
        std::string_view value = program::as<program::Text>(node).value;
        value = value.substr(0, value.find('\0'));
        return script_.text(value.substr(0, script_.string_bytes() - 1));
    }
    case ExpressionKind::LocalValue: {
        // A copy, because the rest of the statement may assign to the variable.
        Value copy = scratch_text();
        copy_text(copy, locals_[program::as<program::LocalValue>(node).local]);
        return copy;
    }
    case ExpressionKind::GlobalValue:
        return read_global(program::as<program::GlobalValue>(node));
    case ExpressionKind::Concatenation: {
        const auto& concatenation = program::as<program::Concatenation>(node);
        Value left = text_in_place(*concatenation.left, {concatenation.right.get()});
        Value right = text_in_place(*concatenation.right, {});
        Value out = scratch_text();
        concatenate(out, left, right, out);
        return out;
    }
    case ExpressionKind::Conditional:
        return conditional(program::as<program::Conditional>(node));
    case ExpressionKind::Assignment:
        return assignment(program::as<program::Assignment>(node));
    case ExpressionKind::Call:
        return call(program::as<program::Call>(node));
    case ExpressionKind::Print:
        return print(program::as<program::Print>(node));
    case ExpressionKind::TargetValue:
        return target_value(program::as<program::TargetValue>(node));
    case ExpressionKind::EmbeddedC:
        return embedded_expression(program::as<program::EmbeddedC>(node));
    case ExpressionKind::EntryValue:
        return entry_slot(program::as<program::EntryValue>(node).slot);
    case ExpressionKind::StackText: {
        Value out = scratch_text();
        stack_text_into(out, *program::as<program::StackText>(node).stack);
        return out;
    }
    default:
        script_.unexpected(node.range, "a text that is none");
        return script_.text("");
    }
}

Value Body::condition(const program::Expression& node) {
    switch (node.kind) {
    case ExpressionKind::Comparison:
        return comparison(program::as<program::Comparison>(node));
    case ExpressionKind::Logical:
        return logical(program::as<program::Logical>(node));
    case ExpressionKind::RegexMatch:
        return regex_match(program::as<program::RegexMatch>(node));
    default:
        if (node.type == Type::String)
            return builder_.CreateICmpNE(builder_.CreateLoad(script_.types.i8, text(node)),
                                         llvm::ConstantInt::get(script_.types.i8, 0));
        return builder_.CreateICmpNE(number(node), script_.number(0));
    }
}

void Body::effect(const program::Expression& node) {
    if (node.kind == ExpressionKind::Aggregation) {
        aggregate(program::as<program::Aggregation>(node));
        return;
    }
    if (node.kind == ExpressionKind::Assignment && node.type == Type::String) {
        const auto& assigned = program::as<program::Assignment>(node);
        if (assigned.place->kind == ExpressionKind::LocalValue) {
            set_text(program::as<program::LocalValue>(*assigned.place).local, assigned);
            return;
        }
    }
    if (node.type == Type::Stack && node.kind == ExpressionKind::Assignment)
        assign_stack(program::as<program::Assignment>(node));
    else if (node.type == Type::Stack)
        stack(node);
    else if (node.type == Type::String)
        text(node);
    else
        number(node);
}

void Body::check_divisor(BinaryOp op, Value divisor, SourceRange op_range) {
    if (op == BinaryOp::Divide || op == BinaryOp::Modulo)
        fail_if(builder_.CreateICmpEQ(divisor, script_.number(0)), "division by 0", op_range);
}

// A divisor has already been checked.
Value Body::arithmetic(BinaryOp op, Value left, Value right) {
    Value shift = nullptr;
    switch (op) {
    case BinaryOp::Add:
        return builder_.CreateAdd(left, right);
    case BinaryOp::Subtract:
        return builder_.CreateSub(left, right);
    case BinaryOp::Multiply:
        return builder_.CreateMul(left, right);
    case BinaryOp::And:
        return builder_.CreateAnd(left, right);
    case BinaryOp::Or:
        return builder_.CreateOr(left, right);
    case BinaryOp::Xor:
        return builder_.CreateXor(left, right);
    case BinaryOp::ShiftLeft:
    case BinaryOp::ShiftRight:
    case BinaryOp::ShiftRightLogical:
        // The processor uses the count modulo 64; so does the language.
        shift = builder_.CreateAnd(right, script_.number(63));
        if (op == BinaryOp::ShiftLeft)
            return builder_.CreateShl(left, shift);
        return op == BinaryOp::ShiftRight ? builder_.CreateAShr(left, shift)
                                          : builder_.CreateLShr(left, shift);
    case BinaryOp::Divide:
    case BinaryOp::Modulo: {
        bool divide = op == BinaryOp::Divide;
        // INT64_MIN / -1 traps; x / -1 is -x and x % -1 is 0 for every x.
        Value minus_one = builder_.CreateICmpEQ(right, script_.number(-1));
        Value safe = builder_.CreateSelect(minus_one, script_.number(1), right);
        if (divide)
            return builder_.CreateSelect(minus_one, builder_.CreateNeg(left),
                                         builder_.CreateSDiv(left, safe));
        return builder_.CreateSelect(minus_one, script_.number(0), builder_.CreateSRem(left, safe));
    }
    default:
        return left; // comparisons and concatenation are nodes of their own
    }
}

Value Body::comparison(const program::Comparison& node) {
    Value left, right;
    if (node.left->type == Type::String) {
        Value left_text = text_in_place(*node.left, {node.right.get()});
        Value right_text = text_in_place(*node.right, {});
        left = builder_.CreateCall(script_.runtime("djs_text_compare"), {left_text, right_text});
        right = script_.u32(0);
    } else {
        left = number(*node.left);
        right = number(*node.right);
    }
    switch (node.op) {
    case BinaryOp::Equal:
        return builder_.CreateICmpEQ(left, right);
    case BinaryOp::NotEqual:
        return builder_.CreateICmpNE(left, right);
    case BinaryOp::Less:
        return builder_.CreateICmpSLT(left, right);
    case BinaryOp::LessEqual:
        return builder_.CreateICmpSLE(left, right);
    case BinaryOp::Greater:
        return builder_.CreateICmpSGT(left, right);
    default:
        return builder_.CreateICmpSGE(left, right);
    }
}

Value Body::logical(const program::Logical& node) {
    Value left = condition(*node.left);
    auto *from = builder_.GetInsertBlock(), *more = block("more"), *joined = block("joined");
    builder_.CreateCondBr(left, node.conjunction ? more : joined, node.conjunction ? joined : more);
    begin(more);
    Value right = condition(*node.right);
    auto* from_more = builder_.GetInsertBlock();
    builder_.CreateBr(joined);
    begin(joined);
    auto* result = builder_.CreatePHI(script_.types.i1, 2);
    result->addIncoming(llvm::ConstantInt::getBool(script_.context, !node.conjunction), from);
    result->addIncoming(right, from_more);
    return result;
}

namespace {

bool reads_local(program::Expression& expression, uint32_t local) {
    bool found = false;
    program::walk_expressions(expression, [&](program::Expression& node) {
        found |= node.kind == ExpressionKind::LocalValue &&
                 program::as<program::LocalValue>(node).local == local;
    });
    return found;
}

} // namespace

// In a loop, `n = n & 1 ? … : …`: the next iteration's condition waits for this value. The
// processor predicts a branch and continues; a conditional move would make it wait for both
// alternatives.
bool Body::feeds_its_condition(const program::Assignment& node) const {
    return !loops_.empty() && node.value->kind == ExpressionKind::Conditional &&
           node.place->kind == ExpressionKind::LocalValue && node.type != Type::String &&
           reads_local(*program::as<program::Conditional>(*node.value).condition,
                       program::as<program::LocalValue>(*node.place).local);
}

void Body::choose(const program::Conditional& node, const UseValue& use) {
    auto *yes = block("yes"), *no = block("no"), *joined = block("joined");
    builder_.CreateCondBr(condition(*node.condition), yes, no);
    begin(yes);
    use(*node.then_value);
    builder_.CreateBr(joined);
    begin(no);
    use(*node.else_value);
    builder_.CreateBr(joined);
    begin(joined);
}

Value Body::conditional(const program::Conditional& node, bool keeps_branch) {
    bool is_text = node.type == Type::String;
    std::vector<std::pair<Value, llvm::BasicBlock*>> values;
    choose(node, [&](const program::Expression& value) {
        // keeps it a branch
        if (keeps_branch && values.empty())
            arch::emit_nothing(builder_);
        Value result = is_text ? text(value) : number(value);
        values.emplace_back(result, builder_.GetInsertBlock());
    });
    auto* result = builder_.CreatePHI(values.front().first->getType(), 2);
    for (const auto& [value, from] : values)
        result->addIncoming(value, from);
    return result;
}

Value Body::call(const program::Call& node, Value to) {
    const program::Function& function = *node.function;
    if (!function.body && function.intrinsic.empty())
        return embedded_call(node);
    bool is_intrinsic = !function.intrinsic.empty();
    const bool elsewhere = run_contexts_.task && function.intrinsic != "get_cycles";
    if (is_intrinsic && node.arguments.empty() && !elsewhere)
        if (Value value = inline_intrinsic(script_, builder_, function.intrinsic))
            return value;
    if (!elsewhere && is_parent(script_, node))
        return parent_process();
    if (is_intrinsic && is_read_inline(script_, function.intrinsic))
        return clock(function);
    if (const auto* only = ctx_ ? nullptr : only_value(node))
        return number(*only);
    if (!ctx_)
        if (const Attempt attempt = attempt_of(node); attempt.value)
            return attempted(node, attempt);
    const bool lines = function.intrinsic == "print_ubacktrace_fileline";
    if (function.intrinsic == "print_backtrace" || function.intrinsic == "print_ubacktrace" ||
        lines) {
        print_backtrace(function.intrinsic != "print_backtrace", lines);
        return script_.number(0);
    }
    // print_stack(), print_syms()
    if (node.arguments.size() == 1 && node.arguments[0]->type == Type::Stack) {
        builder_.CreateCall(script_.runtime("djs_print_stack"), {ctx_, stack(*node.arguments[0])});
        return script_.number(0);
    }
    bool yields_text = function.return_type == Type::String;
    std::vector<Value> arguments = values_of(node.arguments);
    Value out = nullptr;
    if (yields_text) {
        const bool is_read = std::find(arguments.begin(), arguments.end(), to) != arguments.end();
        out = to && !is_read ? to : scratch_text();
        arguments.insert(arguments.begin(), out);
    }
    arguments.insert(arguments.begin(), ctx_ ? ctx_ : script_.null());

    if (is_intrinsic)
        return call_intrinsic(function, arguments, out, node.range);

    Value result = call_body(function, std::move(arguments));
    check_call(function, node.range);
    return yields_text ? out : result;
}

// `arguments`: the context, `out` if it returns a string, and the parameters' values.
Value Body::call_body(const program::Function& function, std::vector<Value> arguments) {
    Value nesting_at = field(offsetof(djs_ctx, nesting), "nesting");
    if (function.counts_nesting) {
        Value nesting =
            builder_.CreateAdd(builder_.CreateLoad(script_.types.i32, nesting_at), script_.u32(1));
        fail_if(builder_.CreateICmpUGT(nesting,
                                       script_.u32(static_cast<uint32_t>(script_.max_nesting()))),
                "MAXNESTING exceeded", function.range);
        builder_.CreateStore(nesting, nesting_at);
    }
    calls_.push_back({scratch_top_, &function, function.counts_nesting});
    arguments.insert(arguments.begin() + 1,
                     builder_.CreateConstGEP1_32(script_.types.i8, scratch_base_, scratch_top_));
    Value result = builder_.CreateCall(script_.functions.at(&function).function, arguments);
    if (function.counts_nesting) {
        Value nesting = builder_.CreateLoad(script_.types.i32, nesting_at);
        builder_.CreateStore(builder_.CreateSub(nesting, script_.u32(1)), nesting_at);
    }
    return result;
}

Value Body::clock(const program::Function& function) {
    return read_kernel_clock(script_, builder_, function.intrinsic, [&]() -> Value {
        Value context = ctx_ ? ctx_ : script_.null();
        if (ctx_ || has_calls_)
            return builder_.CreateCall(script_.intrinsic(function), {context});
        return call_slow(script_, builder_, "djs_slow_" + function.intrinsic,
                         script_.intrinsic(function), {context});
    });
}

// `arguments`: the context, `out` if it returns a string, and the parameters' values.
Value Body::call_intrinsic(const program::Function& function, const std::vector<Value>& arguments,
                           Value out, SourceRange range) {
    auto* call = builder_.CreateCall(script_.intrinsic(function), arguments);
    if (function.intrinsic == "error") // the script's own message needs no place
        check_error();
    else if (function.effects.can_fail) // the runtime does not know where the call is
        check_error_at(range);
    return out                                  ? out
           : function.return_type == Type::Long ? static_cast<Value>(call)
                                                : script_.number(0);
}

Value Body::assignment(const program::Assignment& node) {
    bool is_text = node.type == Type::String;
    // The value is evaluated first: its calls may change the array that contains the place.
    Value right = is_text ? text(*node.value)
                  : feeds_its_condition(node)
                      ? conditional(program::as<program::Conditional>(*node.value), true)
                      : number(*node.value);
    if (node.op) // before an element is created
        check_divisor(*node.op, right, node.value->range);
    auto combined = [&](Value old) {
        if (!node.op)
            return right;
        if (!is_text)
            return arithmetic(*node.op, old, right);
        Value out = scratch_text();
        concatenate(out, old, right, out);
        return out;
    };
    switch (node.place->kind) {
    case ExpressionKind::LocalValue: {
        Value local = locals_[program::as<program::LocalValue>(*node.place).local];
        Value value = combined(
            is_text ? local : static_cast<Value>(builder_.CreateLoad(script_.types.i64, local)));
        if (is_text)
            copy_text(local, value);
        else
            builder_.CreateStore(value, local);
        return value;
    }
    case ExpressionKind::GlobalValue: {
        const auto& place = program::as<program::GlobalValue>(*node.place);
        if (script_.storage(*place.global).kind == GlobalStorage::Kind::Counter && node.op) {
            add_to_counter(place,
                           *node.op == BinaryOp::Subtract ? builder_.CreateNeg(right) : right);
            return right; // unused: storage is then always per-CPU
        }
        if (node.op)
            return update_global(place, combined).second;
        write_global(place, right);
        return right;
    }
    case ExpressionKind::TargetValue: {
        const auto& place = program::as<program::TargetValue>(*node.place);
        if (is_text && node.op) { // in place: a file's content may be longer than a string
            builder_.CreateCall(script_.runtime("djs_file_append"), {ctx_, right});
            return target_value(place);
        }
        if (node.op)
            return change_target(place, combined).second;
        write_target(place, right);
        return right;
    }
    default:
        script_.unexpected(node.range, "an assignment to no place");
        return script_.number(0);
    }
}

Value Body::increment(const program::Increment& node) {
    Value delta = script_.number(node.decrement ? -1 : 1);
    auto change = [&](Value old) { return builder_.CreateAdd(old, delta); };
    std::pair<Value, Value> values; // old, new
    if (node.place->kind == ExpressionKind::LocalValue) {
        Value local = locals_[program::as<program::LocalValue>(*node.place).local];
        values.first = builder_.CreateLoad(script_.types.i64, local);
        values.second = change(values.first);
        builder_.CreateStore(values.second, local);
    } else if (node.place->kind == ExpressionKind::GlobalValue) {
        const auto& place = program::as<program::GlobalValue>(*node.place);
        if (script_.storage(*place.global).kind == GlobalStorage::Kind::Counter) {
            add_to_counter(place, delta);
            return delta; // unused: storage is then always per-CPU
        }
        values = update_global(place, change);
    } else if (node.place->kind == ExpressionKind::TargetValue) {
        values = change_target(program::as<program::TargetValue>(*node.place), change);
    }
    return node.prefix ? values.second : values.first;
}

} // namespace djstap::codegen
