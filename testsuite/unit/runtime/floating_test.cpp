// SPDX-License-Identifier: GPL-2.0-or-later
// Every operation is compared with what the processor computes of the same doubles.
#include "include/floating.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {
constexpr int rounds = 200000;
djs_fp_work work;

u64 bits_of(double number) {
    return std::bit_cast<u64>(number);
}

double number_of(u64 bits) {
    return std::bit_cast<double>(bits);
}

// Operands of all kinds: any bits, numbers of one size, near powers of two, whole and short ones,
// and the extremes.
class Operands {
  public:
    u64 next() {
        static const std::vector<u64> special = {
            0,
            DJS_FP_SIGN,
            1,
            DJS_FP_SIGN | 1,
            0xfffffffffffff,
            0x10000000000000,
            DJS_FP_INFINITY - 1,
            DJS_FP_INFINITY,
            DJS_FP_SIGN | DJS_FP_INFINITY,
            DJS_FP_DEFAULT_NAN,
            DJS_FP_INFINITY | 1,
            DJS_FP_SIGN | DJS_FP_INFINITY | 0x1234,
            bits_of(1),
            bits_of(-1),
            bits_of(0.5),
            bits_of(0x1p63),
            bits_of(-0x1p63),
            bits_of(0x1.fffffffffffffp62),
        };
        switch (random_() % 8) {
        case 0:
            return special[random_() % special.size()];
        case 1:
            return bits_of(static_cast<double>(static_cast<s64>(random_()) >> random_() % 64));
        case 2:
            return bits_of(std::ldexp(static_cast<double>(random_() % 16),
                                      static_cast<int>(random_() % 140) - 70));
        case 3: // near a power of two
            return ((random_() % 2 << 11 | (random_() % 0x7ff)) << 52) + random_() % 5 - 2;
        case 4: // below or near the smallest normal number
            return (random_() & DJS_FP_SIGN) | random_() >> (11 + random_() % 53);
        case 5: // exponents that are close to each other
            return (random_() & (DJS_FP_SIGN | 0xfffffffffffff)) | (1000 + random_() % 64) << 52;
        default:
            return random_();
        }
    }

  private:
    std::mt19937_64 random_{14};
};

void expect_same(u64 actual, double expected, u64 a, u64 b) {
    if (std::isnan(expected))
        EXPECT_TRUE(djs_fp_is_nan(actual)) << std::hex << a << ' ' << b << ": " << actual;
    else
        EXPECT_EQ(actual, bits_of(expected)) << std::hex << a << ' ' << b;
}

std::string text_of(double number, s64 precision, size_t size = 1200) {
    std::string out(size, '#');
    const size_t length = djs_fp_to_text(out.data(), size, bits_of(number), precision, &work);
    EXPECT_EQ(out[length], '\0');
    EXPECT_LT(length, size);
    return out.substr(0, length);
}

// The digits of the exact decimal value, rounded as the library says: halves away from zero.
std::string exact_text(double number, size_t precision) {
    std::string all(1500, '\0');
    all.resize(static_cast<size_t>(std::snprintf(all.data(), all.size(), "%.1100f", number)));
    const size_t first = all[0] == '-';
    const size_t end = all.find('.') + 1 + precision;
    const bool up = all[end] >= '5';
    all.resize(end);
    size_t at = end;
    for (bool carry = up; carry && at-- > first;) {
        if (all[at] == '.')
            continue;
        carry = all[at] == '9';
        all[at] = carry ? '0' : static_cast<char>(all[at] + 1);
        if (carry && at == first)
            all.insert(first, "1");
    }
    return all;
}

void expect_number(const std::string& text) {
    u64 result = 1;
    EXPECT_TRUE(djs_fp_from_text(&result, text.c_str(), &work)) << text;
    EXPECT_EQ(result, bits_of(std::strtod(text.c_str(), nullptr))) << text;
}
} // namespace

TEST(Floating, OperationsOnTwoNumbersAreTheProcessors) {
    Operands operands;
    for (int i = 0; i < rounds && !testing::Test::HasFailure(); i++) {
        const u64 a = operands.next(), b = operands.next();
        const double x = number_of(a), y = number_of(b);
        expect_same(djs_fp_add(a, b), x + y, a, b);
        expect_same(djs_fp_sub(a, b), x - y, a, b);
        expect_same(djs_fp_mul(a, b), x * y, a, b);
        expect_same(djs_fp_div(a, b), x / y, a, b);
        // glibc 2.36 gives some remainders of 0 the other sign.
        const double rest = std::remainder(x, y);
        expect_same(djs_fp_rem(a, b), rest == 0 ? std::copysign(rest, x) : rest, a, b);
        EXPECT_EQ(djs_fp_eq(a, b), x == y) << std::hex << a << ' ' << b;
        EXPECT_EQ(djs_fp_lt(a, b), x < y) << std::hex << a << ' ' << b;
        EXPECT_EQ(djs_fp_le(a, b), x <= y) << std::hex << a << ' ' << b;
    }
}

// Quotients of two powers of two, and others, in the middle between two of the smallest numbers.
TEST(Floating, QuotientsInTheMiddleAreRoundedToEven) {
    for (const auto& [x, y] : {std::pair<double, double>{0x1p-1000, 0x1p75},
                               {0x1p-1000, 0x1p74},
                               {0x1p-1000, 0x1p76},
                               {0x1.8p-1000, 0x1.8p75},
                               {0x1.8p-1000, 0x1p75},
                               {0x1.4p-1000, 0x1p73},
                               {0x1.cp-1000, 0x1p73},
                               {0x1.5p-1000, 0x1.5p75},
                               {0x1.fffffffffffffp-1000, 0x1p75},
                               {0x1.0000000000001p-1000, 0x1p75}}) {
        const double quotient = x / y;
        expect_same(djs_fp_div(bits_of(x), bits_of(y)), quotient, bits_of(x), bits_of(y));
        expect_same(djs_fp_mul(bits_of(x), bits_of(1 / y)), x * (1 / y), bits_of(x), bits_of(y));
    }
}

TEST(Floating, OperationsOnOneNumberAreTheProcessors) {
    Operands operands;
    for (int i = 0; i < rounds && !testing::Test::HasFailure(); i++) {
        const u64 a = operands.next();
        expect_same(djs_fp_sqrt(a), std::sqrt(number_of(a)), a, 0);
        expect_same(djs_fp_from_long(static_cast<s64>(a)), static_cast<double>(static_cast<s64>(a)),
                    a, 0);
        const u32 single = static_cast<u32>(a >> 32);
        expect_same(djs_fp_from_single(single), static_cast<double>(std::bit_cast<float>(single)),
                    a, 0);
    }
}

// Which of two operands without a number is the result, and how it becomes a quiet one.
TEST(Floating, WhatIsNoNumberStaysTheSame) {
    const u64 one = bits_of(1), quiet = DJS_FP_DEFAULT_NAN | 5,
              other = DJS_FP_SIGN | DJS_FP_DEFAULT_NAN | 9;
    const u64 signaling = DJS_FP_INFINITY | 7, made_quiet = DJS_FP_DEFAULT_NAN | 7;
    for (auto* operation : {djs_fp_add, djs_fp_sub, djs_fp_mul, djs_fp_div, djs_fp_rem}) {
        EXPECT_EQ(operation(quiet, other), quiet);
        EXPECT_EQ(operation(other, quiet), other);
        EXPECT_EQ(operation(one, other), other);
        EXPECT_EQ(operation(other, one), other);
        EXPECT_EQ(operation(quiet, signaling), made_quiet);
        EXPECT_EQ(operation(signaling, quiet), made_quiet);
    }
    EXPECT_EQ(djs_fp_sqrt(signaling), made_quiet);
    EXPECT_EQ(djs_fp_sqrt(bits_of(-1)), DJS_FP_DEFAULT_NAN);
    EXPECT_EQ(djs_fp_div(0, DJS_FP_SIGN), DJS_FP_DEFAULT_NAN);
    EXPECT_EQ(djs_fp_sub(DJS_FP_INFINITY, DJS_FP_INFINITY), DJS_FP_DEFAULT_NAN);
    EXPECT_EQ(djs_fp_from_single(0xff800001), DJS_FP_SIGN | DJS_FP_DEFAULT_NAN | 1 << 29);
}

TEST(Floating, ToLongRoundsByEachMode) {
    const double limit = 0x1p63;
    Operands operands;
    for (int i = 0; i < rounds && !testing::Test::HasFailure(); i++) {
        const u64 a = operands.next();
        const double x = number_of(a);
        const std::array<double, 6> rounded = {std::nearbyint(x), std::trunc(x), std::floor(x),
                                               std::ceil(x),      std::round(x), std::trunc(x)};
        for (size_t mode = 0; mode < rounded.size(); mode++) {
            const s64 expected = std::isnan(x)            ? 0
                                 : rounded[mode] >= limit ? std::numeric_limits<s64>::max()
                                 : rounded[mode] < -limit ? std::numeric_limits<s64>::min()
                                                          : static_cast<s64>(rounded[mode]);
            EXPECT_EQ(djs_fp_to_long(a, static_cast<s64>(mode)), expected)
                << std::hex << a << ' ' << mode;
        }
    }
}

TEST(Floating, TextHasTheDigitsOfTheExactValue) {
    for (const double number :
         {0.0, -0.0, 3.14, 0.5, 1.96, 9.99999, -9.96, 0.1, 1e-5, 0.001, 123456789.125, 0x1p53,
          0x1p63, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308})
        for (const size_t precision : {1, 2, 5, 9, 10, 17, 400, 1080})
            EXPECT_EQ(text_of(number, static_cast<s64>(precision), 2000),
                      exact_text(number, precision));
    Operands operands;
    for (int i = 0; i < 2000; i++) {
        const double number = number_of(operands.next());
        const size_t precision = static_cast<size_t>(i) % 30 + 1;
        if (std::isfinite(number)) {
            EXPECT_EQ(text_of(number, static_cast<s64>(precision)), exact_text(number, precision));
        }
    }
    EXPECT_EQ(text_of(0.125, 2), "0.13");
    EXPECT_EQ(text_of(-0.125, 2), "-0.13");
    EXPECT_EQ(text_of(2.5, 0), "2.5");
    EXPECT_EQ(text_of(2.5, -7), "2.5");
    EXPECT_EQ(text_of(std::numeric_limits<double>::infinity(), 3), "inf");
    EXPECT_EQ(text_of(-std::numeric_limits<double>::infinity(), 3), "-inf");
    EXPECT_EQ(text_of(-std::numeric_limits<double>::quiet_NaN(), 3), "nan");
}

TEST(Floating, TextStopsAtTheRoom) {
    EXPECT_EQ(text_of(1.0 / 3, std::numeric_limits<s64>::max(), 16), "0.3333333333333");
    EXPECT_EQ(text_of(9.9999999999999, 13, 16), "9.9999999999999");
    EXPECT_EQ(text_of(9.9999999999999982, 13, 16), "10.000000000000");
    EXPECT_EQ(text_of(1e12 + 0.25, 5, 16), "1000000000000.3");
    EXPECT_EQ(text_of(1e13 + 0.25, 5, 16), "10000000000000");
    EXPECT_EQ(text_of(1e300, 5, 16), "100000000000000");
}

TEST(Floating, TextIsReadAsTheNearestNumber) {
    for (const char* text : {"3.14",
                             "0",
                             "-0",
                             "-0.0",
                             "1",
                             "+1.5",
                             "1e5",
                             "1E-5",
                             "12e+3",
                             ".5",
                             "5.",
                             "0.1",
                             "00012.500",
                             "1e308",
                             "1.7976931348623157e308",
                             "1.7976931348623158e308",
                             "1.7976931348623159e308",
                             "1e309",
                             "-1e400",
                             "1e99999999999999999999",
                             "1e-99999999999999999999",
                             "0e999999",
                             "4.9406564584124654e-324",
                             "2.4703282292062327e-324",
                             "2.4703282292062328e-324",
                             "2e-324",
                             "1e-400",
                             "2.2250738585072011e-308",
                             "9007199254740993",
                             "9007199254740992.999999999999",
                             "9007199254740993.0000000000000000001",
                             "123456789012345678901234567890"})
        expect_number(text);
    expect_number("0." + std::string(400, '0') + "1e401");
    expect_number(std::string(400, '1') + "e-390");
    Operands operands;
    std::mt19937_64 random(3);
    for (int i = 0; i < 20000 && !testing::Test::HasFailure(); i++) {
        std::string text;
        for (size_t n = random() % 25 + 1; n > 0; n--)
            text += static_cast<char>('0' + random() % 10);
        text.insert(random() % (text.size() + 1), ".");
        expect_number(text + "e" + std::to_string(static_cast<int>(random() % 700) - 350));
        std::array<char, 64> shown{};
        const double number = number_of(operands.next());
        if (std::isfinite(number)) {
            std::snprintf(shown.data(), shown.size(), "%.*e", static_cast<int>(random() % 20),
                          number);
            expect_number(shown.data());
        }
    }
}

// The middle of two doubles, whose decimal digits are up to 767, and what differs from it only far
// behind.
TEST(Floating, TextBetweenTwoNumbersIsReadExactly) {
    Operands operands;
    std::string middle(1500, '\0');
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); i++) {
        const double number = std::fabs(number_of(operands.next()));
        if (!std::isfinite(number) || number > 0x1p1022)
            continue;
        const long double half =
            (static_cast<long double>(number) + std::nextafter(number, INFINITY)) / 2;
        middle.resize(1500);
        middle.resize(
            static_cast<size_t>(std::snprintf(middle.data(), middle.size(), "%.1080Lf", half)));
        expect_number(middle);
        expect_number(middle + "1");
        expect_number(middle + std::string(900, '0') + "1");
        *std::prev(middle.end()) = '0';
        expect_number(middle.substr(0, middle.find_last_not_of('0')));
    }
}

// Digits for which no limb is left are not written behind the limbs.
TEST(Floating, TextIsReadInTheMemoryOfTheLimbs) {
    for (const char* exponent : {"e-600", "e-800"}) {
        std::memset(&work, 0x5a, sizeof work);
        expect_number(std::string(880, '7') + exponent);
        EXPECT_EQ(std::count(std::begin(work.digits), std::end(work.digits), 0x5a),
                  std::ssize(work.digits))
            << exponent;
    }
}

TEST(Floating, OtherTextIsNoNumber) {
    u64 result;
    for (const char* text :
         {"x", "1x", "1e5x", " 1", "1 ", "--1", "1.2.3", "inf", "nan", "0x10", "1e+-5"})
        EXPECT_FALSE(djs_fp_from_text(&result, text, &work)) << text;
    for (const char* text : {"", "+", ".", "e", "e5"}) {
        EXPECT_TRUE(djs_fp_from_text(&result, text, &work)) << text;
        EXPECT_EQ(result, 0u);
    }
    EXPECT_TRUE(djs_fp_from_text(&result, "-", &work));
    EXPECT_EQ(result, DJS_FP_SIGN);
}
