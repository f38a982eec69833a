// SPDX-License-Identifier: GPL-2.0-or-later
// Which module is the one that a script was compiled for, where its segments are, and where a
// kprobe is refused.
#include "globals_for_test.h"
#include "kernel_for_test.h"
#include "modules_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

namespace {

class Modules : public testing::Test {
  protected:
    void SetUp() override {
        images_[1].kind = images_[2].kind = DJS_IMAGE_MODULE;
        images_[0].name = "kernel";
        images_[1].name = "one";
        images_[2].name = "two";
        for (djs_segment& segment : segments_) {
            segment.symbol = "first";
            segment.check_symbol = "second";
        }
        segments_[1].image = segments_[2].image = 1;
        segments_[3].image = 2;
        djs_script.images = images_;
        djs_script.image_count = 3;
        djs_script.segments = segments_;
        djs_script.segment_count = 4;
        for (u32 i = 0; i < TEST_MODULES; i++)
            test_modules[i] = {};
        test_modules[0].name = "one";
        test_modules[1].name = "two";
        test_modules[2].name = "this";
        for (unsigned long& bias : test_biases)
            bias = 7;
        ASSERT_EQ(test_placed_init(), 0);
    }
    void TearDown() override {
        test_placed_exit();
        EXPECT_EQ(guarded_count(), 0U);
        djs_script = {};
    }

    djs_image images_[3]{};
    djs_segment segments_[4]{};
};

TEST_F(Modules, AreFoundByTheirNames) {
    EXPECT_EQ(djs_image_of_module("one"), 1U);
    EXPECT_EQ(djs_image_of_module("two"), 2U);
    EXPECT_EQ(djs_image_of_module("kernel"), DJS_NO_INDEX);
    EXPECT_EQ(djs_image_of_module("three"), DJS_NO_INDEX);
    EXPECT_EQ(test_module_get(1), 0);
    EXPECT_EQ(test_module_get(2), 1);
    test_modules[0].name = "three";
    EXPECT_EQ(test_module_get(1), -1);
    test_modules[0].name = "two";
    EXPECT_EQ(test_module_get(2), 0); // the first one that can be held
    test_modules[0].is_coming = true;
    EXPECT_EQ(test_module_get(2), 1);
    test_modules[1].cannot_be_held = true;
    EXPECT_EQ(test_module_get(2), -1);
    test_allocations_left = 0;
    test_placed_exit();
    EXPECT_EQ(test_placed_init(), -ENOMEM);
    test_allocations_left = LONG_MAX;
    EXPECT_EQ(test_placed_init(), 0);
}

TEST_F(Modules, ArePlacedByTwoSymbolsOfEachSegment) {
    segments_[1].address = 0x100;
    segments_[1].check_address = 0x180;
    segments_[1].executable = 1;
    segments_[2].address = 0x40; // of data
    segments_[2].check_address = 0xc0;
    test_modules[0].first = 0xffffffffc0000100;
    test_modules[0].second = 0xffffffffc0000180;
    EXPECT_EQ(test_module_placed(1), -1);
    EXPECT_EQ(test_module_place(1, 0), 0);
    EXPECT_EQ(test_module_placed(1), 0);
    EXPECT_EQ(test_module_placed(2), -1);
    EXPECT_EQ(test_biases[1], 0xffffffffc0000000);
    EXPECT_EQ(test_biases[2], 0xffffffffc00000c0);
    EXPECT_EQ(test_biases[0], 7U);
    EXPECT_EQ(test_biases[3], 7U);
    djs_module_forget(1);
    EXPECT_EQ(test_module_placed(1), -1);
    EXPECT_EQ(test_biases[1], 0U);
    EXPECT_EQ(test_biases[2], 0U);
    EXPECT_EQ(test_biases[0], 7U);
    EXPECT_EQ(test_biases[3], 7U);
    // Another module of the name.
    test_modules[0].second++;
    EXPECT_EQ(test_module_place(1, 0), -ENOEXEC);
    EXPECT_EQ(test_module_placed(1), -1);
    EXPECT_EQ(test_biases[1], 0U);
    test_modules[0].second = 0;
    EXPECT_EQ(test_module_place(1, 0), -ENOEXEC);
    test_modules[0].first = 0;
    EXPECT_EQ(test_module_place(1, 0), -ENOEXEC); // code has its name always
    segments_[1].executable = 0;
    EXPECT_EQ(test_module_place(1, 0), 0);
    EXPECT_EQ(test_module_placed(1), 0);
    EXPECT_EQ(test_biases[1], 0U);
}

class KprobePlaces : public testing::Test {
  protected:
    void SetUp() override {
        image_.kind = DJS_IMAGE_MODULE;
        djs_script.images = &image_;
        djs_script.image_count = 1;
        site_.segment = DJS_NO_INDEX;
        put("pad!calls");
        test_written_ms = 0;
    }
    void TearDown() override { djs_script = {}; }

    void put(const char* text) {
        memset(text_, '-', sizeof text_);
        memcpy(text_ + 16, text, strlen(text));
    }
    // A probe so far from a function that begins where the text is.
    bool is_fentry(s64 distance, u32 what, s64 of_site = 0) {
        const u64 function = reinterpret_cast<u64>(text_ + 16);
        site_.address = function + static_cast<u64>(of_site);
        site_.entry = static_cast<s32>(-of_site);
        site_.fentry = static_cast<u16>(what);
        return test_at_fentry_site(&site_, site_.address, function + static_cast<u64>(distance));
    }

    djs_site site_{};
    djs_image image_{};
    char text_[64]{};
};

TEST_F(KprobePlaces, AtFentrySitesThatTheFileTells) {
    EXPECT_TRUE(is_fentry(0, DJS_FENTRY_YES));
    EXPECT_FALSE(is_fentry(0, DJS_FENTRY_NO));
    EXPECT_FALSE(is_fentry(5, DJS_FENTRY_YES)); // a fallback behind it
    EXPECT_TRUE(is_fentry(0, DJS_FENTRY_PAD));
    put("no pad");
    EXPECT_FALSE(is_fentry(0, DJS_FENTRY_PAD));
    constexpr u64 unmapped = 16;
    site_.address = unmapped;
    site_.entry = 0;
    for (const u32 what : {DJS_FENTRY_PAD, DJS_FENTRY_UNKNOWN}) {
        site_.fentry = static_cast<u16>(what);
        EXPECT_FALSE(test_at_fentry_site(&site_, unmapped, unmapped)) << what;
    }
}

TEST_F(KprobePlaces, AtFentrySitesThatOnlyTheKernelHas) {
    for (const char* site : {"pad!calls", "pad!no-op"}) {
        put(site);
        EXPECT_TRUE(is_fentry(0, DJS_FENTRY_UNKNOWN));
        EXPECT_TRUE(is_fentry(4, DJS_FENTRY_UNKNOWN));
        EXPECT_TRUE(is_fentry(4, DJS_FENTRY_UNKNOWN, 4)); // of which the site is told
        EXPECT_FALSE(is_fentry(3, DJS_FENTRY_UNKNOWN));
        EXPECT_FALSE(is_fentry(9, DJS_FENTRY_UNKNOWN));
    }
    for (const char* site : {"calls", "no-op"}) {
        put(site);
        EXPECT_TRUE(is_fentry(0, DJS_FENTRY_UNKNOWN));
        EXPECT_FALSE(is_fentry(4, DJS_FENTRY_UNKNOWN));
    }
    put("sealcalls"); // a landing pad that the kernel does not skip
    EXPECT_FALSE(is_fentry(0, DJS_FENTRY_UNKNOWN));
    EXPECT_TRUE(is_fentry(4, DJS_FENTRY_UNKNOWN));
    put("jumps");
    EXPECT_FALSE(is_fentry(0, DJS_FENTRY_UNKNOWN));
}

TEST_F(KprobePlaces, WhileFtraceWritesThere) {
    for (const u32 ms : {1U, 19U}) {
        put("bkpt-");
        test_written = text_ + 16;
        test_written_ms = ms;
        EXPECT_TRUE(is_fentry(0, DJS_FENTRY_UNKNOWN)) << ms;
    }
    for (const u32 ms : {20U, 1000U}) {
        put("bkpt-");
        test_written_ms = ms;
        EXPECT_FALSE(is_fentry(0, DJS_FENTRY_UNKNOWN)) << ms;
    }
}

TEST_F(KprobePlaces, WhereTheKernelCanReadTheWholeSymbol) {
    const u64 probe = reinterpret_cast<u64>(text_ + 16);
    const auto refused = [&](const std::string& symbol, u32 image = 0) {
        test_symbol_at = symbol.c_str();
        site_.fentry = DJS_FENTRY_NO;
        return test_kprobe_refused(&site_, image, probe, probe);
    };
    EXPECT_FALSE(refused("function+0x4/0x20 [module]"));
    EXPECT_EQ(std::string(test_modules_log), "");
    // The end of this one is not mapped.
    char far[64];
    snprintf(far, sizeof far, "function+0x4/0x%llx [module]",
             static_cast<unsigned long long>(0xffff800000000004 - probe));
    EXPECT_TRUE(refused(far));
    EXPECT_EQ(std::string(test_modules_log),
              "the kernel would read behind the module's text to place a kprobe there (-14)");
    EXPECT_FALSE(refused(far, DJS_NO_INDEX));
    EXPECT_FALSE(refused("0xffffffff81000000"));
    EXPECT_FALSE(refused("odd+name"));
    // At an fentry site there is no jump.
    test_symbol_at = far;
    site_.fentry = DJS_FENTRY_YES;
    EXPECT_FALSE(test_kprobe_refused(&site_, 0, probe, probe));
    image_.kind = DJS_IMAGE_KERNEL;
    EXPECT_FALSE(refused(far));
}

} // namespace
