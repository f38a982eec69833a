// SPDX-License-Identifier: GPL-2.0-or-later
// Statements, and bodies as a whole.
#include "diagnostics/suggest.h"
#include "semantics/lower.h"

namespace djstap::semantics {

using program::Type;

void Lowering::function(FunctionState& function) {
    const ast::Function& declaration = *function.declaration;
    if (declaration.embedded_code) {
        const std::string& code = *declaration.embedded_code;
        function.node->embedded_globals = embedded_globals(code, *function.file, declaration.range);
        function.node->unmangled = options_.unmangled || has_pragma(code, "unmangled");
        for (size_t i = 0; i < function.parameters.size(); ++i)
            typed_locals_.emplace_back(&function.node->locals[i], function.parameters[i]);
        return;
    }
    Body body;
    body.file = function.file;
    body.function = &function;
    body.locals = &function.node->locals;
    for (size_t i = 0; i < function.parameters.size(); ++i) {
        body.index.emplace(declaration.parameters[i].name, static_cast<uint32_t>(i));
        body.states.push_back({function.parameters[i], {}, true});
    }
    body_ = &body;
    function.node->body.reset(static_cast<program::Block*>(block(*declaration.body).release()));
    finish_body(body);
}

void Lowering::condition(program::ExpressionPtr& slot, const ast::Expression& node) {
    if (node.kind == ast::ExpressionKind::Assignment && !names_.in_library(node.range)) {
        const auto& assignment = ast::as<ast::Assignment>(node);
        if (assignment.form == ast::Assignment::Kind::Plain && !assignment.parenthesized)
            diagnostics_.report(DiagnosticKind::AssignmentAsCondition, node.range)
                .hint("'==' compares; put an intended assignment in its own parentheses");
    }
    Value value = expression(node);
    require(value, node, Type::Long, "compare it: … != \"\"");
    slot = std::move(value.node);
}

std::unique_ptr<program::Probe> Lowering::probe(const ProbeGroup& group, SourceRange range) {
    auto to = std::make_unique<program::Probe>();
    to->range = range;
    to->points = group.points;
    to->alias_names = group.alias_names;
    to->point_numbers = group.point_numbers;
    to->sufficient = group.sufficient;
    to->is_return = group.is_return;
    for (const ast::ProbePoint* point : group.points)
        to->point_traits.push_back(options_.points.traits(*point));
    Body body;
    body.probe = to.get();
    body.locals = &to->locals;
    body_ = &body;
    body.mode = Body::Mode::Condition;
    for (const ConditionPart& part : group.conditions) {
        body.file = part.file;
        if (!to->condition) {
            condition(to->condition, *part.expression);
            continue;
        }
        // A second condition, of an alias: both must hold. The slot of the first one may still be
        // rewritten in place, so it stays where it is and the new one is put into a node above it.
        auto both = make<program::Logical>(part.expression->range);
        both->conjunction = true;
        condition(both->left, *part.expression);
        extra_conditions_.push_back({to.get(), std::move(both)});
    }
    body.mode = Body::Mode::Normal;
    auto whole = make<program::Block>(group.body.empty() ? range : group.body.back().block->range);
    for (const BodyPart& part : group.body) {
        body.file = part.file;
        body.own_part = part.own;
        // What a library's alias calls by that name is another variable than the script's global.
        std::erase_if(body.index, [&](const auto& local) {
            return names_.global(local.first, *part.file) != nullptr;
        });
        whole->statements.push_back(block(*part.block));
    }
    for (auto& [number, name] : body.asked_writes)
        number->value = body.own_writes.count(name);
    // Most probes have one part: it needs no block around its block.
    if (whole->statements.size() == 1)
        to->body.reset(static_cast<program::Block*>(whole->statements.front().release()));
    else
        to->body = std::move(whole);
    if (options_.suppress_errors)
        suppress_errors(*to);
    finish_body(body);
    return to;
}

// try { … } catch { next }
void Lowering::suppress_errors(program::Probe& probe) {
    probe.suppresses_errors = true;
    auto attempt = make<program::TryCatch>(probe.range);
    attempt->body = std::move(probe.body);
    auto handler = make<program::Block>(probe.range);
    handler->statements.push_back(make<program::Next>(probe.range));
    attempt->handler = std::move(handler);
    probe.body = make<program::Block>(probe.range);
    probe.body->statements.push_back(std::move(attempt));
}

void Lowering::finish_body(Body& body) {
    for (size_t i = 0; i < body.states.size(); ++i) {
        const LocalState& state = body.states[i];
        const program::Local& local = (*body.locals)[i];
        if (!state.written && state.read_at.valid())
            never_written_.push_back(
                {local.name, state.read_at, state.type, nearest_variable(local.name)});
    }
    for (size_t i = 0; i < body.states.size(); ++i)
        typed_locals_.emplace_back(&(*body.locals)[i], body.states[i].type);
    body_ = nullptr;
}

program::StatementPtr Lowering::block(const ast::Block& node) {
    auto to = make<program::Block>(node.range);
    for (const ast::StatementPtr& item : node.statements)
        if (program::StatementPtr lowered = statement(*item))
            to->statements.push_back(std::move(lowered));
    return to;
}

program::StatementPtr Lowering::branch(const ast::StatementPtr& node) {
    if (!node)
        return nullptr;
    program::StatementPtr lowered = statement(*node);
    return lowered ? std::move(lowered) : make<program::Block>(node->range);
}

program::StatementPtr Lowering::statement(const ast::Statement& node) {
    switch (node.kind) {
    case ast::StatementKind::Block:
        return block(ast::as<ast::Block>(node));
    case ast::StatementKind::ExpressionStatement: {
        auto to = make<program::Evaluate>(node.range);
        to->expression =
            expression(*ast::as<ast::ExpressionStatement>(node).expression, false).node;
        return to;
    }
    case ast::StatementKind::Null:
        return nullptr;
    case ast::StatementKind::If: {
        const auto& from = ast::as<ast::If>(node);
        auto to = make<program::If>(node.range);
        condition(to->condition, *from.condition);
        to->then_branch = branch(from.then_branch);
        to->else_branch = branch(from.else_branch);
        return to;
    }
    case ast::StatementKind::While:
        return loop(&ast::as<ast::While>(node), nullptr, node.range);
    case ast::StatementKind::For:
        return loop(nullptr, &ast::as<ast::For>(node), node.range);
    case ast::StatementKind::Foreach:
        return foreach (ast::as<ast::Foreach>(node));
    case ast::StatementKind::Break:
    case ast::StatementKind::Continue:
    case ast::StatementKind::Next:
        return jump(node);
    case ast::StatementKind::Return:
        return return_statement(ast::as<ast::Return>(node));
    case ast::StatementKind::Delete:
        return delete_statement(ast::as<ast::Delete>(node));
    case ast::StatementKind::TryCatch:
        return try_catch(ast::as<ast::TryCatch>(node));
    case ast::StatementKind::EmbeddedStatement:
        return embedded(ast::as<ast::EmbeddedStatement>(node));
    }
    return nullptr;
}

program::StatementPtr Lowering::jump(const ast::Statement& node) {
    if (node.kind == ast::StatementKind::Next)
        return make<program::Next>(node.range);
    const bool is_break = node.kind == ast::StatementKind::Break;
    if (body_->loops == 0)
        diagnostics_
            .report(DiagnosticKind::OutsideLoop, node.range, {is_break ? "break" : "continue"})
            .hint(body_->probe ? "'next' ends the probe's handler" : "'return' ends the function");
    if (is_break)
        return make<program::Break>(node.range);
    return make<program::Continue>(node.range);
}

program::StatementPtr Lowering::loop(const ast::While* while_node, const ast::For* for_node,
                                     SourceRange range) {
    auto to = make<program::Loop>(range);
    if (for_node && for_node->init)
        to->init = expression(*for_node->init, false).node;
    if (while_node)
        condition(to->condition, *while_node->condition);
    else if (for_node->condition)
        condition(to->condition, *for_node->condition);
    ++body_->loops;
    to->body = branch(while_node ? while_node->body : for_node->body);
    --body_->loops;
    if (for_node && for_node->step)
        to->step = expression(*for_node->step, false).node;
    return to;
}

program::StatementPtr Lowering::return_statement(const ast::Return& node) {
    auto to = make<program::Return>(node.range);
    if (!node.value)
        return to;
    Value value = expression(*node.value);
    FunctionState& function = *body_->function;
    function.returns_value = true;
    agree(function.result, value.type, "the value returned by '" + function.declaration->name + "'",
          node.value->range);
    note_source(function.node.get(), 0, *value.node);
    to->value = std::move(value.node);
    return to;
}

program::StatementPtr Lowering::delete_statement(const ast::Delete& node) {
    const ast::Expression& erased = *node.erased;
    auto to = make<program::Delete>(node.range);
    if (erased.kind == ast::ExpressionKind::Identifier) {
        const std::string& name = ast::as<ast::Identifier>(erased).name;
        if (body_->index.count(name) || !names_.global(name, *body_->file)) {
            // A local scalar: set to 0 or "".
            Value value = place(erased);
            auto reset = make<program::Assignment>(node.range);
            reset->value_used = false;
            reset->place = std::move(value.node);
            program::Assignment* raw = reset.get();
            deferred_.push_back([this, raw, type = value.type] {
                if (types_.get(type) == Type::String && !types_.is_poison(type)) {
                    raw->value = make<program::Text>(raw->range);
                    raw->value->type = Type::String;
                } else {
                    raw->value = make<program::Number>(raw->range);
                }
            });
            auto evaluate = make<program::Evaluate>(node.range);
            evaluate->expression = std::move(typed(std::move(reset), value.type).node);
            return evaluate;
        }
    }
    const std::vector<ast::ExpressionPtr>* indexes = nullptr;
    GlobalState* global = global_of(erased, &indexes);
    if (!global)
        return to;
    check_not_iterated(*global, erased.range);
    to->global = global->node.get();
    if (indexes)
        to->keys = keys(*global, *indexes, true, erased.range);
    return to;
}

uint32_t Lowering::given_variable(const std::string& name, SourceRange range,
                                  DiagnosticKind array_kind,
                                  std::vector<program::StatementPtr>& prologue) {
    GlobalState* global = body_->index.count(name) ? nullptr : names_.global(name, *body_->file);
    if (!global) {
        const uint32_t index = local(name, range);
        body_->states[index].written = true;
        return index;
    }
    const bool is_array =
        global->declaration->size || global->declaration->wrap || global->arity.value_or(0) > 0;
    if (is_array)
        diagnostics_.report(array_kind, range, {name});
    const auto index = static_cast<uint32_t>(body_->locals->size());
    body_->locals->push_back({name, Type::Long, range});
    body_->states.push_back({types_.fresh(), {}, true});
    const TypeVar type = body_->states[index].type;
    if (is_array || !key_count(*global, 0, range))
        return index;
    value_uses_.push_back({global, range});
    agree(global->value, type, "'" + name + "'", range);
    auto place = make<program::GlobalValue>(range);
    place->global = global->node.get();
    auto value = make<program::LocalValue>(range);
    value->local = index;
    auto assignment = make<program::Assignment>(range);
    assignment->value_used = false;
    assignment->place = typed(std::move(place), type).node;
    assignment->value = typed(std::move(value), type).node;
    auto statement = make<program::Evaluate>(range);
    statement->expression = typed(std::move(assignment), type).node;
    prologue.push_back(std::move(statement));
    return index;
}

program::StatementPtr Lowering::with_prologue(std::vector<program::StatementPtr> prologue,
                                              program::StatementPtr body) {
    if (prologue.empty())
        return body;
    auto whole = make<program::Block>(body->range);
    whole->statements = std::move(prologue);
    whole->statements.push_back(std::move(body));
    return whole;
}

program::StatementPtr Lowering::try_catch(const ast::TryCatch& node) {
    auto to = make<program::TryCatch>(node.range);
    to->body = branch(node.body);
    std::vector<program::StatementPtr> prologue;
    if (!node.variable.empty()) {
        to->message = given_variable(node.variable, node.variable_range,
                                     DiagnosticKind::CatchVariable, prologue);
        agree(body_->states[*to->message].type, types_.of(Type::String, node.variable_range),
              "'" + node.variable + "'", node.variable_range);
    }
    to->handler = with_prologue(std::move(prologue), branch(node.handler));
    return to;
}

program::StatementPtr Lowering::foreach (const ast::Foreach& node) {
    auto to = make<program::Foreach>(node.range);
    to->ascending = node.ascending;
    to->sort_key = node.sort_key;
    GlobalState* global = nullptr;
    bool histogram = false;
    if (node.array->kind == ast::ExpressionKind::StatisticOp) {
        histogram = true;
        const auto& operation = ast::as<ast::StatisticOp>(*node.array);
        to->histogram_op = operation.op;
        to->histogram = bucket(operation, nullptr).node;
    } else {
        const std::vector<ast::ExpressionPtr>* none = nullptr;
        global = global_of(*node.array, &none);
    }
    bool fits = histogram ? node.keys.size() == 1 : global != nullptr;
    if (histogram && !fits)
        diagnostics_.report(DiagnosticKind::KeyCount, node.array->range,
                            {"a histogram", "with " + count_text(node.keys.size(), "key")});
    if (histogram && (node.sort_key == 0 || node.sort_stat))
        diagnostics_.report(DiagnosticKind::HistogramSort, node.sort_range)
            .hint("sort by the bucket's number: foreach (bucket- in …)");
    if (global) {
        to->array = global->node.get();
        fits = key_count(*global, node.keys.size(), node.array->range);
        if (fits && !node.slice.empty())
            to->slice = keys(*global, node.slice, true, node.array->range);
    }
    if (node.limit)
        to->limit = expect(*node.limit, Type::Long);
    if (node.sort_key > static_cast<int>(node.keys.size()))
        diagnostics_.report(DiagnosticKind::ForeachSortKey, node.sort_range,
                            {std::to_string(node.sort_key), count_text(node.keys.size(), "key")});
    if (node.sort_stat) {
        to->sort_stat = *node.sort_stat;
        if (global)
            agree(global->value,
                  types_.of(Type::Statistic,
                            node.sort_range.valid() ? node.sort_range : node.array->range),
                  "'" + global->declaration->name + "'", node.array->range);
    }
    std::vector<program::StatementPtr> prologue;
    for (size_t i = 0; i < node.keys.size(); ++i) {
        const SourceRange range = i < node.key_ranges.size() ? node.key_ranges[i] : node.range;
        const uint32_t index =
            given_variable(node.keys[i], range, DiagnosticKind::ForeachVariable, prologue);
        to->keys.push_back(index);
        if (fits)
            agree(global ? global->keys[i] : types_.of(Type::Long, range),
                  body_->states[index].type, "'" + node.keys[i] + "'", range);
        else // already reported
            types_.unify(body_->states[index].type, types_.poison());
    }
    if (!node.value.empty()) {
        const uint32_t index =
            given_variable(node.value, node.value_range, DiagnosticKind::ForeachVariable, prologue);
        to->value = index;
        const TypeVar type = body_->states[index].type;
        if (!fits)
            types_.unify(type, types_.poison());
        else if (!global)
            agree(types_.of(Type::Long, node.value_range), type, "'" + node.value + "'",
                  node.value_range);
        else
            foreach_values_.push_back({global, type, node.value, node.value_range});
    }
    if (global)
        body_->iterating.emplace_back(global, node.range);
    ++body_->loops;
    to->body = with_prologue(std::move(prologue), branch(node.body));
    --body_->loops;
    if (global)
        body_->iterating.pop_back();
    return to;
}

} // namespace djstap::semantics
