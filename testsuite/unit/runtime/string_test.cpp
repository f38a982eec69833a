// SPDX-License-Identifier: GPL-2.0-or-later
#include "include/text.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace {
std::string substr(const char* in, s64 start, s64 length, size_t size = 32) {
    std::string out(size, '#');
    const size_t written = djs_text_substr(out.data(), size, in, start, length);
    EXPECT_EQ(out[written], '\0');
    return out.substr(0, written);
}
} // namespace

TEST(Text, CopyAndConcatStopAtTheRoom) {
    char out[8];
    EXPECT_EQ(djs_text_copy(out, "0123456789", sizeof(out)), 7u);
    EXPECT_STREQ(out, "0123456");
    EXPECT_EQ(djs_text_copy(out, nullptr, sizeof(out)), 0u);
    EXPECT_STREQ(out, "");
    EXPECT_EQ(djs_text_copy(nullptr, "x", 0), 0u);
    EXPECT_EQ(djs_text_concat(out, "ab", "cd", sizeof(out)), 4u);
    EXPECT_EQ(djs_text_concat(out, out, "efghij", sizeof(out)), 7u);
    EXPECT_STREQ(out, "abcdefg");
    EXPECT_EQ(djs_text_concat(out, out, "x", sizeof(out)), 7u);
}

// Words are copied where both places are aligned, up to the room.
TEST(Text, CopyAtAnyPlace) {
    const std::string longest = "0123456789abcdefghijklmnopqrst";
    alignas(8) char in[48], out[64];
    for (const size_t in_at : {0u, 3u})
        for (const size_t out_at : {0u, 5u})
            for (size_t length = 0; length <= longest.size(); length++)
                for (size_t size = 1; size < 40; size++) {
                    std::memset(in, '?', sizeof(in));
                    std::memset(out, '#', sizeof(out));
                    std::memcpy(in + in_at, longest.data(), length);
                    in[in_at + length] = 0;
                    const std::string expected = longest.substr(0, std::min(length, size - 1));
                    ASSERT_EQ(djs_text_copy(out + out_at, in + in_at, size), expected.size());
                    ASSERT_EQ(out + out_at, expected);
                    ASSERT_EQ(std::string(out + out_at + size, 8), "########") << size;
                }
}

TEST(Text, Length) {
    EXPECT_EQ(djs_text_length("abc"), 3u);
    EXPECT_EQ(djs_text_length(nullptr), 0u);
}

TEST(Text, Compare) {
    EXPECT_EQ(djs_text_compare("a", "b"), -1);
    EXPECT_EQ(djs_text_compare("b", "a"), 1);
    EXPECT_EQ(djs_text_compare("a", "a"), 0);
    EXPECT_EQ(djs_text_compare("a", "ab"), -1);
    EXPECT_EQ(djs_text_compare("\x80", "a"), 1);
    EXPECT_EQ(djs_text_compare(nullptr, ""), 0);
}

// Words are compared where both strings are aligned, and bytes elsewhere, at the end or in between.
TEST(Text, CompareAtAnyPlace) {
    const auto sign = [](int value) { return (value > 0) - (value < 0); };
    alignas(8) char left[48], right[48];
    for (const size_t left_at : {0u, 1u, 8u})
        for (const size_t right_at : {0u, 3u, 8u})
            for (size_t length = 0; length < 26; length++)
                for (size_t at = 0; at <= length; at++)
                    for (const char other : {'\0', 'a', 'z', '\xff'}) {
                        std::memset(left, '?', sizeof(left));
                        std::memset(right, '!', sizeof(right));
                        std::memset(left + left_at, 'm', length);
                        std::memset(right + right_at, 'm', length);
                        left[left_at + length] = right[right_at + length] = 0;
                        left[left_at + at] = other;
                        left[left_at + length] = 0;
                        EXPECT_EQ(djs_text_compare(left + left_at, right + right_at),
                                  sign(std::strcmp(left + left_at, right + right_at)))
                            << length << " " << at;
                    }
}

TEST(Text, Substr) {
    EXPECT_EQ(substr("hello", 1, 3), "ell");
    EXPECT_EQ(substr("hello", 0, 100), "hello");
    EXPECT_EQ(substr("hello", 5, 1), "");
    EXPECT_EQ(substr("hello", 6, 1), "");
    EXPECT_EQ(substr("hello", -1, 3), "");
    EXPECT_EQ(substr("hello", 1, -3), "");
    EXPECT_EQ(substr("hello", 1, INT64_MAX), "ello");
    EXPECT_EQ(substr("hello", INT64_MAX, INT64_MAX), "");
    EXPECT_EQ(substr("hello", 0, 5, 3), "he");
    EXPECT_EQ(substr(nullptr, 0, 5), "");
}

TEST(Text, Find) {
    EXPECT_EQ(djs_text_find("hello", "ll"), 2);
    EXPECT_EQ(djs_text_find("hello", "lll"), -1);
    EXPECT_EQ(djs_text_find("hello", ""), 0);
    EXPECT_EQ(djs_text_find("aab", "ab"), 1);
    EXPECT_EQ(djs_text_find("", ""), 0);
    EXPECT_EQ(djs_text_find("", "a"), -1);
    EXPECT_EQ(djs_text_find(nullptr, "a"), -1);
}

// Periodic parts above all: these are what a search has to be careful with.
TEST(Text, FindsWhatTheLibraryFinds) {
    std::mt19937 random(1);
    const auto word = [&](size_t most) {
        std::string out, unit;
        for (size_t i = 1 + random() % 4; i > 0; i--)
            unit += static_cast<char>('a' + random() % 2);
        for (const size_t length = random() % most; out.size() < length;)
            out += random() % 8 ? unit : "b";
        return out;
    };
    int found = 0;
    for (int i = 0; i < 200000; i++) {
        const std::string text = word(80), part = word(i % 2 ? 12 : 30);
        const size_t at = text.find(part);
        found += at != std::string::npos && part.size() > 8;
        ASSERT_EQ(djs_text_find(text.c_str(), part.c_str()),
                  at == std::string::npos ? -1 : static_cast<s64>(at))
            << text << " " << part;
    }
    EXPECT_GT(found, 1000);
}

namespace {
std::string replaced(const std::string& text, const char* old, const char* by, size_t size = 100) {
    std::string out(size, '#');
    out.resize(djs_text_replace(out.data(), size, text.c_str(), old, by));
    return out;
}
} // namespace

TEST(Text, Replace) {
    EXPECT_EQ(replaced("hello", "l", "L"), "heLLo");
    EXPECT_EQ(replaced("hello", "", "x"), "hello");
    EXPECT_EQ(replaced("aaaaa", "aa", "b"), "bba");
    EXPECT_EQ(replaced("", "a", "b"), "");
    EXPECT_EQ(replaced("abcabc", "abc", ""), "");
    EXPECT_EQ(replaced("a-b-c", "-", "::", 6), "a::b:");
    EXPECT_EQ(replaced("0123456789abc", "123456789a", "-"), "0-bc");
}

// Any of these takes minutes if its time is quadratic.
TEST(Text, SearchesTakeLinearTime) {
    constexpr size_t length = size_t{1} << 21;
    const std::string text(length, 'a'), half(length / 2, 'a');
    EXPECT_EQ(djs_text_find(text.c_str(), (half + "b").c_str()), -1);
    EXPECT_EQ(djs_text_find(text.c_str(), ("b" + half).c_str()), -1);
    EXPECT_EQ(djs_text_find((text + "b").c_str(), (half + "b").c_str()), s64{length / 2});
    EXPECT_EQ(replaced(text, (half + "b").c_str(), "c", length + 1), text);
    EXPECT_EQ(replaced(text, "a", "b", length + 1), std::string(length, 'b'));

    std::string out(length + 1, '#');
    EXPECT_EQ(djs_text_token(out.data(), text.c_str(), 0, std::string(length, 'b').c_str()),
              length);
    EXPECT_EQ(out.c_str(), text);
    EXPECT_EQ(djs_text_token(out.data(),
                             "\xff-\x80"
                             "a",
                             0, "\xff\x80"),
              2u);
    EXPECT_STREQ(out.c_str(), "-");
}

namespace {
// What a function finds on the stack that its caller has left there.
__attribute__((noinline)) void fill_stack() {
    volatile char used[4096];
    for (volatile char& each : used)
        each = '\xff';
}
} // namespace

TEST(Text, TokensEndAtEachOfTheirDelimitersAlone) {
    std::string all;
    for (int byte = 1; byte < 256; byte++)
        all += static_cast<char>(byte);
    for (size_t i = 0; i < all.size(); i++) {
        const std::string delimiters[] = {{all[i]}, {all[i], all[(i + 100) % 255]}};
        for (const std::string& each : delimiters) {
            char out[256];
            const size_t begin = all.find_first_not_of(each);
            const size_t end = std::min(all.find_first_of(each, begin), all.size());
            fill_stack();
            ASSERT_EQ(djs_text_token(out, all.c_str(), 0, each.c_str()), end) << i;
            ASSERT_EQ(out, all.substr(begin, end - begin)) << i;
        }
    }
}

// If the text begins with a plus sign or a space, has digits beyond f, or has too many digits, the
// language has rules of its own.
TEST(Text, ToLongAgreesWithStrtol) {
    std::mt19937_64 random(2);
    const std::string letters = "0123456789abcdefxXzZ-";
    for (int i = 0; i < 200000; i++) {
        std::string in;
        for (size_t n = random() % 15; n > 0; n--)
            in += letters[random() % (random() % 2 ? 10 : letters.size())];
        int base = static_cast<int>(random() % 17);
        if (base == 1)
            base = 0;
        EXPECT_EQ(djs_text_to_long(in.c_str(), base), std::strtoll(in.c_str(), nullptr, base))
            << in << " base " << base;
    }
    EXPECT_EQ(djs_text_to_long("-9223372036854775808", 10), INT64_MIN);
    EXPECT_EQ(djs_text_to_long("9223372036854775808", 10), INT64_MIN);
    EXPECT_EQ(djs_text_to_long("18446744073709551621", 10), 5);
    EXPECT_EQ(djs_text_to_long("+5", 10), 0);
    EXPECT_EQ(djs_text_to_long(" 5", 10), 0);
    EXPECT_EQ(djs_text_to_long("fg", 36), 15);
    EXPECT_EQ(djs_text_to_long("5", 1), 0);
    EXPECT_EQ(djs_text_to_long(nullptr, 10), 0);
}

TEST(Text, Escape) {
    auto escape = [](const std::string& in, size_t most, bool quoted, size_t size = 64) {
        std::string out(size + 1, '#');
        const size_t length = djs_text_escape(out.data(), in.c_str(), most, size, quoted);
        EXPECT_LT(length, size);
        EXPECT_EQ(std::strlen(out.c_str()), length);
        EXPECT_EQ(out[size], '#');
        return std::string(out.c_str());
    };
    EXPECT_EQ(escape("plain", 0, false), "plain");
    EXPECT_EQ(escape("a\n\"\\\x01\xff", 0, false), R"(a\n\"\\\001\377)");
    EXPECT_EQ(escape("\xc3\xa4\xf0\x9f\x98\x80", 0, false), R"(\u00E4\U0001F600)");
    EXPECT_EQ(escape("abcdef", 3, false), "abc");
    EXPECT_EQ(escape("abc", 0, true), "\"abc\"");
    EXPECT_EQ(escape("abcdefgh", 6, true), "\"a\"...");
    EXPECT_EQ(escape("", 1, true), "\"\"");
    EXPECT_EQ(escape("\x1f ~\x7f\x8d", 0, false), R"(\037 ~\177\215)");
    EXPECT_EQ(escape("\xef\xbf\xbf\xf0\x90\x80\x80", 0, false), R"(\uFFFF\U00010000)");
    EXPECT_EQ(escape("\x07\b\t\v\f\r", 0, false), R"(\a\b\t\v\f\r)");
    EXPECT_EQ(escape(std::string(100, 'x'), 0, false, 16), std::string(15, 'x'));
}

TEST(Text, EscapeOfBuffers) {
    const auto escape = [](const std::string& in, size_t most, size_t size = 64) {
        std::string out(size + 1, '#');
        const size_t length = djs_text_escape_buffer(out.data(), in.data(), in.size(), most, size);
        EXPECT_LT(length, size);
        EXPECT_EQ(out[length], '\0');
        EXPECT_EQ(out[size], '#');
        return out.substr(0, length);
    };
    const std::string many(40, 'x');
    const auto shown = [](size_t length) { return "\"" + std::string(length, 'x') + "\"..."; };
    EXPECT_EQ(escape("", 0), R"("")");
    EXPECT_EQ(escape(std::string("a\0b", 3), 0), R"("a\000b")");
    EXPECT_EQ(escape(std::string("\0\0", 2), 0), R"("\000\000")");
    EXPECT_EQ(escape(many, 0), "\"" + many + "\"");
    // The room includes quotes and the end; a limit, the quotes.
    EXPECT_EQ(escape(many, 0, 16), shown(10));
    EXPECT_EQ(escape(many, 17, 16), shown(10));
    EXPECT_EQ(escape(many, 16, 16), shown(10));
    EXPECT_EQ(escape(many, 15, 16), shown(10));
    EXPECT_EQ(escape(many, 14, 16), shown(9));
    EXPECT_EQ(escape(many, 5, 16), shown(0));
    EXPECT_EQ(escape(many, 1, 16), shown(0));
    EXPECT_EQ(escape(many, 42), "\"" + many + "\"");
    EXPECT_EQ(escape(many, 41), shown(36));
}

// What is truncated ends with "..." in place of its last three characters, or of the escape that
// they would split.
TEST(Text, EscapeCutsNoEscape) {
    const std::vector<std::pair<std::string, std::string>> pieces{
        {"a", "a"},        {"\n", "\\n"},
        {"\x01", "\\001"}, {"\xc3\xa4", "\\u00E4"},
        {"\xff", "\\377"}, {"\xf0\x9f\x98\x80", "\\U0001F600"}};
    constexpr size_t size = 64;
    std::mt19937_64 random(12);
    for (int i = 0; i < 20000; i++) {
        const size_t most = random() % 50, room = std::max<size_t>(most ? most : size - 1, 5) - 2;
        const size_t end = room - 3; // of what stays before "..."
        std::string in, shown;
        bool more = false;
        size_t cut = end;
        for (u64 n = random() % 16; n > 0; n--) {
            const auto& [source, piece] = pieces[random() % (i % 2 ? pieces.size() : 3)];
            in += source;
            if (more)
                continue;
            if (shown.size() < end && end < shown.size() + piece.size())
                cut = shown.size();
            more = shown.size() + piece.size() > room;
            if (!more)
                shown += piece;
        }
        std::string out(size, '#');
        out.resize(djs_text_escape(out.data(), in.c_str(), most, size, true));
        ASSERT_EQ(out, "\"" + (more ? shown.substr(0, cut) + "\"..." : shown + "\"")) << most;
    }
}

namespace {
std::string json(const std::string& in, size_t size = 64) {
    std::string out(size + 1, '#');
    const size_t length = djs_text_json(out.data(), in.c_str(), size);
    EXPECT_LT(length, size);
    EXPECT_EQ(std::strlen(out.c_str()), length);
    EXPECT_EQ(out[size], '#');
    return out.c_str();
}
} // namespace

TEST(Text, Json) {
    EXPECT_EQ(json(""), R"("")");
    EXPECT_EQ(json(" ~"), R"(" ~")");
    EXPECT_EQ(json("a\"b\\c/\n\t"), R"("a\"b\\c/\n\t")");
    EXPECT_EQ(json("\x01\r\x1b[\x7f"), R"("\u0001\u000d\u001b[\u007f")");
    EXPECT_EQ(json("\xc3\xa4\xf0\x9f\x98\x80"), "\"\xc3\xa4\xf0\x9f\x98\x80\"");
    // A byte that begins no character, half a character, a surrogate, a longer form than needed.
    EXPECT_EQ(json("\xff"), R"("\ufffd")");
    EXPECT_EQ(json("\xe2\x82"), R"("\ufffd\ufffd")");
    EXPECT_EQ(json("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");
    EXPECT_EQ(json("\xc0\xaf"), R"("\ufffd\ufffd")");
    // Nothing is cut within an escape or a character.
    EXPECT_EQ(json("\x01", 8), R"("")");
    EXPECT_EQ(json("\x01", 9), R"("\u0001")");
    EXPECT_EQ(json("a\xc3\xa4", 5), R"("a")");
    EXPECT_EQ(json("abc", 5), R"("ab")");
    EXPECT_EQ(json("abc", 3), R"("")");
}

// For any bytes and any room.
TEST(Text, EscapeStaysInItsRoom) {
    std::mt19937_64 random(9);
    for (int i = 0; i < 100000; i++) {
        std::string in;
        for (size_t n = random() % 40; n > 0; n--)
            in += static_cast<char>(random() % 3 ? 0xc0 | random() % 64 : 1 + random() % 127);
        const size_t size = 16 + random() % 40, most = random() % 50;
        std::vector<char> out(size); // the sanitizers detect accesses beyond it
        const size_t length =
            djs_text_escape(out.data(), in.c_str(), most, size, random() % 2 != 0);
        ASSERT_LT(length, size);
        ASSERT_EQ(std::strlen(out.data()), length);
    }
}
