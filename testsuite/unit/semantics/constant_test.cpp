// SPDX-License-Identifier: GPL-2.0-or-later
// Constants of C, as embedded code and headers have them.
#include "semantics/constant.h"

#include "analysis.h"

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
    EXPECT_EQ(c_constant("1L << 63"), Value(INT64_MIN));
    EXPECT_EQ(c_constant("(1L << 63) / -1"), Value(INT64_MIN));
    for (const char* wrong :
         {"1 / 0", "1 % 0", "1 << 32", "1 >> 32", "1L << 64", "1L >> 64", "1 << -1", "1 +", "* 2"})
        EXPECT_EQ(c_constant(wrong), Value()) << wrong;
}

// C11, 6.4.4.1: a decimal number that no long can hold has no type, and is taken for an unsigned
// one, as are others that only unsigned types can hold.
TEST(CConstant, AreUnsignedWhereNoSignedTypeHoldsThem) {
    for (const auto& [text, value] :
         {std::pair("2147483647 > -1", 1), std::pair("2147483648 > -1", 1),
          std::pair("0x7fffffff > -1", 1), std::pair("0x80000000 > -1", 0),
          std::pair("0xffffffff > -1", 0), std::pair("0x100000000 > -1", 1),
          std::pair("9223372036854775807 > -1", 1), std::pair("9223372036854775808 > -1", 0),
          std::pair("0x7fffffffffffffff > -1", 1), std::pair("0x8000000000000000 > -1", 0)})
        EXPECT_EQ(c_constant(text), Value(value)) << text;
}

// As the C compiler says, which knows the types of numbers and what they are converted to.
TEST(CConstant, HasTheValueThatTheCompilerGivesIt) {
    const std::vector<std::string> numbers = {"0",
                                              "1",
                                              "5",
                                              "2147483647",
                                              "2147483648",
                                              "0x7fffffff",
                                              "0xffffffff",
                                              "1u",
                                              "0xfffffffbu",
                                              "3L",
                                              "4UL",
                                              "0x100000000",
                                              "0xfffffffffffffffb",
                                              "sizeof(int)"};
    const std::vector<std::string> operators = {"+",  "-", "*", "/",  "%",  "&",  "|",  "^",  "<<",
                                                ">>", "<", ">", "<=", ">=", "==", "!=", "&&", "||"};
    std::vector<std::string> all;
    for (const std::string& left : numbers)
        for (const char* sign : {"", "-", "~", "!"}) {
            all.push_back(sign + left);
            for (const std::string& op : operators)
                for (const std::string& right : numbers) {
                    const bool shifts = op == "<<" || op == ">>", divides = op == "/" || op == "%";
                    const auto count = c_constant(right).value();
                    if ((divides && count == 0) || (shifts && (count < 0 || count > 31)))
                        continue;
                    all.push_back(sign + left + " " + op + " " + right);
                }
        }
    test::Folder folder;
    std::string source = "#include <stdio.h>\nint main(void) { const long long all[] = {\n";
    for (const std::string& each : all)
        source += each + ",\n";
    folder.write("all.c", source + "}; for (unsigned i = 0; i < sizeof all / sizeof *all; i++) "
                                   "printf(\"%lld\\n\", all[i]); }\n");
    const std::string program = folder.path + "/all";
    ASSERT_EQ(std::system(("gcc -w -fwrapv -o " + program + " " + program + ".c && " + program +
                           " > " + program + ".txt")
                              .c_str()),
              0);
    std::ifstream values(program + ".txt");
    size_t known = 0;
    for (const std::string& each : all) {
        int64_t value = 0;
        ASSERT_TRUE(values >> value);
        const Value own = c_constant(each); // nothing: an int cannot hold it
        known += own.has_value();
        EXPECT_EQ(own.value_or(value), value) << each;
    }
    EXPECT_GT(known, all.size() * 9 / 10);
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
