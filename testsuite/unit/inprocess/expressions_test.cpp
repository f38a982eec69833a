// SPDX-License-Identifier: GPL-2.0-or-later
// Executes expressions: the results are those of the processor, by the C++ compiler.
#include "executed.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace djstap {
namespace {

using test::execute;
using test::printed_by;

struct Operator {
    const char* text;
    std::function<int64_t(int64_t, int64_t)> result;
};

uint64_t u(int64_t n) {
    return static_cast<uint64_t>(n);
}
int64_t s(uint64_t n) {
    return static_cast<int64_t>(n);
}

const std::vector<Operator>& operators() {
    static const std::vector<Operator> all{
        {"+", [](int64_t a, int64_t b) { return s(u(a) + u(b)); }},
        {"-", [](int64_t a, int64_t b) { return s(u(a) - u(b)); }},
        {"*", [](int64_t a, int64_t b) { return s(u(a) * u(b)); }},
        {"&", [](int64_t a, int64_t b) { return a & b; }},
        {"|", [](int64_t a, int64_t b) { return a | b; }},
        {"^", [](int64_t a, int64_t b) { return a ^ b; }},
        {"<<", [](int64_t a, int64_t b) { return s(u(a) << (u(b) & 63)); }},
        {">>", [](int64_t a, int64_t b) { return a >> (u(b) & 63); }},
        {">>>", [](int64_t a, int64_t b) { return s(u(a) >> (u(b) & 63)); }},
        {"==", [](int64_t a, int64_t b) { return a == b; }},
        {"!=", [](int64_t a, int64_t b) { return a != b; }},
        {"<", [](int64_t a, int64_t b) { return a < b; }},
        {"<=", [](int64_t a, int64_t b) { return a <= b; }},
        {">", [](int64_t a, int64_t b) { return a > b; }},
        {">=", [](int64_t a, int64_t b) { return a >= b; }},
        {"&&", [](int64_t a, int64_t b) { return a && b; }},
        {"||", [](int64_t a, int64_t b) { return a || b; }},
        {"/", [](int64_t a, int64_t b) { return b == -1 ? s(0 - u(a)) : a / b; }},
        {"%", [](int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }},
    };
    return all;
}

std::string assignments(const std::string& array, const std::vector<int64_t>& values) {
    std::string text;
    for (size_t i = 0; i < values.size(); i++) {
        char each[64];
        snprintf(each, sizeof each, "%s[%zu] = 0x%lx; ", array.c_str(), i,
                 static_cast<unsigned long>(values[i]));
        text += each;
    }
    return text;
}

// The handler takes the next pair of numbers each time, so that the compiler does not know them.
// `more`: part of the handler; `columns`: the number of operators that are asked.
std::string pairs_script(const std::vector<int64_t>& left, const std::vector<int64_t>& right,
                         size_t columns, const std::string& more) {
    const std::string count = std::to_string(right.size());
    std::string globals = "global left, right, n = 0";
    std::string handler = "probe timer.s(100000) { a = left[n / " + count + "]; b = right[n % " +
                          count + "]; " + more;
    std::string end = "probe end { for (i = 0; i < n; i++) { ";
    for (size_t i = 0; i < columns; i++) {
        const std::string result = "r" + std::to_string(i);
        globals += ", " + result;
        handler += result + "[n] = a " + operators()[i].text + " b; ";
        end += "printf(\"%d \", " + result + "[i]); ";
    }
    return globals + "\n" + handler + "n = n + 1 }\nprobe begin { " + assignments("left", left) +
           assignments("right", right) + "}\n" + end + "println(\"\") } }\n";
}

TEST(Expressions, OperatorsCalculateAsTheProcessor) {
    const std::vector<int64_t> numbers{INT64_MIN, INT64_MIN + 1, -64, -7, -2, -1, 1, 2, 7, 63, 64,
                                       65,        INT64_MAX,     0};
    for (const bool divides : {false, true}) {
        const std::vector<int64_t> right(numbers.begin(), numbers.end() - divides);
        const size_t columns = divides ? operators().size() : operators().size() - 2;
        std::string expected;
        for (const int64_t a : numbers)
            for (const int64_t b : right) {
                for (size_t i = 0; i < columns; i++)
                    expected += std::to_string(operators()[i].result(a, b)) + " ";
                expected += "\n";
            }
        // Without a context, and with one, which a division by a variable needs.
        EXPECT_EQ(printed_by(pairs_script(numbers, right, columns,
                                          divides ? "x = sprintf(\"%d\", a); " : ""),
                             static_cast<unsigned>(numbers.size() * right.size())),
                  expected);
    }
}

TEST(Expressions, DivisorsThatAreLiterals) {
    EXPECT_EQ(printed_by(R"(
        global n = 1000, q, m
        probe timer.s(100000) { q[n] = n / 7; m[n] = n % 7; q[1] = n / -1; m[1] = n % -1; n = -n }
        probe end { printf("%d %d %d %d %d %d\n", q[1000], m[1000], q[-1000], m[-1000], q[1], m[1]) }
    )",
                         2),
              "142 6 -142 -6 1000 0\n");
}

TEST(Expressions, DivisionByZeroIsAnErrorWhoseStatementHasNoEffect) {
    for (const char* wrong : {"x = 7 / zero", "x = 7 % zero", "x /= zero", "x %= zero",
                              "a[9] /= zero", "a[9] %= zero", "x = 7 / 0", "x = 7 % 0"}) {
        const std::string script =
            std::string("global zero, a\nprobe begin { a[1] = 0; zero = a[1]; x = 3\n"
                        "try { ") +
            wrong + R"(; println("went on") } catch (e) { println(e) }
            println(x, " ", 9 in a, zero) })";
        EXPECT_EQ(printed_by(script), "division by 0\n3 00\n") << wrong;
    }
}

TEST(Expressions, DivisionByALiteralZeroIsAnErrorOfAnyHandler) {
    for (const char* wrong : {"n = n / 0", "n = n % 0", "n /= 0", "c += 7 / 0", "n = a[n % 0]"}) {
        const auto executed =
            execute(std::string("global n = 4, c, a\nprobe timer.s(100000) { ") + wrong +
                        " }\nprobe end { a[1] = n; println(n, c, a[1]); c++ }",
                    1);
        EXPECT_EQ(executed.output, "404\n") << wrong;
        EXPECT_NE(executed.messages.find("division by 0"), std::string::npos) << wrong;
    }
}

TEST(Expressions, ErrorsEndTheProbe) {
    CodegenOptions options;
    options.limits.MAXERRORS = 5;
    const auto executed = execute(R"(
        global n, ended
        probe timer.s(100000) { n = n + 1; q = 1 / (n - 1); ended = ended + q }
        probe end { println(n, " ", ended) })",
                                  3, options);
    EXPECT_EQ(executed.output, "3 1\n"); // 1 / 1, and 1 / 2
    EXPECT_NE(executed.messages.find("division by 0"), std::string::npos);
    EXPECT_NE(executed.messages.find("script.stp:3:"), std::string::npos);
}

TEST(Expressions, UnaryOperatorsAndChoices) {
    EXPECT_EQ(printed_by(R"(
        global n, r
        probe timer.s(100000) {
            r[0] = !n; r[1] = -n; r[2] = ~n; r[3] = +n; r[4] = n ? 10 : 20; r[5] = !n ? 10 : 20
            if (!n) r[6] = 1; else r[6] = 2
            if (n && n > 1 || n < 0) r[7] = 1; else r[7] = 2
            n = n + 1
        }
        probe end { for (i = 0; i < 8; i++) print(r[i], " ") }
        )",
                         2),
              "0 -1 -2 1 10 20 2 2 ");
    EXPECT_EQ(printed_by(R"(
        global n
        function note(x) { n = 10 * n + x; return x }
        probe begin {
            a = note(0) && note(1); b = note(2) || note(3); c = note(0) || note(4); d = note(5) && note(0)
            println(n, " ", a, b, c, d)
        })"),
              "20450 0110\n"); // 0, 2, 0 4, 5 0
}

TEST(Expressions, IncrementsYieldTheOldOrTheNewValue) {
    EXPECT_EQ(printed_by(R"(
        global g, a
        probe begin {
            n = 5
            println(n++, " ", ++n, " ", n--, " ", --n, " ", n)
            g = 5
            println(g++, " ", ++g, " ", g--, " ", --g, " ", g)
            a[-1] = 5
            println(a[-1]++, " ", ++a[-1], " ", a[-1]--, " ", --a[-1], " ", a[-1])
            println(n += 3, " ", g -= 3, " ", a[-1] *= 3, " ", n <<= 2, " ", g ^= 7, " ", a[2] |= 8)
            println(n, " ", g, " ", a[-1], " ", a[2])
        })"),
              "5 7 7 5 5\n5 7 7 5 5\n5 7 7 5 5\n8 2 15 32 5 8\n32 5 15 8\n");
}

TEST(Expressions, AChoiceThatFeedsItsCondition) {
    EXPECT_EQ(printed_by(R"(
        probe begin {
            for (x = 27; x != 1; steps++) x = x & 1 ? 3 * x + 1 : x / 2
            println(steps)
        })"),
              "111\n"); // known of the Collatz sequence of 27
}

TEST(Expressions, MemoryIsReadInItsSize) {
    static const uint64_t memory[] = {0x8182838485868788, 0x7172737475767778};
    const auto address = std::to_string(reinterpret_cast<uintptr_t>(memory));
    const std::string narrow = std::to_string(static_cast<int8_t>(memory[0])) + " " +
                               std::to_string(static_cast<int16_t>(memory[0])) + " " +
                               std::to_string(static_cast<int32_t>(memory[0]));
    for (const char* runs : {"probe end", "probe timer.s(100000)"})
        EXPECT_EQ(printed_by(std::string(runs) + " { m = " + address + R"(
            printf("%x %x %x %x\n", @uderef(1, m), @uderef(2, m), @uderef(4, m), @uderef(8, m))
            printf("%d %d %d %x\n", kernel_char(m), kernel_short(m), kernel_int(m), kernel_long(m))
            printf("%d %d %d %d\n", user_char(m), user_short(m), user_int(m), user_char(m + 8))
            printf("%d %d\n", user_int(8), user_long(m + 8))
        })",
                             *(runs + 6) == 't'),
                  "88 8788 85868788 8182838485868788\n" + narrow + " 8182838485868788\n" + narrow +
                      " 120\n0 " + std::to_string(memory[1]) + "\n");
    const auto failed = execute("probe begin { try { x = kernel_int(8) } catch (e) { println(e) }\n"
                                "x = @uderef(2, 16)\nprintln(x) }");
    EXPECT_NE(failed.output.find("0x8"), std::string::npos) << failed.output;
    EXPECT_NE(failed.messages.find("0x10"), std::string::npos) << failed.messages;
    EXPECT_NE(failed.messages.find("script.stp:2:"), std::string::npos) << failed.messages;
}

TEST(Expressions, FunctionsReturnNumbersAndStrings) {
    EXPECT_EQ(printed_by(R"(
        function fact(n) { if (n <= 1) return 1; return n * fact(n - 1) }
        function twice(s:string) { s = s . s; return s }
        function nothing() { if (0) return 1 }
        function some(n) { if (n > 5) return n }
        function none:string() { x = "a" }
        function both(a, s:string, b) { return sprintf("%d%s%d", a, s, b) }
        probe begin {
            s = "ab"
            println(fact(10), " ", twice(s), s, " ", nothing(), "[", none(), "]", both(1, "x", 2))
            for (n = 4; n < 8; n++) print(some(n), " ")
            s = twice(s); t = twice(twice(s))
            println(s, " ", t)
        })"),
              "3628800 ababab 0[]1x2\n0 0 6 7 abab abababababababab\n");
}

TEST(Expressions, NextInAFunctionCallsTheOverloadOfTheNextPriority) {
    const auto executed = execute(R"(
        function f(n) { if (n > 1) next; return 10 + n }
        function f(n) { if (n > 2) next; return 20 + n }
        function g:string(s:string) { if (s != "a") next; return "first " . s }
        function g:string(s:string) { return "second " . s }
        probe begin { println(f(1), " ", f(2), " ", g("a"), " ", g("b")); println(f(3)) })");
    EXPECT_EQ(executed.output, "11 22 first a second b\n");
    EXPECT_NE(executed.messages.find("script.stp:6:"), std::string::npos) << executed.messages;
}

} // namespace
} // namespace djstap
