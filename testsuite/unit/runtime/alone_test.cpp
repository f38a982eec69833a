// SPDX-License-Identifier: GPL-2.0-or-later
// Reads of handlers that have no context: what they tell of an error, and what they are while
// memory is read that may be probed or missing.
#include "alone_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace {

class ReadsAlone : public testing::Test {
  protected:
    static constexpr u64 of_process = 0x7f0000001234, of_kernel = 0xffffffff81000000;

    void SetUp() override { test_alone_begin(); }
    void TearDown() override { EXPECT_EQ(test_preempt_depth, 0); }

    static std::string log() { return taken_log(test_alone_log); }
    static std::string failure(u64 address, u32 size) {
        djs_fail_read_alone(address, size, 7);
        return log();
    }
};

TEST_F(ReadsAlone, SayWhatTheyCannotRead) {
    EXPECT_EQ(failure(of_process, DJS_READ_TEXT | DJS_READ_PROCESS),
              "cannot read a string of user memory at 0x7f0000001234 near 7\n");
    EXPECT_EQ(failure(of_kernel, DJS_READ_TEXT | DJS_READ_PROCESS),
              "cannot read a string of user memory at 0xffffffff81000000, which is a kernel "
              "address near 7\n");
    EXPECT_EQ(failure(of_kernel, DJS_READ_TEXT),
              "cannot read a string of kernel memory at 0xffffffff81000000 near 7\n");
    EXPECT_EQ(failure(0, DJS_READ_TEXT), "cannot read a string at NULL near 7\n");
    // A number is of whom the address is, unless the script means the process.
    EXPECT_EQ(failure(of_process, 4),
              "cannot read 4 bytes of user memory at 0x7f0000001234 near 7\n");
    EXPECT_EQ(failure(of_kernel, 1),
              "cannot read 1 byte of kernel memory at 0xffffffff81000000 near 7\n");
    EXPECT_EQ(failure(of_process, 8 | DJS_READ_PROCESS),
              "cannot read 8 bytes of user memory at 0x7f0000001234 near 7\n");
    EXPECT_EQ(failure(of_kernel, 8 | DJS_READ_PROCESS),
              "cannot read 8 bytes of user memory at 0xffffffff81000000, which is a kernel "
              "address near 7\n");
}

TEST_F(ReadsAlone, SayNothingAfterTheSession) {
    test_alone_gate = DJS_HANDLER_CHECKS_STATE;
    EXPECT_EQ(failure(of_process, 4), "");
    EXPECT_EQ(failure(of_process, DJS_READ_TEXT), "");
    test_alone_gate = ~DJS_HANDLER_CHECKS_STATE;
    EXPECT_NE(failure(of_process, 4), "");
}

TEST_F(ReadsAlone, HaveTheContextOfTheirLevelMeanwhile) {
    const djs_handler handler{};
    test_alone_number = 0x8877665544332211;
    for (const u32 level : {0U, 1U, 2U, 3U}) {
        test_alone_level = level;
        djs_ctx* const ctx = test_alone_context(level);
        ctx->handler = &handler; // the last one that had it
        const djs_loaded loaded = djs_load_alone(of_kernel, 4);
        EXPECT_EQ(loaded.status, 0);
        EXPECT_EQ(loaded.value, test_alone_number);
        EXPECT_EQ(ctx->busy, 0U);
        EXPECT_EQ(log(), "stack 2048\nnumber ffffffff81000000 4\n");
        u64 words[2];
        ctx->handler = &handler;
        EXPECT_EQ(djs_load_words_alone(of_process, words, 10).status, 0);
        EXPECT_EQ(ctx->busy, 0U);
        EXPECT_EQ(log(), "stack 2048\ntext 7f0000001234 11\n");
    }
    EXPECT_EQ(test_alone_skipped(), 0U);
}

TEST_F(ReadsAlone, AreSkippedWhereTheContextIsInUse) {
    u64 words[2];
    for (const u32 busy : {DJS_BUSY_LOCKED, DJS_BUSY_UNLOCKED}) {
        test_alone_level = 1;
        test_alone_context(1)->busy = busy;
        EXPECT_GT(djs_load_alone(of_kernel, 4).status, 0);
        EXPECT_GT(djs_load_words_alone(of_process, words, 8).status, 0);
        EXPECT_EQ(test_alone_context(1)->busy, busy); // it is another one's
        EXPECT_EQ(log(), "");
        test_alone_level = 2; // which interrupts it
        EXPECT_EQ(djs_load_alone(of_kernel, 4).status, 0);
        log();
    }
    EXPECT_EQ(test_alone_skipped(), 4U);
}

TEST_F(ReadsAlone, AreSkippedIfTheStackIsTooShort) {
    u64 words[2];
    test_alone_lacks = true; // which counts it
    EXPECT_GT(djs_load_alone(of_kernel, 4).status, 0);
    EXPECT_GT(djs_load_words_alone(of_process, words, 8).status, 0);
    EXPECT_EQ(log(), "stack 2048\nstack 2048\n");
    EXPECT_EQ(test_alone_skipped(), 0U);
    EXPECT_EQ(test_alone_context(0)->busy, 0U);
}

TEST_F(ReadsAlone, MayFail) {
    u64 words[2];
    test_alone_text = nullptr;
    EXPECT_LT(djs_load_alone(of_kernel, 4).status, 0);
    EXPECT_LT(djs_load_words_alone(of_process, words, 8).status, 0);
    EXPECT_EQ(test_alone_context(0)->busy, 0U);
    log();
    // Where the script means the process, nothing of the kernel is read.
    test_alone_text = "";
    EXPECT_LT(djs_load_alone(of_kernel, 8 | DJS_READ_PROCESS).status, 0);
    EXPECT_EQ(log(), "stack 2048\n");
    EXPECT_EQ(djs_load_alone(of_process, 8 | DJS_READ_PROCESS).status, 0);
    EXPECT_EQ(log(), "stack 2048\nnumber 7f0000001234 8\n");
}

// Keys are compared by words: what is behind a text's end must not tell two of them apart.
TEST_F(ReadsAlone, FillTheWordWithTheEndOfATextWithZeros) {
    for (u32 size = 1; size <= 24; size++) {
        for (size_t length = 0; length <= size + 2; length++) {
            const std::string whole(length, 'x');
            u64 words[5];
            std::memset(words, 0xff, sizeof words);
            test_alone_text = whole.c_str();
            EXPECT_EQ(djs_load_words_alone(of_process, words, size).status, 0);
            std::string expected = whole.substr(0, size);
            expected.resize((size + 1 + 7) / 8 * 8, '\0');
            expected.resize(sizeof words, '\xff');
            EXPECT_EQ(std::string(reinterpret_cast<const char*>(words), sizeof words), expected)
                << size << " " << length;
            log();
        }
    }
}

} // namespace
