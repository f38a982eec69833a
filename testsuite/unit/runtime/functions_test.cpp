// SPDX-License-Identifier: GPL-2.0-or-later
// Functions of the language that write records (exit, warn, speculate) or compute strings: what is
// written, and where a string ends that has no room.
#include "include/control.h"
#include "include/record.h"
#include "include/script.h"
#include "userspace/userspace.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

extern "C" { // include/functions.h, which is no C++, and access/access.h
void djs_fn_exit(djs_ctx* ctx);
void djs_fn_abort(djs_ctx* ctx);
void djs_fn_error(djs_ctx* ctx, const char* message);
void djs_fn_warn(djs_ctx* ctx, const char* message);
void djs_fn_system(djs_ctx* ctx, const char* command);
void djs_fn_switch_file(djs_ctx* ctx);
s64 djs_fn_speculation(djs_ctx* ctx);
void djs_fn_speculate(djs_ctx* ctx, s64 id, const char* text);
void djs_fn_commit(djs_ctx* ctx, s64 id);
void djs_fn_discard(djs_ctx* ctx, s64 id);
s64 djs_fn_strlen(djs_ctx* ctx, const char* text);
s64 djs_fn_strtol(djs_ctx* ctx, const char* text, s64 base);
s64 djs_fn_isinstr(djs_ctx* ctx, const char* text, const char* part);
s64 djs_fn_strpos(djs_ctx* ctx, const char* text, const char* part);
s64 djs_fn_stringat(djs_ctx* ctx, const char* text, s64 index);
void djs_fn_substr(djs_ctx* ctx, char* out, const char* text, s64 start, s64 length);
void djs_fn_tokenize(djs_ctx* ctx, char* out, const char* text, const char* delimiters);
void djs_fn_str_replace(djs_ctx* ctx, char* out, const char* text, const char* old,
                        const char* replacement);
void djs_fn_text_strn(djs_ctx* ctx, char* out, const char* text, s64 length, s64 quoted);
void djs_fn_text_str(djs_ctx* ctx, char* out, const char* text);
void djs_shown_string(djs_ctx* ctx, char* out, s64 address, s64 size, u32 user);
s64 djs_fn_fp_add(djs_ctx* ctx, s64 a, s64 b);
s64 djs_fn_fp_sub(djs_ctx* ctx, s64 a, s64 b);
s64 djs_fn_fp_mul(djs_ctx* ctx, s64 a, s64 b);
s64 djs_fn_fp_div(djs_ctx* ctx, s64 a, s64 b);
s64 djs_fn_fp_rem(djs_ctx* ctx, s64 a, s64 b);
s64 djs_fn_fp_eq(djs_ctx* ctx, s64 a, s64 b);
s64 djs_fn_fp_lt(djs_ctx* ctx, s64 a, s64 b);
s64 djs_fn_fp_le(djs_ctx* ctx, s64 a, s64 b);
s64 djs_fn_fp_sqrt(djs_ctx* ctx, s64 a);
s64 djs_fn_long_to_fp(djs_ctx* ctx, s64 value);
s64 djs_fn_fp32_to_fp64(djs_ctx* ctx, s64 single);
s64 djs_fn_fp_to_long(djs_ctx* ctx, s64 a, s64 mode, s64 exact);
void djs_fn_fp_to_string(djs_ctx* ctx, char* out, s64 a, s64 precision);
s64 djs_fn_string_to_fp(djs_ctx* ctx, const char* text);
s64 djs_fn_randint(djs_ctx* ctx, s64 limit);
}

namespace {

class LanguageFunctions : public testing::Test {
  protected:
    static constexpr u32 string_bytes = 32, ring_bytes = 65536;

    void SetUp() override {
        script_.string_bytes = string_bytes;
        djs_user_options options{};
        options.ring_bytes = ring_bytes;
        ASSERT_EQ(djs_user_init(1), 0);
        ASSERT_EQ(djs_user_load(&script_, &options), 0) << djs_user_complaint();
        ctx_.error_text = error_text_;
        ctx_.work = work_.data();
    }
    void TearDown() override {
        djs_user_unload();
        djs_user_exit();
    }
    std::string error() { return std::exchange(ctx_.error, nullptr) ?: ""; }
    struct Record {
        u32 id = 0;
        std::string text; // whole words
        std::vector<s64> numbers;
        bool operator==(const Record&) const = default;
    };
    // Those since the last time. `has_text`: they begin with one.
    static std::vector<Record> written(bool has_text) {
        std::vector<Record> all;
        u64 *tail, bytes;
        char* data;
        djs_user_ring(0, &tail, &data, &bytes);
        for (const u64 head = *djs_user_ring_head(0); *tail < head;) {
            const auto* record = reinterpret_cast<const djs_record*>(data + *tail % bytes);
            const char* at = reinterpret_cast<const char*>(record + 1);
            const char* const end = reinterpret_cast<const char*>(record) + record->size;
            Record one{record->id, {}, {}};
            if (has_text) {
                u32 length = 0;
                memcpy(&length, at, sizeof length);
                one.text.assign(at + sizeof length, length);
                at += (sizeof length + length + 7) / 8 * 8;
            }
            for (; at < end; at += sizeof(s64)) {
                s64 number = 0;
                memcpy(&number, at, sizeof number);
                one.numbers.push_back(number);
            }
            EXPECT_EQ(at, end);
            all.push_back(one);
            *tail += record->size;
        }
        return all;
    }
    // What a function writes to a string, behind which nothing is changed.
    template <typename Function, typename... Arguments>
    std::string text(Function* function, Arguments... arguments) {
        std::string out(string_bytes + 8, '#');
        function(&ctx_, out.data(), arguments...);
        EXPECT_EQ(out.substr(string_bytes), "########");
        return out.c_str();
    }

    djs_ctx ctx_{};

  private:
    struct djs_script script_{};
    char error_text_[256]{};
    std::vector<char> work_ = std::vector<char>(2560 + string_bytes);
};

} // namespace

TEST_F(LanguageFunctions, WriteRecords) {
    djs_fn_warn(&ctx_, "careful");
    djs_fn_system(&ctx_, "");
    djs_fn_warn(&ctx_, "four");
    djs_fn_warn(&ctx_, "fives");
    EXPECT_EQ(written(true), (std::vector<Record>{{DJS_RECORD_WARNING, "careful", {}},
                                                  {DJS_RECORD_SYSTEM, "", {}},
                                                  {DJS_RECORD_WARNING, "four", {}},
                                                  {DJS_RECORD_WARNING, "fives", {}}}));
    djs_fn_switch_file(&ctx_);
    EXPECT_EQ(written(false), (std::vector<Record>{{DJS_RECORD_SWITCH_FILE, "", {}}}));
    djs_fn_error(&ctx_, "100 %s");
    EXPECT_EQ(error(), "100 %s");
    EXPECT_TRUE(written(false).empty());
    // No text is longer than half a record may be.
    for (const size_t length : {DJS_RECORD_MAX / 2, DJS_RECORD_MAX / 2 + 1}) {
        djs_fn_warn(&ctx_, std::string(length, 'x').c_str());
        const std::vector<Record> all = written(true);
        ASSERT_EQ(all.size(), 1U);
        EXPECT_EQ(all[0].text, std::string(DJS_RECORD_MAX / 2, 'x'));
    }
}

TEST_F(LanguageFunctions, EndTheSessionOnce) {
    EXPECT_FALSE(djs_user_exit_requested());
    djs_fn_exit(&ctx_);
    EXPECT_TRUE(djs_user_exit_requested());
    EXPECT_FALSE(djs_user_failed());
    djs_fn_exit(&ctx_);
    EXPECT_EQ(written(false), (std::vector<Record>{{DJS_RECORD_EXIT, "", {}}}));
    EXPECT_EQ(ctx_.aborted, 0U);
    EXPECT_EQ(ctx_.error, nullptr);
}

// The handler ends, too, by an error that nobody sees.
TEST_F(LanguageFunctions, EndTheHandler) {
    djs_fn_abort(&ctx_);
    EXPECT_TRUE(djs_user_exit_requested());
    EXPECT_FALSE(djs_user_failed());
    EXPECT_EQ(written(false), (std::vector<Record>{{DJS_RECORD_EXIT, "", {}}}));
    EXPECT_EQ(ctx_.aborted, 1U);
    EXPECT_STREQ(ctx_.error, "");
}

TEST_F(LanguageFunctions, Speculate) {
    const s64 first = djs_fn_speculation(&ctx_), second = djs_fn_speculation(&ctx_);
    EXPECT_GT(first, 0);
    EXPECT_EQ(second, first + 1);
    djs_fn_speculate(&ctx_, second, "perhaps");
    djs_fn_speculate(&ctx_, -7, "");
    EXPECT_EQ(written(true), (std::vector<Record>{{DJS_RECORD_SPECULATION, "perhaps", {second}},
                                                  {DJS_RECORD_SPECULATION, "", {-7}}}));
    djs_fn_commit(&ctx_, second);
    djs_fn_discard(&ctx_, -7);
    EXPECT_EQ(written(false), (std::vector<Record>{{DJS_RECORD_COMMIT, "", {second}},
                                                   {DJS_RECORD_DISCARD, "", {-7}}}));
}

TEST_F(LanguageFunctions, LookIntoStrings) {
    EXPECT_EQ(djs_fn_strlen(&ctx_, ""), 0);
    EXPECT_EQ(djs_fn_strlen(&ctx_, "abc"), 3);
    EXPECT_EQ(djs_fn_strtol(&ctx_, "-ff", 16), -255);
    EXPECT_EQ(djs_fn_isinstr(&ctx_, "abc", "a"), 1);
    EXPECT_EQ(djs_fn_isinstr(&ctx_, "abc", "ac"), 0);
    EXPECT_EQ(djs_fn_strpos(&ctx_, "abc", "c"), 2);
    EXPECT_EQ(djs_fn_strpos(&ctx_, "abc", "d"), -1);
    EXPECT_EQ(djs_fn_stringat(&ctx_, "ab\xff", 0), 'a');
    EXPECT_EQ(djs_fn_stringat(&ctx_, "ab\xff", 2), -1);
    EXPECT_EQ(error(), "");
    for (const s64 outside : {s64{3}, s64{-1}, INT64_MAX, INT64_MIN}) {
        djs_fn_stringat(&ctx_, "ab\xff", outside);
        EXPECT_EQ(error(), "Position out of bounds");
    }
}

TEST_F(LanguageFunctions, MakeStringsThatFit) {
    const std::string longest(string_bytes - 1, 'x'), longer = longest + "y";
    EXPECT_EQ(text(djs_fn_substr, "abcdef", s64{2}, s64{3}), "cde");
    EXPECT_EQ(text(djs_fn_substr, longer.c_str(), s64{0}, s64{100}), longest);
    EXPECT_EQ(text(djs_fn_str_replace, "a.b.c", ".", "--"), "a--b--c");
    std::string all;
    for (int i = 0; i < 10; i++)
        all += "12345";
    EXPECT_EQ(text(djs_fn_str_replace, "aaaaaaaaaa", "a", "12345"),
              all.substr(0, string_bytes - 1));
    EXPECT_EQ(text(djs_fn_text_str, "a\n\"b"), R"(a\n\"b)");
    EXPECT_EQ(text(djs_fn_text_str, longer.c_str()), longest);
    EXPECT_EQ(text(djs_fn_text_strn, "abcdef", s64{3}, s64{0}), "abc");
    EXPECT_EQ(text(djs_fn_text_strn, "abc", s64{0}, s64{1}), "\"abc\"");
    EXPECT_EQ(text(djs_fn_text_strn, longer.c_str(), s64{-1}, s64{0}), longest);
}

TEST_F(LanguageFunctions, FindTokensOfWhatWasKept) {
    EXPECT_EQ(text(djs_fn_tokenize, "a,b c,d", ","), "a");
    EXPECT_EQ(text(djs_fn_tokenize, "", ", "), "b");
    EXPECT_EQ(text(djs_fn_tokenize, "", " "), "c,d"); // without the delimiter of the one before
    EXPECT_EQ(text(djs_fn_tokenize, "", ","), "");
    EXPECT_EQ(text(djs_fn_tokenize, "x y", " "), "x"); // another string, from its beginning
    EXPECT_EQ(text(djs_fn_tokenize, "", " "), "y");
    EXPECT_EQ(text(djs_fn_tokenize, "", " "), "");
}

// A script has the bits of a double in an integer (floating_test.cpp compares all kinds of them).
TEST_F(LanguageFunctions, CalculateWithDoubles) {
    const auto bits = [](double number) { return std::bit_cast<s64>(number); };
    const s64 five = bits(5), four = bits(4);
    EXPECT_EQ(djs_fn_fp_add(&ctx_, five, four), bits(9));
    EXPECT_EQ(djs_fn_fp_sub(&ctx_, four, five), bits(-1));
    EXPECT_EQ(djs_fn_fp_mul(&ctx_, five, four), bits(20));
    EXPECT_EQ(djs_fn_fp_div(&ctx_, five, four), bits(1.25));
    EXPECT_EQ(djs_fn_fp_rem(&ctx_, five, four), bits(1));
    EXPECT_EQ(djs_fn_fp_eq(&ctx_, five, five), 1);
    EXPECT_EQ(djs_fn_fp_eq(&ctx_, five, four), 0);
    EXPECT_EQ(djs_fn_fp_lt(&ctx_, four, five), 1);
    EXPECT_EQ(djs_fn_fp_lt(&ctx_, five, five), 0);
    EXPECT_EQ(djs_fn_fp_le(&ctx_, five, five), 1);
    EXPECT_EQ(djs_fn_fp_le(&ctx_, five, four), 0);
    EXPECT_EQ(djs_fn_fp_sqrt(&ctx_, bits(2.25)), bits(1.5));
    EXPECT_EQ(djs_fn_long_to_fp(&ctx_, -3), bits(-3));
    EXPECT_EQ(djs_fn_fp32_to_fp64(&ctx_, std::bit_cast<s32>(-0.5F)), bits(-0.5));
    for (const s64 exact : {0, 1}) {
        EXPECT_EQ(djs_fn_fp_to_long(&ctx_, bits(2.5), 1, exact), 2); // towards zero
        EXPECT_EQ(djs_fn_fp_to_long(&ctx_, bits(2.5), 3, exact), 3); // up
    }
    EXPECT_EQ(text(djs_fn_fp_to_string, bits(-1.5), s64{3}), "-1.500");
    EXPECT_EQ(text(djs_fn_fp_to_string, bits(1), s64{100}), "1." + std::string(29, '0'));
    EXPECT_EQ(djs_fn_string_to_fp(&ctx_, "-1.5"), bits(-1.5));
    EXPECT_EQ(error(), "");
    djs_fn_string_to_fp(&ctx_, "one");
    EXPECT_EQ(error(), "invalid format");
}

TEST_F(LanguageFunctions, FindNumbersByChance) {
    std::set<s64> found;
    for (int i = 0; i < 1000; i++)
        found.insert(djs_fn_randint(&ctx_, 3));
    EXPECT_EQ(found, (std::set<s64>{0, 1, 2}));
    EXPECT_EQ(djs_fn_randint(&ctx_, 1), 0);
    EXPECT_EQ(djs_fn_randint(&ctx_, 0), 0);
    constexpr s64 most = s64{1} << 20; // of a range, as the manual says
    const s64 of_most = djs_fn_randint(&ctx_, most);
    EXPECT_TRUE(of_most >= 0 && of_most < most) << of_most;
    EXPECT_EQ(error(), "");
    for (const s64 wider : {most + 1, s64{-1}}) {
        EXPECT_EQ(djs_fn_randint(&ctx_, wider), 0);
        EXPECT_EQ(error(), "range too wide");
    }
}

// Of a process where that is meant, or where the address is one.
TEST_F(LanguageFunctions, ShowStringsOfMemory) {
    const char* const memory = "memory";
    const s64 address = reinterpret_cast<s64>(memory);
    for (const u32 user : {0U, 1U}) {
        EXPECT_EQ(text(djs_shown_string, address, s64{3}, user), "mem");
        EXPECT_EQ(text(djs_shown_string, address, s64{100}, user), "memory");
        EXPECT_EQ(error(), "");
        EXPECT_EQ(text(djs_shown_string, s64{8}, s64{3}, user), "");
        EXPECT_EQ(error(), "cannot read a string at NULL + 0x8");
    }
    constexpr s64 of_kernel = -4096;
    EXPECT_EQ(text(djs_shown_string, of_kernel, s64{3}, 0U), "");
    EXPECT_EQ(error(), "cannot read a string of kernel memory at 0xfffffffffffff000");
    EXPECT_EQ(text(djs_shown_string, of_kernel, s64{3}, 1U), "");
    EXPECT_EQ(error(), "cannot read a string of user memory at 0xfffffffffffff000, which is a "
                       "kernel address");
}
