// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/body.h"

#include "include/script.h"

#include <llvm/IR/Constants.h>

namespace djstap::codegen {

using program::StatementKind;

void Body::statement(const program::Statement& node) {
    if (terminated())
        return;
    // A statement's scratch memory is free again after it; a block's locals stay.
    uint32_t top = scratch_top_;
    switch (node.kind) {
    case StatementKind::Block:
        for (const auto& inner : program::as<program::Block>(node).statements)
            statement(*inner);
        break;
    case StatementKind::Evaluate:
        effect(*program::as<program::Evaluate>(node).expression);
        charge_action(node.range);
        break;
    case StatementKind::If:
        if_statement(program::as<program::If>(node));
        break;
    case StatementKind::Loop:
        loop(program::as<program::Loop>(node));
        break;
    case StatementKind::Foreach:
        foreach (program::as<program::Foreach>(node))
            ;
        break;
    case StatementKind::Break:
        charge_action(node.range, true);
        jump(loops_.back().on_break);
        break;
    case StatementKind::Continue:
        charge_action(node.range, true);
        jump(loops_.back().on_continue);
        break;
    case StatementKind::Next:
        charge_action(node.range, true);
        jump(next_);
        break;
    case StatementKind::Return:
        return_statement(program::as<program::Return>(node));
        break;
    case StatementKind::Delete:
        delete_statement(program::as<program::Delete>(node));
        charge_action(node.range);
        break;
    case StatementKind::TryCatch:
        try_catch(program::as<program::TryCatch>(node));
        break;
    case StatementKind::EmbeddedStatement:
        embedded_statement(program::as<program::EmbeddedStatement>(node));
        charge_action(node.range);
        break;
    }
    scratch_top_ = top;
}

void Body::if_statement(const program::If& node) {
    auto *then_block = block("then"), *after = block("after");
    auto* else_block = node.else_branch ? block("else") : after;
    charge_action(node.range, true);
    builder_.CreateCondBr(condition(*node.condition), then_block, else_block);
    begin(then_block);
    branch(*node.then_branch);
    jump(after);
    if (node.else_branch) {
        begin(else_block);
        branch(*node.else_branch);
        jump(after);
    }
    begin(after);
}

// The charges of a branch or a loop's body fall due at its end.
void Body::branch(const program::Statement& node) {
    statement(node);
    settle_actions(node.range);
}

// Each iteration is charged one statement, together with the first charge of its body. The charges
// of a step fall due after the loop, once.
void Body::loop(const program::Loop& node) {
    if (node.init) {
        effect(*node.init);
        charge_action(node.init->range);
    }
    charge_action(node.range, true);
    auto *head = block("loop"), *body = block("body"), *step = block("step"), *done = block("done");
    jump(head);
    begin(head);
    charge_action(node.range);
    if (node.condition)
        builder_.CreateCondBr(condition(*node.condition), body, done);
    else
        jump(body);
    begin(body);
    loops_.push_back({done, step});
    branch(*node.body);
    loops_.pop_back();
    jump(step);
    begin(step);
    if (node.step) {
        effect(*node.step);
        charge_action(node.step->range);
    }
    jump(head);
    begin(done);
}

void Body::foreach (const program::Foreach& node) {
    if (node.histogram) {
        foreach_bucket(node);
        return;
    }
    const program::Global& array = *node.array;
    uint32_t fixed = 0;
    Value slice = script_.null();
    if (!node.slice.empty())
        slice = keys(array, node.slice, &fixed, true);
    Value limit = node.limit ? number(*node.limit) : static_cast<Value>(script_.number(-1));
    if (node.limit) // a negative limit means no iterations
        limit = builder_.CreateSelect(builder_.CreateICmpSLT(limit, script_.number(0)),
                                      script_.number(0), limit);
    auto* iterator = script_.iterator(node, fixed, run_contexts_);
    Value under_way = entry_alloca(
        llvm::ArrayType::get(script_.types.i64, (sizeof(djs_foreach) + 7) / 8), "foreach");
    builder_.CreateCall(script_.runtime("djs_foreach_begin"),
                        {ctx_, under_way, builder_.CreateLoad(script_.types.pointer, iterator),
                         slice, limit, array_place(array, node.range)});
    check_error();
    auto next = [&](llvm::BasicBlock* done) {
        Value element =
            builder_.CreateCall(script_.runtime("djs_foreach_next"), {ctx_, under_way}, "element");
        auto *more = block("more"), *over = block("over");
        builder_.CreateCondBr(builder_.CreateICmpNE(element, script_.u32(0)), more, over);
        begin(over);
        check_error();
        builder_.CreateBr(done);
        begin(more);
        return element;
    };
    iterate(node, next, [&](Value element) { bind_element(node, element); });
}

void Body::bind_element(const program::Foreach& node, Value element) {
    const program::Global& array = *node.array;
    Value the_map = map(array);
    for (size_t i = 0; i < node.keys.size(); i++) {
        Value key = builder_.CreateCall(script_.runtime("djs_map_key"),
                                        {the_map, element, script_.u32(static_cast<uint32_t>(i))});
        Value local = locals_[node.keys[i]];
        if (array.keys[i] == program::Type::Stack) {
            const bool as_text = local_declarations_[node.keys[i]].type == program::Type::String;
            builder_.CreateCall(script_.runtime(as_text ? "djs_stack_text" : "djs_copy_stack"),
                                {local, builder_.CreateIntToPtr(key, script_.types.pointer)});
        } else if (array.keys[i] == program::Type::String)
            copy_text(local, builder_.CreateIntToPtr(key, script_.types.pointer));
        else
            builder_.CreateStore(key, local);
    }
    if (!node.value)
        return;
    Value value = builder_.CreateCall(script_.runtime("djs_map_value"), {the_map, element});
    Value local = locals_[*node.value];
    if (array.value == program::Type::String)
        copy_text(local, value);
    else
        builder_.CreateStore(builder_.CreateLoad(script_.types.i64, value), local);
}

void Body::iterate(const program::Foreach& node,
                   const std::function<Value(llvm::BasicBlock* done)>& next,
                   const std::function<void(Value at)>& bind) {
    charge_action(node.range, true);
    auto *head = block("foreach"), *step = block("step"), *done = block("done");
    jump(head);
    begin(head);
    charge_action(node.range);
    bind(next(done));
    loops_.push_back({done, step});
    branch(*node.body);
    loops_.pop_back();
    jump(step);
    begin(step);
    jump(head);
    begin(done);
}

void Body::return_statement(const program::Return& node) {
    if (node.value) {
        if (text_result_)
            text_into(text_result_, *node.value);
        else if (number_result_)
            builder_.CreateStore(number(*node.value), number_result_);
        else
            effect(*node.value);
    }
    charge_action(node.range, true);
    jump(exit_);
}

void Body::delete_statement(const program::Delete& node) {
    const GlobalStorage& storage = script_.storage(*node.global);
    using Kind = GlobalStorage::Kind;
    switch (storage.kind) {
    case Kind::Constant:
        break;
    case Kind::Counter:
        builder_.CreateCall(script_.runtime("djs_counter_clear"), {script_.u32(storage.index)});
        break;
    case Kind::PerCpuStatistic:
        builder_.CreateCall(script_.runtime("djs_statistic_clear"), {script_.u32(storage.index)});
        break;
    case Kind::Number:
        builder_.CreateStore(script_.number(0), storage.variable);
        break;
    case Kind::Text:
        builder_.CreateStore(llvm::ConstantInt::get(script_.types.i8, 0), storage.variable);
        break;
    case Kind::Statistic: {
        auto bytes =
            script_.module.getDataLayout().getTypeAllocSize(storage.variable->getValueType());
        builder_.CreateCall(
            script_.runtime("memset"),
            {storage.variable, script_.u32(0), script_.number(static_cast<int64_t>(bytes))});
        break;
    }
    case Kind::Map:
        if (node.keys.empty()) {
            builder_.CreateStore(
                builder_.CreateCall(script_.runtime("djs_map_clear"), {map(*node.global)}),
                storage.variable);
        } else if (has_slots(*node.global) && node.keys[0]) {
            Value key = number(*node.keys[0]);
            builder_.CreateCall(script_.runtime("djs_map_erase_slot"), {map(*node.global), key});
        } else {
            uint32_t fixed = 0;
            Value key_values = keys(*node.global, node.keys, &fixed);
            bool whole = fixed == (1u << node.keys.size()) - 1;
            if (whole)
                builder_.CreateCall(script_.runtime("djs_map_erase"),
                                    {map(*node.global), key_values});
            else
                erase_slice(node, key_values, fixed);
        }
        break;
    }
}

void Body::erase_slice(const program::Delete& node, Value key_values, uint32_t fixed) {
    builder_.CreateCall(script_.runtime("djs_erase_slice"),
                        {ctx_, script_.u32(script_.storage(*node.global).index), key_values,
                         script_.u32(fixed), array_place(*node.global, node.range)});
    check_error();
}

namespace {

bool is_next(const program::Statement& handler) {
    if (handler.kind != StatementKind::Block)
        return handler.kind == StatementKind::Next;
    const auto& statements = program::as<program::Block>(handler).statements;
    return statements.size() == 1 && is_next(*statements.front());
}

} // namespace

// Nothing is caught after abort(), nor if no statements are left, unless the catch only ends the
// handler (--suppress-handler-errors).
void Body::try_catch(const program::TryCatch& node) {
    auto *failed = block("failed"), *caught = block("catch"), *after = block("after_try");
    settle_actions(node.range);
    auto* outer = error_;
    error_ = failed;
    branch(*node.body);
    error_ = outer;
    jump(after);
    begin(failed);
    Value lost = builder_.getFalse();
    const bool ends_handler = is_next(*node.handler);
    if (counts_actions_ && !ends_handler)
        lost = builder_.CreateICmpSLE(
            load_field(offsetof(djs_ctx, actions), script_.types.i32, "actions"), script_.u32(0));
    if (script_.can_abort())
        lost =
            builder_.CreateOr(lost, builder_.CreateIsNotNull(load_field(
                                        offsetof(djs_ctx, aborted), script_.types.i32, "aborted")));
    branch_unlikely(lost, error_, caught);
    begin(caught);
    Value error = field(offsetof(djs_ctx, error), "error");
    if (node.message)
        copy_text(locals_[*node.message], builder_.CreateLoad(script_.types.pointer, error));
    builder_.CreateStore(script_.null(), error);
    if (ends_handler) {
        jump(next_);
    } else {
        charge_action(node.range, true);
        branch(*node.handler);
    }
    jump(after);
    begin(after);
}

} // namespace djstap::codegen
