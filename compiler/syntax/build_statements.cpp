// SPDX-License-Identifier: GPL-2.0-or-later
#include "syntax/builder.h"

#include <algorithm>
#include <array>

namespace djstap::syntax {

using P = Builder::P;

namespace {

// Returns the name that a statement consists of or calls, if it does nothing else.
const Token* sole_name(P::StatementContext& statement) {
    if (!statement.value || statement.start->getType() == P::ReturnValue ||
        statement.start->getType() == P::Delete)
        return nullptr;
    P::PostfixContext* operand = statement.value->operand;
    if (!operand || !operand->steps.empty() || operand->crement || operand->address ||
        !operand->base->token)
        return nullptr;
    const Token& token = as_token(operand->base->token);
    return token.type == P::Identifier || token.type == P::CallName ? &token : nullptr;
}

template <size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 4> else_ifs{"elif", "elsif", "elseif", "elsf"};
constexpr std::array<std::string_view, 3> foreign_statements{"switch", "unless", "until"};
constexpr std::array<std::string_view, 30> declarators{
    "int",      "char",     "short",    "unsigned", "signed",  "void",   "bool",    "float",
    "double",   "struct",   "union",    "enum",     "const",   "static", "size_t",  "uint8_t",
    "uint16_t", "uint32_t", "uint64_t", "int8_t",   "int16_t", "var",    "int32_t", "int64_t",
    "let",      "local",    "my",       "u32",      "u64",     "auto"};

} // namespace

// Reports words of other languages that parse as a variable or a call and would otherwise surface
// much later as unknown names.
void Builder::check_foreign_habits(const std::vector<P::StatementContext*>& statements) {
    for (size_t i = 0; i + 1 < statements.size(); i++) {
        const Token* name = sole_name(*statements[i]);
        if (!name)
            continue;
        P::StatementContext& next = *statements[i + 1];
        const Token& end = as_token(statements[i]->stop);
        if (end.type == P::Semicolon)
            continue;
        if (name->type == P::CallName && next.compound && next.start->getType() == P::OpenBrace) {
            if (one_of(name->text, else_ifs))
                diagnostics_
                    .report(DiagnosticKind::SyntaxError, name->range,
                            {"'" + std::string(name->text) + "'", "a statement"})
                    .hint("write 'else if'");
            else if (one_of(name->text, foreign_statements))
                diagnostics_
                    .report(DiagnosticKind::SyntaxError, name->range,
                            {"'" + std::string(name->text) + "'", "a statement"})
                    .hint("the language has if, while, for and foreach");
        } else if (name->type == P::Identifier && one_of(name->text, declarators) &&
                   next.start->getType() == P::Identifier &&
                   sources_.position(name->range).line ==
                       sources_.position(range(next.start)).line) {
            diagnostics_
                .report(DiagnosticKind::SyntaxError, name->range,
                        {"'" + std::string(name->text) + "'", "a statement"})
                .hint("local variables are not declared: their type is inferred from their use");
        }
    }
}

std::unique_ptr<ast::Block> Builder::block(P::BlockContext& block) {
    auto out = std::make_unique<ast::Block>(range(block));
    out->statements.reserve(block.list.size());
    check_foreign_habits(block.list);
    for (P::StatementContext* one : block.list)
        out->statements.push_back(statement(*one));
    return out;
}

ast::StatementPtr Builder::statement(P::StatementContext& context) {
    SourceRange place = range(context);
    switch (context.start->getType()) {
    case P::OpenBrace:
        return block(*context.compound);
    case P::If: {
        auto out = std::make_unique<ast::If>(place);
        out->condition = expression(*context.condition);
        out->then_branch = statement(*context.then);
        if (context.otherwise)
            out->else_branch = statement(*context.otherwise);
        return out;
    }
    case P::While: {
        auto out = std::make_unique<ast::While>(place);
        out->condition = expression(*context.condition);
        out->body = statement(*context.body);
        return out;
    }
    case P::For: {
        auto out = std::make_unique<ast::For>(place);
        if (context.init)
            out->init = expression(*context.init);
        if (context.condition)
            out->condition = expression(*context.condition);
        if (context.advance)
            out->step = expression(*context.advance);
        out->body = statement(*context.body);
        return out;
    }
    case P::Foreach:
        return foreach_statement(context);
    case P::Try:
        return try_statement(context);
    case P::Break:
        return std::make_unique<ast::Break>(range(context.start));
    case P::Continue:
        return std::make_unique<ast::Continue>(range(context.start));
    case P::Next:
        return std::make_unique<ast::Next>(range(context.start));
    case P::Return:
    case P::ReturnValue: {
        if (!in_function_)
            diagnostics_.report(DiagnosticKind::ReturnInProbe, range(context.start))
                .hint("'next' ends the probe's handler");
        if (!context.value)
            return std::make_unique<ast::Return>(range(context.start));
        auto out =
            std::make_unique<ast::Return>(cover(range(context.start), range(*context.value)));
        out->value = expression(*context.value);
        return out;
    }
    case P::Delete: {
        auto out =
            std::make_unique<ast::Delete>(cover(range(context.start), range(*context.value)));
        out->erased = expression(*context.value);
        auto kind = out->erased->kind;
        if (kind != ast::ExpressionKind::Identifier && kind != ast::ExpressionKind::ArrayIndex)
            diagnostics_
                .report(DiagnosticKind::NotDeletable, out->erased->range, {describe(*out->erased)})
                .hint("delete applies to a variable, an array or an array element");
        return out;
    }
    case P::EmptyStatement:
        return std::make_unique<ast::Null>(range(context.start));
    default:
        return expression_statement(context);
    }
}

ast::StatementPtr Builder::expression_statement(P::StatementContext& context) {
    ast::ExpressionPtr value = expression(*context.value);
    if (value->kind == ast::ExpressionKind::EmbeddedC) {
        auto out = std::make_unique<ast::EmbeddedStatement>(value->range);
        out->code = std::move(ast::as<ast::EmbeddedC>(*value).code);
        return out;
    }
    auto out = std::make_unique<ast::ExpressionStatement>(range(*context.value));
    out->expression = std::move(value);
    return out;
}

ast::StatementPtr Builder::try_statement(P::StatementContext& context) {
    auto out =
        std::make_unique<ast::TryCatch>(cover(range(context.start), range(*context.handler)));
    out->body = block(*context.compound);
    out->handler = block(*context.handler);
    if (context.variable) {
        out->variable = text_of(context.variable);
        out->variable_range = range(context.variable);
    }
    return out;
}

void Builder::set_order(ast::Foreach& out, P::SortOrderContext& order, int key) {
    if (out.sort_key >= 0)
        diagnostics_.report(DiagnosticKind::SortedTwice, range(order))
            .note(out.sort_range, "already sorted here");
    out.sort_key = key;
    out.ascending = order.op->getType() == P::Plus || order.op->getType() == P::SignPlus;
    out.sort_range = range(order);
}

void Builder::add_key(ast::Foreach& out, P::ForeachKeyContext& key, int number) {
    if (number > 0) {
        out.keys.push_back(text_of(key.name));
        out.key_ranges.push_back(range(key.name));
    } else {
        out.value = text_of(key.name);
        out.value_range = range(key.name);
    }
    if (key.order)
        set_order(out, *key.order, number);
}

ast::StatementPtr Builder::foreach_statement(P::StatementContext& context) {
    auto out = std::make_unique<ast::Foreach>(range(context));
    P::ForeachHeadContext& head = *context.head;
    bool has_value = head.second || (head.first && head.tuple);
    if (head.first)
        add_key(*out, *head.first, has_value ? 0 : 1);
    if (head.second)
        add_key(*out, *head.second, 1);
    if (head.tuple)
        for (P::ForeachKeyContext* key : head.tuple->keys)
            add_key(*out, *key, static_cast<int>(out->keys.size()) + 1);
    out->array = array_name(*head.array);
    if (head.slice)
        out->slice = indexes(head.slice->list);
    if (head.order)
        set_order(*out, *head.order, 0);
    if (head.sortStat) {
        out->sort_stat = stat_op(head.sortStat->op->getType());
        if (!head.order)
            diagnostics_
                .report(DiagnosticKind::SortWithoutOrder, range(*head.sortStat),
                        {text_of(head.sortStat->op)})
                .hint("write " + text_of(head.sortStat->op) + "+ for the smallest first, " +
                      text_of(head.sortStat->op) + "- for the largest first");
    }
    if (head.limit)
        out->limit = expression(*head.limit);
    out->body = statement(*context.body);
    return out;
}

} // namespace djstap::syntax
