// SPDX-License-Identifier: GPL-2.0-or-later
// Compares djs_format with C's printf where both mean the same, and tests it alone where they do
// not.
#include "include/record.h"
#include "include/statistic.h"
#include "include/text.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

// An argument area as handlers write it.
class Arguments {
  public:
    Arguments& number(s64 value) {
        types += 'l';
        return append(&value, sizeof(value));
    }
    Arguments& text(const std::string& value) {
        types += 's';
        const u32 length = static_cast<u32>(value.size());
        bytes.append(reinterpret_cast<const char*>(&length), 4);
        bytes.append(value);
        bytes.resize(DJS_ALIGN8(bytes.size()));
        return *this;
    }
    Arguments& stack(const std::vector<u64>& addresses) {
        types += 'k';
        const u64 count = addresses.size();
        append(&count, sizeof(count));
        return append(addresses.data(), count * sizeof(u64));
    }
    Arguments& name(std::string value) {
        types += 'n';
        value.resize(DJS_NAME_BYTES);
        return append(value.data(), value.size());
    }
    Arguments& histogram(const djs_histogram_header& header, const std::vector<s64>& buckets) {
        types += 'h';
        append(&header, sizeof(header));
        return append(buckets.data(), buckets.size() * sizeof(s64));
    }
    std::string format(const char* format) const {
        // In memory of exactly this size, so that the sanitizer detects every read beyond it.
        auto exact = std::make_unique<char[]>(bytes.size());
        std::memcpy(exact.get(), bytes.data(), bytes.size());
        const size_t length =
            djs_format(nullptr, 0, format, types.c_str(), exact.get(), bytes.size());
        std::string out(length + 1, '#');
        EXPECT_EQ(
            djs_format(out.data(), out.size(), format, types.c_str(), exact.get(), bytes.size()),
            length);
        EXPECT_EQ(out[length], '\0');
        for (const size_t room : {length / 7, length / 2, length - length / 7}) {
            std::vector<char> cut(room + 1);
            EXPECT_EQ(djs_format(cut.data(), cut.size(), format, types.c_str(), exact.get(),
                                 bytes.size()),
                      room);
            EXPECT_EQ(std::string(cut.data(), room), out.substr(0, room));
        }
        out.resize(length);
        return out;
    }

    std::string types, bytes;

  private:
    Arguments& append(const void* data, size_t size) {
        bytes.append(static_cast<const char*>(data), size);
        return *this;
    }
};

std::string log_histogram(const std::vector<s64>& values) {
    djs_statistic_shape shape{};
    shape.histogram = DJS_HISTOGRAM_LOG;
    shape.buckets = DJS_LOG_BUCKETS;
    std::vector<s64> buckets(DJS_LOG_BUCKETS);
    for (s64 value : values)
        buckets[djs_statistic_bucket(&shape, value)]++;
    djs_histogram_header header{};
    header.kind = DJS_HISTOGRAM_LOG;
    header.buckets = DJS_LOG_BUCKETS;
    return Arguments().histogram(header, buckets).format("%H");
}

std::string linear_histogram(s64 low, s64 high, s64 width,
                             const std::vector<std::pair<s64, s64>>& counted) {
    djs_statistic_shape shape{};
    shape.histogram = DJS_HISTOGRAM_LINEAR;
    shape.low = low;
    shape.high = high;
    shape.width = width;
    shape.buckets = static_cast<u32>((high - low) / width + 3);
    std::vector<s64> buckets(shape.buckets);
    for (auto& [value, count] : counted)
        buckets[djs_statistic_bucket(&shape, value)] += count;
    djs_histogram_header header{};
    header.kind = DJS_HISTOGRAM_LINEAR;
    header.buckets = shape.buckets;
    header.low = low;
    header.high = high;
    header.width = width;
    return Arguments().histogram(header, buckets).format("%H");
}

const std::string head = std::string(50, '-').insert(0, "value |").append(" count\n");

// One row of a histogram: the label with its " |", the bar, the count.
std::string row(const char* label, size_t signs, const char* count, size_t width = 0) {
    std::string out(label);
    out.append(" |").append(signs, '@').append(50 - signs + 1, ' ');
    if (const size_t length = std::strlen(count); length < width)
        out.append(width - length, ' ');
    return out.append(count).append("\n");
}

std::string bracketed(const std::string& middle, const char* modifier, char conversion) {
    std::string out("[%");
    return out.append(middle).append(modifier).append(1, conversion).append("]");
}

std::string table(std::initializer_list<std::string> rows) {
    std::string out = head;
    for (auto& each : rows)
        out.append(each);
    return out.append("\n");
}

} // namespace

// A precision with a flag 0, and 0 with a precision or a base, have rules of their own in the
// language.
TEST(Format, NumbersAgreeWithSnprintf) {
    std::mt19937_64 random(4);
    for (int i = 0; i < 200000; i++) {
        const char conversion = "diuoxX"[random() % 6];
        const bool has_precision = random() % 3 == 0;
        std::string flags;
        for (char flag : std::string(conversion == 'd' || conversion == 'i'   ? "-+ "
                                     : conversion == 'x' || conversion == 'X' ? "-#"
                                                                              : "-"))
            if (random() % 3 == 0)
                flags += flag;
        if (!has_precision && random() % 3 == 0)
            flags += '0';
        std::string middle = flags;
        if (random() % 2)
            middle += std::to_string(random() % 30);
        if (has_precision)
            middle.append(".").append(random() % 4 ? std::to_string(random() % 30) : std::string());
        s64 value = random() % 8 ? static_cast<s64>(random()) >> (random() % 64) : 0;
        if (value == 0 && (has_precision || flags.find('#') != std::string::npos))
            value = 1;
        char expected[128];
        std::snprintf(expected, sizeof(expected), bracketed(middle, "ll", conversion).c_str(),
                      static_cast<long long>(value));
        EXPECT_EQ(Arguments().number(value).format(bracketed(middle, "", conversion).c_str()),
                  expected)
            << middle << conversion << " " << value;
    }
}

TEST(Format, NumbersWhereTheLanguageIsNotC) {
    auto format = [](const char* format, s64 value) {
        return Arguments().number(value).format(format);
    };
    EXPECT_EQ(format("[%.0d]", 0), "[0]");
    EXPECT_EQ(format("[%5.0x]", 0), "[    0]");
    EXPECT_EQ(format("[%08.3d]", 5), "[00000005]");
    EXPECT_EQ(format("[%08.3d]", -5), "[-0000005]");
    EXPECT_EQ(format("[%-08.3d]", 5), "[005     ]");
    EXPECT_EQ(format("[%#08.3x]", 10), "[0x00000a]");
    EXPECT_EQ(format("[%#o]", 0), "[00]");
    EXPECT_EQ(format("[%#o]", 8), "[010]");
    EXPECT_EQ(format("[%#.3o]", 8), "[0010]");
    EXPECT_EQ(format("[%#x]", 0), "[0x0]");
    EXPECT_EQ(format("[%#X]", 255), "[0XFF]");
    EXPECT_EQ(format("[%.3p]", 16), "[0x010]");
    EXPECT_EQ(Arguments().number(-6).number(5).format("[%*d]"), "[5]");
    EXPECT_EQ(Arguments().number(-6).number(5).format("[%-*d]"), "[5]");
    EXPECT_EQ(Arguments().number(-1).number(5).format("[%.*d]"), "[5]");
    EXPECT_EQ(Arguments().number(-1).text("abc").format("[%.*s]"), "[]");
    EXPECT_EQ(Arguments().number((s64{1} << 32) + 3).number(5).format("[%*d]"), "[  5]");
    EXPECT_EQ(Arguments().text("ab").format("[%04s]"), std::string("[  ab\0]", 7));
    EXPECT_EQ(Arguments().text("ab").format("[%-04s]"), "[ab  ]");
}

TEST(Format, StringsAgreeWithSnprintf) {
    std::mt19937_64 random(6);
    for (int i = 0; i < 50000; i++) {
        const std::string value(random() % 20, static_cast<char>('a' + random() % 26));
        const int width = static_cast<int>(random() % 20),
                  precision = static_cast<int>(random() % 20);
        const char* format = random() % 2 ? "<%*.*s|%s>" : "<%-*.*s|%s>";
        char expected[128];
        std::snprintf(expected, sizeof(expected), format, width, precision, value.c_str(),
                      value.c_str());
        EXPECT_EQ(
            Arguments().number(width).number(precision).text(value).text(value).format(format),
            expected);
    }
}

TEST(Format, ConversionsOfTheLanguage) {
    EXPECT_EQ(Arguments().number(0).format("%p"), "0x0");
    EXPECT_EQ(Arguments().number(-1).format("%p"), "0xffffffffffffffff");
    EXPECT_EQ(Arguments().number(0xbc614e).format("%20p|"), "            0xbc614e|");
    EXPECT_EQ(Arguments().number('a').number('b').format("%c%3c"), "a  b");
    EXPECT_EQ(Arguments().number('\n').number(1).number('x').number('\\').format("%#c%#c%#c%#c"),
              "\\n\\001x\\\\");
    EXPECT_EQ(Arguments().format("100%% %%"), "100% %");
    EXPECT_EQ(Arguments().number(72).number(0x6c6c).format("%1be%2bo"), "Hello");
    EXPECT_EQ(Arguments().number(0x0102).format("%b"), std::string("\2\1\0\0\0\0\0\0", 8));
    EXPECT_EQ(Arguments().number(0x01020304).format("%4b"), "\4\3\2\1");
    EXPECT_EQ(Arguments().number(0x41424344).format("%6.2b|"), std::string("\0\0\0\0DC|", 7));
    EXPECT_EQ(Arguments().number(0x41424344).format("%-3.2b|"), std::string("DC\0|", 4));
    EXPECT_EQ(Arguments().number('"').number(0xff).format("%#c%#c"), "\"\\377");
    EXPECT_EQ(Arguments().number(0).number(' ').number('~').format("%#c%#c%#c"), "\\000 ~");
    EXPECT_EQ(Arguments().number(0x1f).number(0x7f).number(0x8d).format("%#c%#c%#c"),
              "\\037\\177\\215");
    EXPECT_EQ(Arguments().number(0x0102).format("%3b|"), std::string("\2\1\0\0\0\0\0\0|", 9));
    EXPECT_EQ(Arguments().number(0x0102).format("%9b|"), std::string("\0\2\1\0\0\0\0\0\0|", 10));
    EXPECT_EQ(Arguments().text(std::string("a\0b", 3)).format("%m"), std::string("a\0b", 3));
    EXPECT_EQ(Arguments().text(std::string("\xde\xad\xbe\xef")).format("%10.4M"), "  deadbeef");
    EXPECT_EQ(Arguments().number(2).text("\xde\xad").format("%-6.*M|"), "dead  |");
    EXPECT_EQ(Arguments().number(5).format("%ld"), "5");
}

TEST(Format, NamesEndAtTheirRoom) {
    const std::string longest = "0123456789abcdef";
    EXPECT_EQ(Arguments().name("cat").number(5).format("<%s> %d"), "<cat> 5");
    EXPECT_EQ(Arguments().name("").format("<%s>"), "<>");
    EXPECT_EQ(Arguments().name(longest).text("x").format("<%s> %s"), "<" + longest + "> x");
    EXPECT_EQ(Arguments().name(longest).format("%18.15s|"), "   " + longest.substr(0, 15) + "|");
    Arguments cut;
    cut.name("cat");
    cut.bytes.pop_back();
    EXPECT_EQ(cut.format("a%sb"), "a");
}

TEST(Format, StacksAreTheTextOfTheirAddresses) {
    const std::vector<u64> stack{0xffffffff81000010, 0x1, 0, 0xfedcba9876543210};
    const std::string text = "0xffffffff81000010 0x1 0x0 0xfedcba9876543210";
    EXPECT_EQ(Arguments().stack(stack).format("%s"), text);
    EXPECT_EQ(Arguments().stack({}).format("<%s>"), "<>");
    // Flags, widths and precisions apply to the whole text, as to that of a string.
    for (const char* format : {"%50s|", "%-50s|", "%.20s|", "%.19s|", "%.1s|", "%.0s|", "%-30.25s|",
                               "%050s|", "%.100s|", "%20.9s|"})
        EXPECT_EQ(Arguments().stack(stack).format(format), Arguments().text(text).format(format))
            << format;
    EXPECT_EQ(Arguments().number(4).stack(stack).text("x").format("%.*s %s"), "0xff x");
    EXPECT_EQ(Arguments().stack(stack).number(7).format("%s %d"), text + " 7");
}

TEST(Format, DamagedStacksEndTheOutput) {
    Arguments damaged;
    damaged.stack({1, 2, 3});
    for (size_t size = 0; size < damaged.bytes.size(); size++) {
        Arguments shorter;
        shorter.types = "k";
        shorter.bytes = damaged.bytes.substr(0, size);
        EXPECT_EQ(shorter.format("a%sb"), "a") << size;
    }
    for (const u64 count : {u64{4}, u64{1} << 61, ~u64{0}}) {
        std::memcpy(damaged.bytes.data(), &count, sizeof(count));
        EXPECT_EQ(damaged.format("a%sb"), "a") << count;
    }
    EXPECT_EQ(Arguments().stack({1}).format("a%db"), "a");
    EXPECT_EQ(Arguments().stack({1}).format("a%Mb"), "a");
    // What follows looks like the rest of an empty one.
    const char zeros[16] = {};
    char out[16];
    for (size_t size = 0; size < 8; size++)
        EXPECT_EQ(djs_format(out, sizeof out, "a%sb", "k", zeros, size), 1U) << size;
}

TEST(Format, MissingOrWrongArgumentsEndTheOutput) {
    EXPECT_EQ(Arguments().format("a%db"), "a");
    EXPECT_EQ(Arguments().number(1).format("a%sb"), "a");
    EXPECT_EQ(Arguments().text("x").format("a%db"), "a");
    EXPECT_EQ(Arguments().number(1).format("a%d %d"), "a1 ");
    EXPECT_EQ(Arguments().number(1).format("a%q"), "a");
    EXPECT_EQ(Arguments().number(1).format("a%"), "a");
    EXPECT_EQ(Arguments().number(1).format("a%-05"), "a");
    EXPECT_EQ(Arguments().number(1).format("%*d|"), "");
    EXPECT_EQ(djs_format(nullptr, 0, nullptr, nullptr, nullptr, 0), 0u);
    EXPECT_EQ(djs_format(nullptr, 0, "%d", "l", nullptr, 8), 0u);
    Arguments truncated;
    truncated.text("hello");
    truncated.bytes.resize(8);
    EXPECT_EQ(truncated.format("a%s"), "a");
}

TEST(Format, HugeFieldsCostNothingBeyondTheRoom) {
    char out[16];
    Arguments arguments;
    arguments.number(INT32_MAX).number(INT64_MIN).number(7);
    const size_t length = djs_format(out, sizeof(out), "%*.*d", "lll", arguments.bytes.data(),
                                     arguments.bytes.size());
    EXPECT_EQ(length, 15u);
    EXPECT_EQ(std::string(out), std::string(15, ' '));
    EXPECT_EQ(djs_format(nullptr, 0, "%99999999999999999999d", "l", arguments.bytes.data(), 8),
              size_t{8192});
}

TEST(Format, RandomFormatsAndBytesNeverReadOutside) {
    std::mt19937_64 random(8);
    const std::string letters = "%%%%%dioxXupscmMbHl*.-+ 0#123456789abc";
    for (int i = 0; i < 200000; i++) {
        Arguments arguments;
        std::string format;
        for (size_t n = random() % 20; n > 0; n--)
            format += letters[random() % letters.size()];
        for (size_t n = random() % 5; n > 0; n--)
            arguments.types += "lshkn"[random() % 5];
        for (size_t n = random() % 80; n > 0; n--)
            arguments.bytes += static_cast<char>(random() % 3 ? random() % 4 : random());
        arguments.format(format.c_str());
    }
}

TEST(Histogram, LogarithmicAsUsersKnowIt) {
    std::vector<s64> values(8, 5);
    values.insert(values.end(), {33, -1});
    EXPECT_EQ(log_histogram(values),
              table({row("   -4", 0, "0"), row("   -2", 0, "0"), row("   -1", 1, "1"),
                     row("    0", 0, "0"), row("    1", 0, "0"), row("    2", 0, "0"),
                     row("    4", 8, "8"), row("    8", 0, "0"), row("   16", 0, "0"),
                     row("   32", 1, "1"), row("   64", 0, "0"), row("  128", 0, "0")}));
}

// Without negative values there are no rows for them.
TEST(Histogram, LogarithmicBeginsAtZero) {
    EXPECT_EQ(log_histogram({0, 0}),
              table({row("    0", 2, "2"), row("    1", 0, "0"), row("    2", 0, "0")}));
    EXPECT_EQ(log_histogram({1}), table({row("    0", 0, "0"), row("    1", 1, "1"),
                                         row("    2", 0, "0"), row("    4", 0, "0")}));
    EXPECT_EQ(log_histogram({-1}),
              table({row("   -4", 0, "0"), row("   -2", 0, "0"), row("   -1", 1, "1"),
                     row("    0", 0, "0"), row("    1", 0, "0")}));
}

// The longest bar has at most 50 characters, whose scale is a whole number.
TEST(Histogram, ScalesByWholeNumbers) {
    EXPECT_EQ(log_histogram(std::vector<s64>(50, 0)),
              table({row("    0", 50, "50"), row("    1", 0, "0", 2), row("    2", 0, "0", 2)}));
    EXPECT_EQ(log_histogram(std::vector<s64>(51, 0)),
              table({row("    0", 25, "51"), row("    1", 0, "0", 2), row("    2", 0, "0", 2)}));
    EXPECT_EQ(log_histogram(std::vector<s64>(149, 0)),
              table({row("    0", 49, "149"), row("    1", 0, "0", 3), row("    2", 0, "0", 3)}));
}

// The language reference's example of @hist_linear.
TEST(Histogram, LinearElidesEmptyRunsAndScales) {
    EXPECT_EQ(linear_histogram(0, 10240, 200, {{100, 1650}, {200, 8}, {1400, 1}}),
              table({row("    0", 50, "1650"), row("  200", 0, "8", 4), row("  400", 0, "0", 4),
                     row("  600", 0, "0", 4), "      ~\n", row(" 1000", 0, "0", 4),
                     row(" 1200", 0, "0", 4), row(" 1400", 0, "1", 4), row(" 1600", 0, "0", 4),
                     row(" 1800", 0, "0", 4)}));
}

TEST(Histogram, LinearShowsWhatLiesOutside) {
    EXPECT_EQ(linear_histogram(0, 20, 10, {{-5, 1}, {30, 2}, {10, 3}}),
              table({row("   <0", 1, "1"), row("    0", 0, "0"), row("   10", 3, "3"),
                     row("   20", 0, "0"), row("  >20", 2, "2")}));
    // The last bucket is as wide as the others, even if it exceeds the upper end.
    EXPECT_EQ(linear_histogram(0, 20, 10, {{29, 1}}),
              table({row("    0", 0, "0"), row("   10", 0, "0"), row("   20", 1, "1")}));
    EXPECT_EQ(linear_histogram(0, 20, 7, {{20, 1}, {21, 1}}),
              table({row("    0", 0, "0"), row("    7", 0, "0"), row("   14", 1, "1"),
                     row("  >14", 1, "1")}));
    EXPECT_EQ(linear_histogram(0, 20, 10, {{10, 3}}),
              table({row("    0", 0, "0"), row("   10", 3, "3"), row("   20", 0, "0")}));
}

// The columns are as wide as the widest count, also of those that
// only a damaged recording has.
TEST(Histogram, CountsMayBeNegative) {
    EXPECT_EQ(
        linear_histogram(0, 20, 10, {{0, 2}, {10, -1000}, {20, 10}}),
        table({row("    0", 2, "2", 5), row("   10", 0, "-1000"), row("   20", 10, "10", 5)}));
}

// A sign takes room, too.
TEST(Histogram, LinearLabelsHaveSigns) {
    const std::string wide_head = "  value |" + std::string(50, '-') + " count\n";
    EXPECT_EQ(linear_histogram(-100000, 100000, 50000, {{-100000, 1}}),
              wide_head + row("-100000", 1, "1") + row(" -50000", 0, "0") + row("      0", 0, "0") +
                  "\n");
    EXPECT_EQ(linear_histogram(100000, 300000, 100000, {{5, 1}}),
              wide_head + row("<100000", 1, "1") + row(" 100000", 0, "0") + row(" 200000", 0, "0") +
                  "\n");
    EXPECT_EQ(linear_histogram(100000, 300000, 100000, {{500000, 1}}),
              wide_head + row(" 200000", 0, "0") + row(" 300000", 0, "0") + row(">300000", 1, "1") +
                  "\n");
}

// There is room for the bound after the last row.
TEST(Histogram, LinearLabelsHaveRoom) {
    const std::string wide_head = " value |" + std::string(50, '-') + " count\n";
    EXPECT_EQ(linear_histogram(0, 99999, 33333, {{70000, 1}}),
              wide_head + row("     0", 0, "0") + row(" 33333", 0, "0") + row(" 66666", 1, "1") +
                  row(" 99999", 0, "0") + "\n");
    EXPECT_EQ(linear_histogram(0, 66666, 33333, {{5, 1}}),
              table({row("    0", 1, "1"), row("33333", 0, "0"), row("66666", 0, "0")}));
}

// The column is as wide as the longest of them.
TEST(Histogram, LogarithmicLabelsHaveRoom) {
    EXPECT_EQ(log_histogram({1 << 20}), "  value |" + std::string(50, '-') + " count\n" +
                                            row(" 262144", 0, "0") + row(" 524288", 0, "0") +
                                            row("1048576", 1, "1") + row("2097152", 0, "0") +
                                            row("4194304", 0, "0") + "\n");
    // 2 to the 62nd and more below 0: the row before it is the first one.
    EXPECT_EQ(log_histogram({-(1LL << 62)}),
              std::string(15, ' ') + "value |" + std::string(50, '-') + " count\n" +
                  row("-9223372036854775808", 0, "0") + row("-4611686018427387904", 1, "1") +
                  row("-2305843009213693952", 0, "0") + row("-1152921504606846976", 0, "0") + "\n");
}

// Two next to each row with a count: "~" stands for what is between them.
TEST(Histogram, LinearShowsUpToFourEmptyRows) {
    EXPECT_EQ(linear_histogram(0, 50, 10, {{0, 1}, {70, 1000}}),
              table({row("    0", 0, "1", 4), row("   10", 0, "0", 4), row("   20", 0, "0", 4),
                     "      ~\n", row("   40", 0, "0", 4), row("   50", 0, "0", 4),
                     row("  >50", 50, "1000")}));
    EXPECT_EQ(linear_histogram(0, 60, 10, {{0, 1}, {50, 1}}),
              table({row("    0", 1, "1"), row("   10", 0, "0"), row("   20", 0, "0"),
                     row("   30", 0, "0"), row("   40", 0, "0"), row("   50", 1, "1"),
                     row("   60", 0, "0")}));
}

// Their number is a recording's, which may end before them.
TEST(Histogram, NeedsAllOfItsBuckets) {
    struct {
        djs_histogram_header header;
        s64 buckets[3];
    } made{};
    made.header.kind = DJS_HISTOGRAM_LINEAR;
    made.header.buckets = 3;
    made.header.width = 10;
    made.buckets[1] = 2;
    char text[256];
    const auto whole = table({row("    0", 2, "2")});
    EXPECT_EQ(djs_format_histogram(text, sizeof text, &made, sizeof made), whole.size());
    EXPECT_EQ(text, whole);
    EXPECT_EQ(djs_format_histogram(text, sizeof text, &made, sizeof made - 1), 0U);
}

TEST(Histogram, ExtremesAndNonsense) {
    const auto extremes = log_histogram({INT64_MIN, INT64_MAX});
    EXPECT_NE(extremes.find("-9223372036854775808 |@"), std::string::npos) << extremes;
    EXPECT_NE(extremes.find("4611686018427387904 |@"), std::string::npos) << extremes;
    // There is no row after it, because no number is as large as 2 to the 63rd.
    EXPECT_EQ(extremes.find("-9223372036854775808"), extremes.rfind("-9223372036854775808"))
        << extremes;
    EXPECT_EQ(log_histogram({}), table({}));
    djs_histogram_header header{};
    header.kind = DJS_HISTOGRAM_LOG;
    header.buckets = 5;
    EXPECT_EQ(Arguments().histogram(header, std::vector<s64>(5)).format("x%Hy"), "x");
    header.kind = 77;
    EXPECT_EQ(Arguments().histogram(header, std::vector<s64>(5)).format("x%Hy"), "x");
    header.kind = DJS_HISTOGRAM_LINEAR;
    header.buckets = 0xffffffff;
    EXPECT_EQ(Arguments().histogram(header, std::vector<s64>(5)).format("x%Hy"), "x");
    header.buckets = 2;
    EXPECT_EQ(Arguments().histogram(header, std::vector<s64>(2)).format("x%Hy"), "x");
    header.buckets = 3;
    EXPECT_EQ(Arguments().histogram(header, std::vector<s64>(3)).format("%H"), table({}));
    EXPECT_EQ(djs_format_histogram(nullptr, 0, nullptr, 0), 0u);
}
