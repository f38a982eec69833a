// SPDX-License-Identifier: GPL-2.0-or-later
#include "syntax/builder.h"

namespace djstap::syntax {

using P = Builder::P;

namespace {

std::optional<ast::BinaryOp> compound_op(size_t type) {
    switch (type) {
    case P::AddAssign:
        return ast::BinaryOp::Add;
    case P::SubtractAssign:
        return ast::BinaryOp::Subtract;
    case P::MultiplyAssign:
        return ast::BinaryOp::Multiply;
    case P::DivideAssign:
        return ast::BinaryOp::Divide;
    case P::ModuloAssign:
        return ast::BinaryOp::Modulo;
    case P::ConcatAssign:
        return ast::BinaryOp::Concatenate;
    case P::ShiftLeftAssign:
        return ast::BinaryOp::ShiftLeft;
    case P::ShiftRightAssign:
        return ast::BinaryOp::ShiftRight;
    case P::AndAssign:
        return ast::BinaryOp::And;
    case P::XorAssign:
        return ast::BinaryOp::Xor;
    case P::OrAssign:
        return ast::BinaryOp::Or;
    default:
        return std::nullopt;
    }
}

std::optional<ast::BinaryOp> binary_op(size_t type) {
    switch (type) {
    case P::Star:
        return ast::BinaryOp::Multiply;
    case P::Slash:
        return ast::BinaryOp::Divide;
    case P::Percent:
        return ast::BinaryOp::Modulo;
    case P::Plus:
        return ast::BinaryOp::Add;
    case P::Minus:
        return ast::BinaryOp::Subtract;
    case P::Dot:
        return ast::BinaryOp::Concatenate;
    case P::ShiftLeft:
        return ast::BinaryOp::ShiftLeft;
    case P::ShiftRight:
        return ast::BinaryOp::ShiftRight;
    case P::ShiftRightLogical:
        return ast::BinaryOp::ShiftRightLogical;
    case P::Less:
        return ast::BinaryOp::Less;
    case P::LessEqual:
        return ast::BinaryOp::LessEqual;
    case P::Greater:
        return ast::BinaryOp::Greater;
    case P::GreaterEqual:
        return ast::BinaryOp::GreaterEqual;
    case P::Equal:
        return ast::BinaryOp::Equal;
    case P::NotEqual:
        return ast::BinaryOp::NotEqual;
    case P::Ampersand:
        return ast::BinaryOp::And;
    case P::Caret:
        return ast::BinaryOp::Xor;
    case P::Bar:
        return ast::BinaryOp::Or;
    default:
        return std::nullopt;
    }
}

ast::UnaryOp unary_op(size_t type) {
    switch (type) {
    case P::SignPlus:
        return ast::UnaryOp::Plus;
    case P::SignMinus:
        return ast::UnaryOp::Negate;
    case P::Not:
        return ast::UnaryOp::Not;
    default:
        return ast::UnaryOp::Complement;
    }
}

// Returns whether an operator may follow another one without parentheses: a match and a membership
// may be followed only by looser operators, and a match must not follow a comparison.
bool may_follow(size_t type, size_t left) {
    bool is_match = type == P::Matches || type == P::MatchesNot;
    switch (left) {
    case P::In:
        return type == P::Ampersand || type == P::Question || type >= P::Caret;
    case P::Matches:
    case P::MatchesNot:
        return type == P::In || type == P::Ampersand || type == P::Question || type >= P::Caret;
    default:
        return !is_match || left < P::Less || left > P::NotEqual;
    }
}

} // namespace

ast::ExpressionPtr Builder::expression(P::ExpressionContext& context) {
    if (context.operand)
        return postfix(*context.operand);
    size_t type = context.op->getType();
    SourceRange place = range(context);
    if (!context.left) {
        ast::ExpressionPtr operand = expression(*context.right);
        if (type == P::Increment || type == P::Decrement)
            return increment(std::move(operand), *context.op, true, place);
        auto out = std::make_unique<ast::Unary>(place);
        out->op = unary_op(type);
        out->operand = std::move(operand);
        return out;
    }
    if (!context.left->operand && context.left->left &&
        !may_follow(type, context.left->op->getType())) {
        std::string left = text_of(context.left->op);
        diagnostics_
            .report(DiagnosticKind::SyntaxError, range(context.op),
                    {"'" + text_of(context.op) + "'", "an operator that may follow '" + left + "'"})
            .hint("put the operands of '" + left + "' in parentheses");
    }
    if (auto op = binary_op(type))
        return binary(context, *op);
    switch (type) {
    case P::AndAnd:
    case P::OrOr: {
        auto out = std::make_unique<ast::Logical>(place);
        out->conjunction = type == P::AndAnd;
        out->left = expression(*context.left);
        out->right = expression(*context.right);
        return out;
    }
    case P::Question: {
        auto out = std::make_unique<ast::Conditional>(place);
        out->condition = expression(*context.left);
        out->then_value = expression(*context.middle);
        out->else_value = expression(*context.right);
        return out;
    }
    case P::In: {
        auto out = std::make_unique<ast::Membership>(place);
        out->indexes.push_back(expression(*context.left));
        out->array = array_name(*context.array);
        return out;
    }
    case P::Matches:
    case P::MatchesNot: {
        auto out = std::make_unique<ast::RegexMatch>(place);
        out->negated = type == P::MatchesNot;
        out->operand = expression(*context.left);
        out->pattern_range = range(context.pattern);
        out->pattern = string_of(context.pattern);
        return out;
    }
    default:
        return assignment(context);
    }
}

ast::ExpressionPtr Builder::binary(P::ExpressionContext& context, ast::BinaryOp op) {
    auto out = std::make_unique<ast::Binary>(range(context));
    out->op = op;
    out->op_range = range(context.op);
    out->left = expression(*context.left);
    out->right = expression(*context.right);
    return out;
}

ast::ExpressionPtr Builder::assignment(P::ExpressionContext& context) {
    ast::ExpressionPtr left = expression(*context.left);
    // c ? a : b = 1 assigns to b: the last part of ?: extends as far as possible, including in a
    // chain.
    ast::ExpressionPtr* place = &left;
    for (P::ExpressionContext* part = context.left;
         !part->operand && (*place)->kind == ast::ExpressionKind::Conditional; part = part->right) {
        auto& conditional = ast::as<ast::Conditional>(**place);
        conditional.range = cover(conditional.range, range(*context.right));
        place = &conditional.else_value;
    }
    *place = assign_to(std::move(*place), context);
    return left;
}

ast::ExpressionPtr Builder::assign_to(ast::ExpressionPtr place, P::ExpressionContext& context) {
    check_assignable(*place, false);
    auto out = std::make_unique<ast::Assignment>(cover(place->range, range(*context.right)));
    out->op_range = range(context.op);
    size_t type = context.op->getType();
    if (auto op = compound_op(type)) {
        out->form = ast::Assignment::Kind::Compound;
        out->op = *op;
    } else if (type == P::Aggregate) {
        out->form = ast::Assignment::Kind::Aggregate;
    }
    out->place = std::move(place);
    out->value = expression(*context.right);
    return out;
}

ast::ExpressionPtr Builder::increment(ast::ExpressionPtr operand, const antlr4::Token& op,
                                      bool prefix, SourceRange place) {
    check_assignable(*operand, true);
    auto out = std::make_unique<ast::Increment>(place);
    out->prefix = prefix;
    out->decrement = op.getType() == P::Decrement || op.getType() == P::PostDecrement;
    out->operand = std::move(operand);
    return out;
}

bool Builder::check_assignable(const ast::Expression& place, bool increment) {
    auto plain = [](const std::vector<ast::Component>& components) {
        return components.empty() || components.back().kind != ast::Component::Kind::PrettyPrint;
    };
    bool possible = false;
    switch (place.kind) {
    case ast::ExpressionKind::Identifier:
        possible = true;
        break;
    case ast::ExpressionKind::ArrayIndex: {
        const auto& element = ast::as<ast::ArrayIndex>(place);
        possible = element.base->kind == ast::ExpressionKind::Identifier;
        for (const auto& index : element.indexes)
            possible &= index != nullptr;
        break;
    }
    case ast::ExpressionKind::TargetSymbol: {
        const auto& symbol = ast::as<ast::TargetSymbol>(place);
        possible = !symbol.address_of && plain(symbol.components);
        break;
    }
    case ast::ExpressionKind::Cast: {
        const auto& cast = ast::as<ast::Cast>(place);
        possible = !cast.address_of && plain(cast.components);
        break;
    }
    case ast::ExpressionKind::Autocast: {
        const auto& cast = ast::as<ast::Autocast>(place);
        possible = !cast.address_of && plain(cast.components);
        break;
    }
    default:
        break;
    }
    if (possible)
        return true;
    auto& diagnostic =
        diagnostics_.report(DiagnosticKind::NotAssignable, place.range, {describe(place)});
    bool comparison =
        place.kind == ast::ExpressionKind::Binary || place.kind == ast::ExpressionKind::Logical;
    if (!increment && comparison)
        diagnostic.hint(
            "'==' compares; an assignment inside a larger expression needs parentheses");
    return false;
}

} // namespace djstap::syntax
