#include "codegen/body.h"

#include "include/script.h"

#include <llvm/IR/Constants.h>

namespace djstap::codegen {

using program::StatementKind;

void Body::statement(const program::Statement& node) {
    if (terminated())
        return;
    // What a statement needs of scratch memory is free again after it; a block's locals stay.
    uint32_t top = scratch_top_;
    if (node.kind != StatementKind::Block)
        count_action(node.range);
    switch (node.kind) {
    case StatementKind::Block:
        for (const auto& inner : program::as<program::Block>(node).statements)
            statement(*inner);
        break;
    case StatementKind::Evaluate:
        effect(*program::as<program::Evaluate>(node).expression);
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
        jump(loops_.back().on_break);
        break;
    case StatementKind::Continue:
        jump(loops_.back().on_continue);
        break;
    case StatementKind::Next:
        jump(next_);
        break;
    case StatementKind::Return:
        return_statement(program::as<program::Return>(node));
        break;
    case StatementKind::Delete:
        delete_statement(program::as<program::Delete>(node));
        break;
    case StatementKind::TryCatch:
        try_catch(program::as<program::TryCatch>(node));
        break;
    case StatementKind::EmbeddedStatement:
        embedded_statement(program::as<program::EmbeddedStatement>(node));
        break;
    }
    scratch_top_ = top;
}

void Body::if_statement(const program::If& node) {
    auto *then_block = block("then"), *after = block("after");
    auto* else_block = node.else_branch ? block("else") : after;
    Value value = condition(*node.condition);
    flush_actions();
    builder_.CreateCondBr(value, then_block, else_block);
    begin(then_block);
    statement(*node.then_branch);
    jump(after);
    if (node.else_branch) {
        begin(else_block);
        statement(*node.else_branch);
        jump(after);
    }
    begin(after);
}

void Body::loop(const program::Loop& node) {
    if (node.init)
        effect(*node.init);
    auto *head = block("loop"), *body = block("body"), *step = block("step"), *done = block("done");
    jump(head);
    begin(head);
    check_actions(node.range);
    if (node.condition) {
        Value go_on = condition(*node.condition);
        flush_actions();
        builder_.CreateCondBr(go_on, body, done);
    } else {
        jump(body);
    }
    begin(body);
    loops_.push_back({done, step});
    statement(*node.body);
    loops_.pop_back();
    jump(step);
    begin(step);
    count_action(node.range);
    if (node.step)
        effect(*node.step);
    jump(head);
    begin(done);
}

void Body::foreach (const program::Foreach& node) {
    if (node.histogram) {
        foreach_bucket(node);
        return;
    }
    const program::Global& array = *node.array;
    const GlobalStorage& storage = script_.storage(array);
    bool sorts = node.sort_key >= 0;
    auto* order_variable = script_.iterator(storage.index, sorts);
    uint32_t fixed = 0;
    Value slice = script_.null();
    if (!node.slice.empty())
        slice = keys(array, node.slice, &fixed);
    Value limit = node.limit ? number(*node.limit) : static_cast<Value>(script_.number(-1));
    if (node.limit) // a limit below zero means none of them
        limit = builder_.CreateSelect(builder_.CreateICmpSLT(limit, script_.number(0)),
                                      script_.number(0), limit);
    auto* how = script_.constant(
        llvm::ConstantStruct::get(
            script_.types.map_order,
            {script_.word(static_cast<uint32_t>(node.sort_key)), script_.word(node.ascending),
             script_.word(static_cast<uint32_t>(node.sort_stat)), script_.word(fixed)}),
        "djs_order_of");
    Value order = builder_.CreateLoad(script_.types.pointer, order_variable, "order");
    Value the_map = map(array);
    Value count = builder_.CreateCall(script_.runtime("djs_map_list"),
                                      {the_map, how, slice, limit, order}, "count");

    iterate(node, count, [&](Value at) {
        Value element = builder_.CreateLoad(
            script_.types.i32, builder_.CreateGEP(script_.types.i32, order, at), "element");
        for (size_t i = 0; i < node.keys.size(); i++) {
            Value key =
                builder_.CreateCall(script_.runtime("djs_map_key"),
                                    {the_map, element, script_.word(static_cast<uint32_t>(i))});
            Value local = locals_[node.keys[i]];
            if (array.keys[i] == program::Type::String)
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
        else // a statistic begins with its count
            builder_.CreateStore(builder_.CreateLoad(script_.types.i64, value), local);
    });
}

void Body::iterate(const program::Foreach& node, Value count,
                   const std::function<void(Value at)>& bind) {
    llvm::Type* type = count->getType();
    auto* index = entry_alloca(type, "index");
    builder_.CreateStore(llvm::ConstantInt::get(type, 0), index);
    auto *head = block("foreach"), *body = block("body"), *step = block("step"),
         *done = block("done");
    jump(head);
    begin(head);
    check_actions(node.range);
    Value at = builder_.CreateLoad(type, index);
    flush_actions();
    builder_.CreateCondBr(builder_.CreateICmpULT(at, count), body, done);
    begin(body);
    bind(at);
    loops_.push_back({done, step});
    statement(*node.body);
    loops_.pop_back();
    jump(step);
    begin(step);
    count_action(node.range);
    Value next =
        builder_.CreateAdd(builder_.CreateLoad(type, index), llvm::ConstantInt::get(type, 1));
    builder_.CreateStore(next, index);
    jump(head);
    begin(done);
}

void Body::return_statement(const program::Return& node) {
    if (node.value) {
        if (text_result_)
            copy_text(text_result_, text(*node.value));
        else if (number_result_)
            builder_.CreateStore(number(*node.value), number_result_);
        else
            effect(*node.value);
    }
    jump(exit_);
}

void Body::delete_statement(const program::Delete& node) {
    const GlobalStorage& storage = script_.storage(*node.global);
    using Kind = GlobalStorage::Kind;
    switch (storage.kind) {
    case Kind::Constant:
        break;
    case Kind::Counter:
        builder_.CreateCall(script_.runtime("djs_counter_clear"), {script_.word(storage.index)});
        break;
    case Kind::PerCpuStatistic:
        builder_.CreateCall(script_.runtime("djs_statistic_clear"), {script_.word(storage.index)});
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
            {storage.variable, script_.word(0), script_.number(static_cast<int64_t>(bytes))});
        break;
    }
    case Kind::Map:
        if (node.keys.empty()) {
            builder_.CreateCall(script_.runtime("djs_map_clear"), {map(*node.global)});
        } else {
            uint32_t fixed = 0;
            Value key_values = keys(*node.global, node.keys, &fixed);
            bool whole = fixed == (1u << node.keys.size()) - 1;
            if (whole)
                builder_.CreateCall(script_.runtime("djs_map_erase"),
                                    {map(*node.global), key_values});
            else
                builder_.CreateCall(script_.runtime("djs_map_erase_slice"),
                                    {map(*node.global), key_values, script_.word(fixed)});
        }
        break;
    }
}

namespace {

bool is_next(const program::Statement& handler) {
    if (handler.kind != StatementKind::Block)
        return handler.kind == StatementKind::Next;
    const auto& statements = program::as<program::Block>(handler).statements;
    return statements.size() == 1 && is_next(*statements.front());
}

} // namespace

void Body::try_catch(const program::TryCatch& node) {
    auto *caught = block("catch"), *after = block("after_try");
    auto* outer = error_;
    error_ = caught;
    statement(*node.body);
    error_ = outer;
    jump(after);
    begin(caught);
    Value error = field(offsetof(djs_ctx, error), "error");
    if (node.message)
        copy_text(locals_[*node.message], builder_.CreateLoad(script_.types.pointer, error));
    builder_.CreateStore(script_.null(), error);
    // An error by exhaustion must not be caught for ever: only where the handler ends at once.
    if (!is_next(*node.handler))
        check_actions(node.range);
    statement(*node.handler);
    jump(after);
    begin(after);
}

} // namespace djstap::codegen
