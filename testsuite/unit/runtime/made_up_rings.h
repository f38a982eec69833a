/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rings whose memory, time and interrupts are made up (rings_for_test.c). */
#ifndef DJSTAP_MADE_UP_RINGS_H
#define DJSTAP_MADE_UP_RINGS_H

#include "kernel_for_test.h"
#include "rings_for_test.h"

#include <climits>
#include <functional>
#include <gtest/gtest.h>
#include <string>

class Rings : public testing::Test {
  protected:
    void SetUp() override {
        test_rings_begin();
        pages_ = test_pages_available;
        test_pages_available = LONG_MAX / TEST_PAGE;
        djs_script.meta = "a";
        djs_script.meta_bytes = 1;
        interrupt = nullptr;
        asleep = nullptr;
        test_rings_interrupt = [](const char* where) {
            if (interrupt)
                interrupt(where);
        };
        test_rings_asleep = [] {
            if (asleep)
                asleep();
        };
    }
    void TearDown() override {
        test_rings_exit();
        EXPECT_EQ(test_rings_pages_left, 0U);
        EXPECT_EQ(test_rings_mappings_left, 0U);
        EXPECT_EQ(guarded_count(), 0U);
        EXPECT_EQ(test_rings_dumps_freed_with_text, 0U);
        EXPECT_EQ(test_preempt_depth, 0);
        EXPECT_FALSE(test_rings_irqs_off);
        test_pages_available = pages_;
        djs_script = {};
    }

    void make(u64 bytes) {
        ASSERT_EQ(test_rings_init(bytes), 0);
        ring = test_ring_of(0);
    }
    djs_record* reserve(u32 size, u32 id = 7) { return test_rings_reserve(&ctx, id, size); }
    // Returns whether there was room.
    bool put(u32 size, u32 id = 7) {
        djs_record* record = reserve(size, id);
        if (record)
            test_rings_commit(&ctx, record, size);
        return record;
    }
    djs_record* at(u64 place) const {
        return reinterpret_cast<djs_record*>(ring.data + (place & *ring.mask));
    }

    djs_ctx ctx{};
    test_ring ring{};
    // What happens at a place where something may interrupt, and while the session sleeps.
    static inline std::function<void(const std::string&)> interrupt;
    static inline std::function<void()> asleep;

  private:
    long pages_ = 0;
};

class Recorder : public Rings {
  protected:
    static constexpr u32 part = 16384;
    void SetUp() override {
        Rings::SetUp();
        test_rings_overwrite = true;
        make(u64{4} * part);
    }
    // Fills the four parts, and leaves the head at the end of the last one.
    void fill() {
        for (u32 number = 0; number < 4; number++)
            ASSERT_TRUE(put(part));
        ASSERT_EQ(*ring.head, 4U * part);
        ASSERT_EQ(*ring.limit, 4U * part);
        ASSERT_EQ(*ring.overwritten, 0U);
    }
};

#endif
