// SPDX-License-Identifier: GPL-2.0-or-later
// What print() itself must handle; the tests of syntax check that it is the inverse of the parser.
#include "ast/ast.h"
#include "ast/printer.h"

#include <gtest/gtest.h>

using namespace djstap;
using namespace djstap::ast;

namespace {

ExpressionPtr number(int64_t value) {
    auto out = std::make_unique<NumberLiteral>(SourceRange{});
    out->value = value;
    return out;
}

ExpressionPtr binary(BinaryOp op, ExpressionPtr left, ExpressionPtr right) {
    auto out = std::make_unique<Binary>(SourceRange{});
    out->op = op;
    out->left = std::move(left);
    out->right = std::move(right);
    return out;
}

ExpressionPtr unary(UnaryOp op, ExpressionPtr operand) {
    auto out = std::make_unique<Unary>(SourceRange{});
    out->op = op;
    out->operand = std::move(operand);
    return out;
}

StatementPtr statement(ExpressionPtr value) {
    auto out = std::make_unique<ExpressionStatement>(SourceRange{});
    out->expression = std::move(value);
    return out;
}

} // namespace

TEST(Print, ParenthesesOnlyWhereTheTreeNeedsThem) {
    auto sum = [] { return binary(BinaryOp::Add, number(1), number(2)); };
    EXPECT_EQ(print(*binary(BinaryOp::Multiply, sum(), number(3))), "(1 + 2) * 3");
    EXPECT_EQ(print(*binary(BinaryOp::Add, sum(), number(3))), "1 + 2 + 3");
    EXPECT_EQ(print(*binary(BinaryOp::Subtract, number(3), sum())), "3 - (1 + 2)");
    EXPECT_EQ(print(*binary(BinaryOp::And, sum(), number(3))), "1 + 2 & 3");
    EXPECT_EQ(print(*unary(UnaryOp::Not, sum())), "!(1 + 2)");
}

TEST(Print, SignsDoNotRunTogether) {
    EXPECT_EQ(print(*unary(UnaryOp::Negate, unary(UnaryOp::Negate, number(1)))), "- -1");
    EXPECT_EQ(print(*unary(UnaryOp::Plus, unary(UnaryOp::Negate, number(1)))), "+-1");
}

TEST(Print, NegativeLiteralsAreNotOperators) {
    EXPECT_EQ(print(*number(-1)), "0xffffffffffffffff");
    EXPECT_EQ(print(*number(INT64_MIN)), "0x8000000000000000");
}

TEST(Print, StringsDecodeToTheSameBytes) {
    EXPECT_EQ(quote("a\"b\\c\n\t"), R"("a\"b\\c\n\t")");
    EXPECT_EQ(quote(std::string("\x01"
                                "2",
                                2)),
              R"("\0012")");
    EXPECT_EQ(quote("ü"), "\"ü\"");
}

TEST(Print, AnElseStaysWithItsIf) {
    auto inner = std::make_unique<If>(SourceRange{});
    inner->condition = number(2);
    inner->then_branch = statement(number(3));
    auto outer = std::make_unique<If>(SourceRange{});
    outer->condition = number(1);
    outer->then_branch = std::move(inner);
    outer->else_branch = statement(number(4));
    EXPECT_EQ(print(*outer), "if (1) {\n    if (2)\n        3;\n} else\n    4;");
}

TEST(Print, PointsAsAUserWritesThem) {
    ProbePoint point;
    PointComponent kernel{"kernel", {}, PointComponent::Argument::None, 0, "", {}};
    PointComponent function{"function", {}, PointComponent::Argument::String, 0, "tcp_*", {}};
    PointComponent active{"maxactive", {}, PointComponent::Argument::Number, -3, "", {}};
    point.components = {kernel, function, active};
    point.optional = true;
    point.condition = number(1);
    EXPECT_EQ(to_string(point), "kernel.function(\"tcp_*\").maxactive(-3)? if (1)");
}
