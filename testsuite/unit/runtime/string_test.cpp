#include "include/text.h"

#include <cerrno>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <string>

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
    EXPECT_EQ(djs_text_find("hello", "ll"), 1);
    EXPECT_EQ(djs_text_find("hello", "lll"), 0);
    EXPECT_EQ(djs_text_find("hello", ""), 1);
    EXPECT_EQ(djs_text_find("aab", "ab"), 1);
    EXPECT_EQ(djs_text_find(nullptr, "a"), 0);
}

TEST(Text, ToLongAgreesWithStrtol) {
    std::mt19937_64 random(2);
    const std::string letters = "0123456789abcdefxXzZ+- \t";
    for (int i = 0; i < 200000; i++) {
        std::string in;
        for (size_t n = random() % 24; n > 0; n--)
            in += letters[random() % (random() % 2 ? 10 : letters.size())];
        int base = static_cast<int>(random() % 37);
        if (base == 1)
            base = 0;
        EXPECT_EQ(djs_text_to_long(in.c_str(), base), std::strtoll(in.c_str(), nullptr, base))
            << in << " base " << base;
    }
    EXPECT_EQ(djs_text_to_long("-9223372036854775808", 10), INT64_MIN);
    EXPECT_EQ(djs_text_to_long("9223372036854775808", 10), INT64_MAX);
    EXPECT_EQ(djs_text_to_long("5", 1), 0);
    EXPECT_EQ(djs_text_to_long("5", 99), 0);
    EXPECT_EQ(djs_text_to_long(nullptr, 10), 0);
}
