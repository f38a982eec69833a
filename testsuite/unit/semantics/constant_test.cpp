// SPDX-License-Identifier: GPL-2.0-or-later
// Constants of C, as embedded code and headers have them.
#include "semantics/constant.h"

#include <gtest/gtest.h>

namespace djstap::semantics {
namespace {

using Value = std::optional<int64_t>;

TEST(CConstant, Numbers) {
    EXPECT_EQ(c_constant("0"), Value(0));
    EXPECT_EQ(c_constant(" 42 "), Value(42));
    EXPECT_EQ(c_constant("0x1fUL"), Value(31));
    EXPECT_EQ(c_constant("017"), Value(15));
    EXPECT_EQ(c_constant("1u"), Value(1));
    EXPECT_EQ(c_constant("1LL"), Value(1));
    EXPECT_EQ(c_constant("18446744073709551615"), Value(-1));
    for (const char* wrong : {"", "x", "1x", "08", "0x", "18446744073709551616", "1 2", "1.5", "U"})
        EXPECT_EQ(c_constant(wrong), Value()) << wrong;
}

TEST(CConstant, SignsAndComplements) {
    EXPECT_EQ(c_constant("-5"), Value(-5));
    EXPECT_EQ(c_constant("+5"), Value(5));
    EXPECT_EQ(c_constant("~0"), Value(-1));
    EXPECT_EQ(c_constant("!0"), Value(1));
    EXPECT_EQ(c_constant("!7"), Value(0));
    EXPECT_EQ(c_constant("- -5"), Value(5));
    EXPECT_EQ(c_constant("-~!0"), Value(2));
}

TEST(CConstant, EachOperator) {
    for (const auto& [text, value] :
         {std::pair("7 + 2", 9),     std::pair("7 - 2", 5),   std::pair("7 * 2", 14),
          std::pair("7 / 2", 3),     std::pair("-7 / 2", -3), std::pair("7 % 4", 3),
          std::pair("7 / -1", -7),   std::pair("7 % -1", 0),  std::pair("1 << 4", 16),
          std::pair("-16 >> 2", -4), std::pair("6 & 3", 2),   std::pair("6 | 3", 7),
          std::pair("6 ^ 3", 5),     std::pair("2 && 0", 0),  std::pair("2 && 3", 1),
          std::pair("0 || 0", 0),    std::pair("0 || 4", 1),  std::pair("2 == 2", 1),
          std::pair("2 == 3", 0),    std::pair("2 != 2", 0),  std::pair("2 != 3", 1),
          std::pair("2 < 2", 0),     std::pair("1 < 2", 1),   std::pair("2 <= 2", 1),
          std::pair("3 <= 2", 0),    std::pair("2 > 2", 0),   std::pair("3 > 2", 1),
          std::pair("2 >= 2", 1),    std::pair("1 >= 2", 0)})
        EXPECT_EQ(c_constant(text), Value(value)) << text;
    EXPECT_EQ(c_constant("1 << 63"), Value(INT64_MIN));
    EXPECT_EQ(c_constant("(1 << 63) / -1"), Value(INT64_MIN));
    for (const char* wrong : {"1 / 0", "1 % 0", "1 << 64", "1 >> 64", "1 << -1", "1 +", "* 2"})
        EXPECT_EQ(c_constant(wrong), Value()) << wrong;
}

// Each pair of neighbours in C's table, and from the left.
TEST(CConstant, Precedence) {
    for (const auto& [text, value] :
         {std::pair("2 + 3 * 4", 14), std::pair("1 << 2 + 1", 8), std::pair("1 < 1 << 1", 1),
          std::pair("1 == 2 > 1", 1), std::pair("2 & 2 == 2", 0), std::pair("7 ^ 4 & 6", 3),
          std::pair("1 | 3 ^ 3", 1), std::pair("2 && 1 | 2", 1), std::pair("1 || 0 && 0", 1),
          std::pair("10 - 4 - 3", 3), std::pair("16 / 4 / 2", 2), std::pair("(2 + 3) * 4", 20),
          std::pair("10 - (4 - 3)", 9)})
        EXPECT_EQ(c_constant(text), Value(value)) << text;
}

TEST(CConstant, SizesOfBaseTypes) {
    EXPECT_EQ(c_constant("sizeof(char)"), Value(1));
    EXPECT_EQ(c_constant("sizeof( unsigned short )"), Value(2));
    EXPECT_EQ(c_constant("sizeof (int)"), Value(4));
    EXPECT_EQ(c_constant("sizeof(unsigned)"), Value(4));
    EXPECT_EQ(c_constant("sizeof(unsigned long long) * 8"), Value(64));
    EXPECT_EQ(c_constant("sizeof(void *)"), Value(8));
    EXPECT_EQ(c_constant("sizeof(size_t)"), Value(8));
    for (const char* wrong : {"sizeof(struct x)", "sizeof(int", "sizeof int", "sizeof()"})
        EXPECT_EQ(c_constant(wrong), Value()) << wrong;
}

TEST(CConstant, NestsToADepthThatEnds) {
    const auto nested = [](size_t depth) {
        return std::string(depth, '(') + "1" + std::string(depth, ')');
    };
    EXPECT_EQ(c_constant(nested(99)), Value(1));
    EXPECT_EQ(c_constant(nested(100)), Value());
    EXPECT_EQ(c_constant("(1"), Value());
    // What is long is not deep.
    std::string sum = "-1";
    for (int i = 0; i < 500; i++)
        sum += " + (1) * +1";
    EXPECT_EQ(c_constant(sum), Value(499));
    EXPECT_EQ(c_constant("1)"), Value());
}

} // namespace
} // namespace djstap::semantics
