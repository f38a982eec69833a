// SPDX-License-Identifier: GPL-2.0-or-later
// A module's tables are checked before the runtime follows their numbers.
#include "include/script.h"

#include <gtest/gtest.h>

#include <cerrno>

extern "C" {
int djs_sites_init(void);
void djs_sites_exit(void);
void djs_sites_lock(void);
void djs_sites_unlock(void);
bool test_sites_are_locked(void);
extern u32 test_pins_reported;
}

namespace {

constexpr u32 text_bytes = 16;

class Sites : public testing::Test {
  protected:
    void SetUp() override {
        for (djs_handler& handler : handlers_)
            handler.body = [](djs_ctx*) {};
        site_.mechanism = DJS_MECHANISM_KPROBE;
        site_.trampoline = site_.next = site_.name = DJS_NO_INDEX;
        djs_script.handlers = handlers_;
        djs_script.handler_count = 2;
        djs_script.sites = &site_;
        djs_script.site_count = 1;
        djs_script.segments = &segment_;
        djs_script.segment_count = 1;
        djs_script.images = &image_;
        djs_script.image_count = 1;
        djs_script.site_text_bytes = text_bytes;
    }
    void TearDown() override { djs_script = {}; }

    static int result() {
        const int error = djs_sites_init();
        if (!error)
            djs_sites_exit();
        return error;
    }

    djs_handler handlers_[3]{}; // the last one is behind the end
    djs_site site_{};
    const djs_segment segment_{};
    const djs_image image_{};
};

TEST_F(Sites, HaveOneOfTheHandlers) {
    EXPECT_EQ(result(), 0);
    site_.handler = 1;
    EXPECT_EQ(result(), 0);
    for (const u32 none : {2U, 3U, DJS_NO_INDEX}) {
        site_.handler = none;
        EXPECT_EQ(result(), -ENOEXEC) << none;
    }
    site_.handler = 1;
    handlers_[1].body = nullptr;
    EXPECT_EQ(result(), -ENOEXEC);
}

TEST_F(Sites, HaveTheirTextsWithinTheScripts) {
    for (u32 djs_site::* text : {&djs_site::point, &djs_site::function, &djs_site::file}) {
        site_.*text = text_bytes - 1;
        EXPECT_EQ(result(), 0);
        site_.*text = text_bytes;
        EXPECT_EQ(result(), -ENOEXEC);
        site_.*text = 0;
    }
    site_.name = text_bytes - 1;
    EXPECT_EQ(result(), 0);
    site_.name = text_bytes;
    EXPECT_EQ(result(), -ENOEXEC);
    site_.name = DJS_NO_INDEX;
    site_.code = text_bytes - 4;
    site_.code_bytes = 4;
    EXPECT_EQ(result(), 0);
    site_.code_bytes = 5;
    EXPECT_EQ(result(), -ENOEXEC);
    site_.code = 0;
    site_.code_bytes = text_bytes;
    EXPECT_EQ(result(), 0);
    site_.code_bytes = text_bytes + 1;
    EXPECT_EQ(result(), -ENOEXEC);
}

TEST_F(Sites, AreInOneOfTheSegmentsOrNone) {
    site_.segment = 1;
    EXPECT_EQ(result(), -ENOEXEC);
    site_.segment = DJS_NO_INDEX;
    EXPECT_EQ(result(), 0);
    djs_script.image_count = 0; // that of the segment
    EXPECT_EQ(result(), -ENOEXEC);
}

// Reasons to stay loaded are reported before others may change sites.
TEST_F(Sites, AreChangedByOneAtATime) {
    const u32 reported = test_pins_reported;
    EXPECT_FALSE(test_sites_are_locked());
    djs_sites_lock();
    EXPECT_TRUE(test_sites_are_locked());
    EXPECT_EQ(test_pins_reported, reported);
    djs_sites_unlock();
    EXPECT_FALSE(test_sites_are_locked());
    EXPECT_EQ(test_pins_reported, reported + 1);
}

} // namespace
