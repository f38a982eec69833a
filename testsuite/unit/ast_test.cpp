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
    EXPECT_EQ(print(*unary(UnaryOp::Negate, unary(UnaryOp::Plus, number(1)))), "-+1");
    EXPECT_EQ(print(*unary(UnaryOp::Plus, unary(UnaryOp::Plus, number(1)))), "+ +1");
    // Nor does ! run together with ~, which would be a match.
    EXPECT_EQ(print(*unary(UnaryOp::Not, unary(UnaryOp::Complement, number(1)))), "! ~1");
    EXPECT_EQ(print(*unary(UnaryOp::Not, unary(UnaryOp::Not, number(1)))), "!!1");
    EXPECT_EQ(print(*unary(UnaryOp::Complement, unary(UnaryOp::Complement, number(1)))), "~~1");
}

TEST(Print, NegativeLiteralsAreNotOperators) {
    EXPECT_EQ(print(*number(-1)), "0xffffffffffffffff");
    EXPECT_EQ(print(*number(INT64_MIN)), "0x8000000000000000");
    EXPECT_EQ(print(*number(-0x123456789abcdef0)), "0xedcba98765432110");
    EXPECT_EQ(print(*number(0)), "0");
    EXPECT_EQ(print(*number(INT64_MAX)), "9223372036854775807");
}

// The sign of a global's initial value is part of the literal, except where no literal has it.
TEST(Print, InitialValuesOfGlobals) {
    const auto global = [](int64_t value) {
        File file;
        file.globals.emplace_back().name = "g";
        file.globals.back().initial = number(value);
        return print(file);
    };
    EXPECT_EQ(global(0), "global g = 0\n");
    EXPECT_EQ(global(-1), "global g = -1\n");
    EXPECT_EQ(global(INT64_MIN + 1), "global g = -9223372036854775807\n");
    EXPECT_EQ(global(INT64_MIN), "global g = 0x8000000000000000\n");
}

TEST(Print, StringsDecodeToTheSameBytes) {
    EXPECT_EQ(quote("a\"b\\c\n\t"), R"("a\"b\\c\n\t")");
    EXPECT_EQ(quote(std::string("\x01"
                                "2",
                                2)),
              R"("\0012")");
    EXPECT_EQ(quote("ü"), "\"ü\"");
    // What can be seen is written as it is, a blank among it; the rest in octal digits.
    EXPECT_EQ(quote(" !~"), "\" !~\"");
    EXPECT_EQ(quote("\x1d\x1f\x7f\r"), R"("\035\037\177\015")");
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

// Likewise if a loop around it ends with it; an else of its own keeps another one away.
TEST(Print, AnElseStaysWithTheIfAroundALoop) {
    const auto inner = [](bool own) {
        auto out = std::make_unique<If>(SourceRange{});
        out->condition = number(3);
        out->then_branch = statement(number(4));
        if (own)
            out->else_branch = statement(number(5));
        return out;
    };
    const auto outer = [](StatementPtr then) {
        If out(SourceRange{});
        out.condition = number(1);
        out.then_branch = std::move(then);
        out.else_branch = statement(number(6));
        return print(out, 1);
    };
    auto loop = std::make_unique<While>(SourceRange{});
    loop->condition = number(2);
    loop->body = inner(false);
    EXPECT_EQ(outer(std::move(loop)), "    if (1) {\n        while (2)\n            if (3)\n"
                                      "                4;\n    } else\n        6;");
    auto each = std::make_unique<For>(SourceRange{});
    each->body = inner(false);
    EXPECT_EQ(outer(std::move(each)), "    if (1) {\n        for (; ; )\n            if (3)\n"
                                      "                4;\n    } else\n        6;");
    EXPECT_EQ(outer(inner(true)), "    if (1)\n        if (3)\n            4;\n        else\n"
                                  "            5;\n    else\n        6;");
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
