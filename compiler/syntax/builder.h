// SPDX-License-Identifier: GPL-2.0-or-later
// Converts the parser's contexts to the ast. Checks what the grammar accepts too widely.
#pragma once
#include "ast/ast.h"
#include "diagnostics/diagnostic.h"
#include "grammar/DjstapParser.h"
#include "syntax/token_list.h"

#include <unordered_map>

namespace djstap::syntax {

class Builder {
  public:
    using P = grammar::DjstapParser;

    // `privileged`: permits embedded C and the operators that read any memory.
    Builder(const SourceManager& sources, const TokenList& tokens, bool privileged,
            Diagnostics& diagnostics)
        : sources_(sources), tokens_(tokens), privileged_(privileged), diagnostics_(diagnostics) {}

    // Adds one top-level item to `file`.
    void add_item(P::ItemContext& item, ast::File& file);

  private:
    // declarations
    void add_globals(P::GlobalListContext& list, bool is_private, ast::File& file);
    void add_function(P::FunctionDeclarationContext& function, bool is_private, ast::File& file);
    void add_probe(P::ProbeDeclarationContext& probe, ast::File& file);
    std::vector<ast::ProbePoint> points(P::PointListContext& list);
    // Returns the points that one point with braces stands for, in the order of the product.
    std::vector<ast::ProbePoint> expand(P::PointContext& point, bool last);
    std::vector<ast::PointComponent> alias_name(P::PointListContext& list, const antlr4::Token& op);
    ast::PointComponent point_component(P::ComponentContext& component);
    ast::ExpressionPtr literal(P::LiteralContext& literal);
    int64_t literal_number(P::LiteralContext& literal);

    // statements
    std::unique_ptr<ast::Block> block(P::BlockContext& block);
    ast::StatementPtr statement(P::StatementContext& statement);
    ast::StatementPtr foreach_statement(P::StatementContext& statement);
    ast::StatementPtr try_statement(P::StatementContext& statement);
    ast::StatementPtr expression_statement(P::StatementContext& statement);
    void add_key(ast::Foreach& out, P::ForeachKeyContext& key, int number);
    void set_order(ast::Foreach& out, P::SortOrderContext& order, int key);
    void check_foreign_habits(const std::vector<P::StatementContext*>& statements);

    // expressions
    ast::ExpressionPtr expression(P::ExpressionContext& expression);
    ast::ExpressionPtr binary(P::ExpressionContext& expression, ast::BinaryOp op);
    ast::ExpressionPtr assignment(P::ExpressionContext& expression);
    ast::ExpressionPtr assign_to(ast::ExpressionPtr place, P::ExpressionContext& expression);
    ast::ExpressionPtr increment(ast::ExpressionPtr operand, const antlr4::Token& op, bool prefix,
                                 SourceRange range);
    bool check_assignable(const ast::Expression& place, bool increment);

    // operands
    ast::ExpressionPtr postfix(P::PostfixContext& postfix);
    ast::ExpressionPtr primary(P::PrimaryContext& primary);
    ast::ExpressionPtr target_name(const Token& token, std::vector<ast::Component>& pretty);
    ast::ExpressionPtr call(P::PrimaryContext& primary);
    bool check_print(const ast::Print& print, std::string_view name);
    void check_privilege(const Token& op);
    ast::ExpressionPtr cast(P::PrimaryContext& primary);
    ast::ExpressionPtr statistic(P::StatisticCallContext& call);
    ast::ExpressionPtr array_name(P::ArrayNameContext& array);
    std::optional<ast::Component> component(P::StepContext& step);
    std::vector<ast::ExpressionPtr> indexes(const std::vector<P::IndexItemContext*>& items);
    template <class Node> ast::ExpressionPtr with_operand(P::PrimaryContext& primary);

    SourceRange range(const antlr4::Token* token) const { return as_token(token).range; }
    SourceRange range(const antlr4::ParserRuleContext& context) const;
    // Returns the range from one to the other in the file where both are written: if only one end
    // is in the body of a macro, the macro's use replaces it.
    SourceRange cover(SourceRange first, SourceRange last) const;
    std::string text_of(const antlr4::Token* token) const {
        return std::string(as_token(token).text);
    }
    const std::string& string_of(const antlr4::Token* token) const {
        return *as_token(token).string;
    }
    std::string embedded_code(const antlr4::Token* token);

    const SourceManager& sources_;
    const TokenList& tokens_;
    bool privileged_;
    Diagnostics& diagnostics_;
    bool in_function_ = false;
    std::unordered_map<std::string, SourceRange> globals_; // of this file
};

// "a number", "the call of 'f'": an operand as messages name it.
std::string describe(const ast::Expression& expression);
ast::StatOp stat_op(size_t token_type);

} // namespace djstap::syntax
