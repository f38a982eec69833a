// SPDX-License-Identifier: GPL-2.0-or-later
// A module's sites: their tables are checked before the runtime follows their numbers; where they
// are, and which ones failed.
#include "globals_for_test.h"
#include "log_for_test.h"
#include "sites_for_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>
#include <iterator>
#include <string>

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
        djs_script.site_texts = "\0kprobe.x\0.....";
        djs_script.site_text_bytes = text_bytes;
        test_sites_log[0] = 0;
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        test_sites_lookup_error = test_sites_placed_error = 0;
        djs_mechanisms_used = 0;
        djs_mechanisms_unknown = false;
        djs_script = {};
    }

    static int result() {
        const int error = djs_sites_init();
        if (!error)
            djs_sites_exit();
        return error;
    }

    djs_handler handlers_[3]{}; // the last one is behind the end
    djs_site site_{};
    djs_segment segment_{};
    djs_image image_{};
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

TEST_F(Sites, OfTracepointsHaveACallbackAndAName) {
    for (const u32 mechanism : {DJS_MECHANISM_TRACEPOINT, DJS_MECHANISM_MARKER}) {
        site_.mechanism = static_cast<u8>(mechanism);
        site_.function = 1;
        handlers_[0].tracepoint = [] {};
        handlers_[0].body = nullptr; // the callback has it
        EXPECT_EQ(result(), 0);
        site_.function = 0;
        EXPECT_EQ(result(), -ENOEXEC);
        site_.function = 1;
        handlers_[0].tracepoint = nullptr;
        EXPECT_EQ(result(), -ENOEXEC);
    }
}

// Whoever interrupts the holder of a lock would wait for ever.
TEST_F(Sites, DisableInterruptsIfTheirHandlersHaveLocks) {
    handlers_[1].lock_count = 1;
    EXPECT_EQ(result(), -ENOEXEC);
    handlers_[1].flags = DJS_HANDLER_CHECKS_STATE;
    EXPECT_EQ(result(), -ENOEXEC);
    handlers_[1].flags = DJS_HANDLER_IRQS_OFF;
    EXPECT_EQ(result(), 0);
    handlers_[1].lock_count = 0;
    handlers_[1].flags = 0;
    handlers_[0].lock_count = 1;
    EXPECT_EQ(result(), -ENOEXEC);
}

TEST_F(Sites, TellWhichMechanismsAreUsed) {
    djs_mechanisms_used = 0;
    djs_mechanisms_unknown = false;
    EXPECT_EQ(result(), 0);
    EXPECT_EQ(djs_mechanisms_used, 1U << DJS_MECHANISM_KPROBE);
    site_.mechanism = DJS_MECHANISM_COUNT - 1;
    EXPECT_EQ(result(), 0);
    EXPECT_EQ(djs_mechanisms_used, 1U << DJS_MECHANISM_KPROBE | 1U << (DJS_MECHANISM_COUNT - 1));
    EXPECT_FALSE(djs_mechanisms_unknown);
    site_.mechanism = DJS_MECHANISM_COUNT; // of a newer compiler
    EXPECT_EQ(result(), 0);
    EXPECT_TRUE(djs_mechanisms_unknown);
}

TEST_F(Sites, AreWhereTheirSegmentIs) {
    segment_.address = 0x400;
    site_.address = 0x1000;
    ASSERT_EQ(djs_sites_init(), 0);
    EXPECT_EQ(test_site_now(0).address, test_sites_kernel() + 0x1000 - 0x400);
    EXPECT_EQ(test_site_now(0).probe, test_site_now(0).address);
    EXPECT_EQ(test_site_now(0).image, 0U);
    EXPECT_EQ(test_site_now(0).mechanism, 0U + DJS_MECHANISM_KPROBE);
    EXPECT_FALSE(test_site_now(0).absent);
    djs_sites_exit();
    site_.segment = DJS_NO_INDEX;
    ASSERT_EQ(djs_sites_init(), 0);
    EXPECT_EQ(test_site_now(0).address, 0x1000U);
    EXPECT_EQ(test_site_now(0).image, DJS_NO_INDEX);
    djs_sites_exit();
    // Those of a module have no place before it is loaded.
    site_.segment = 0;
    image_.kind = DJS_IMAGE_MODULE;
    ASSERT_EQ(djs_sites_init(), 0);
    EXPECT_EQ(test_site_now(0).address, 0U);
    EXPECT_TRUE(test_site_now(0).absent);
    djs_sites_exit();
}

TEST_F(Sites, NeedMemory) {
    for (const long allocations : {0L, 1L}) { // for the segments, and for the sites
        test_allocations_left = allocations;
        EXPECT_EQ(result(), -ENOMEM);
        EXPECT_FALSE(test_sites_exist());
    }
    test_allocations_left = 2;
    EXPECT_EQ(result(), 0);
    EXPECT_FALSE(test_sites_exist());
    test_allocations_left = LONG_MAX;
    test_sites_placed_error = -ENOMEM;
    EXPECT_EQ(result(), -ENOMEM);
    EXPECT_FALSE(test_sites_exist());
    test_sites_placed_error = 0;
    test_sites_lookup_error = -ENOMEM;
    EXPECT_EQ(result(), -ENOMEM);
    EXPECT_FALSE(test_sites_exist());
}

TEST_F(Sites, ThatFailAreNamedAndCounted) {
    djs_site sites[] = {site_, site_};
    sites[0].line = DJS_NO_INDEX;
    sites[0].point = 1;
    djs_script.sites = sites;
    djs_script.site_count = 2;
    ASSERT_EQ(djs_sites_init(), 0);
    djs_sites_lock();
    EXPECT_EQ(djs_sites_failed_count(), 0U);
    test_site_fails(0, -EBUSY, "it is taken");
    EXPECT_EQ(taken_log(test_sites_log), "cannot attach kprobe.x: it is taken (error -16)\n");
    EXPECT_EQ(djs_sites_failed_count(), 1U);
    test_site_fails(1, 5, "others"); // it has no text
    EXPECT_EQ(taken_log(test_sites_log), "cannot attach a probe: others (error 5)\n");
    EXPECT_EQ(djs_sites_failed_count(), 2U);
    djs_sites_unlock();
    djs_sites_exit();
}

// ---- those of direct calls

class DirectSites : public Sites {
  protected:
    void SetUp() override {
        Sites::SetUp();
        for (djs_trampoline& trampoline : trampolines_)
            trampoline.direct = [] {};
        djs_script.trampolines = trampolines_;
        djs_script.trampoline_count = 2;
        site_.mechanism = DJS_MECHANISM_DJPROBE;
        site_.trampoline = 0;
        site_.fallback = DJS_NO_FALLBACK;
        site_.address = 0x1000;
        // Three at one direct call; the last one is behind the end.
        std::fill(std::begin(sites_), std::end(sites_), site_);
        sites_[0].next = 1;
        sites_[1].next = 2;
    }
    // With what is changed of the three.
    int linked(const std::function<void(djs_site*)>& change) {
        djs_site sites[4];
        std::copy(std::begin(sites_), std::end(sites_), sites);
        change(sites);
        djs_script.sites = sites;
        djs_script.site_count = 3;
        const int error = result();
        djs_script.sites = &site_;
        djs_script.site_count = 1;
        return error;
    }

    djs_trampoline trampolines_[3]{}; // the last one is behind the end
    djs_site sites_[4]{};
};

TEST_F(DirectSites, HaveATrampoline) {
    for (const u32 mechanism : {DJS_MECHANISM_DJPROBE, DJS_MECHANISM_RETURN_DJPROBE}) {
        site_.mechanism = static_cast<u8>(mechanism);
        site_.trampoline = 1;
        EXPECT_EQ(result(), 0);
        for (const u32 none : {2U, DJS_NO_INDEX}) {
            site_.trampoline = none;
            EXPECT_EQ(result(), -ENOEXEC) << none;
        }
    }
    site_.trampoline = 1;
    trampolines_[1].direct = nullptr;
    EXPECT_EQ(result(), -ENOEXEC);
}

// Trampolines contain their handlers; whatever replaces them calls the body.
TEST_F(DirectSites, HaveABodyForTheirFallback) {
    handlers_[0].body = nullptr;
    EXPECT_EQ(result(), 0);
    site_.fallback = 5;
    EXPECT_EQ(result(), -ENOEXEC);
    handlers_[0].body = [](djs_ctx*) {};
    EXPECT_EQ(result(), 0);
}

TEST_F(DirectSites, OfOneCallAreLinkedInAscendingOrder) {
    EXPECT_EQ(linked([](djs_site*) {}), 0);
    EXPECT_EQ(linked([](djs_site* sites) { sites[0].next = 2; }), 0);
    EXPECT_EQ(linked([](djs_site* sites) { sites[0].next = 0; }), -ENOEXEC);
    EXPECT_EQ(linked([](djs_site* sites) { sites[1].next = 0; }), -ENOEXEC);
    EXPECT_EQ(linked([](djs_site* sites) { sites[1].next = 3; }), -ENOEXEC);
    EXPECT_EQ(linked([](djs_site* sites) { sites[2].next = DJS_NO_INDEX - 1; }), -ENOEXEC);
}

TEST_F(DirectSites, OfOneCallAreAtOnePlace) {
    EXPECT_EQ(linked([](djs_site* sites) { sites[2].mechanism = DJS_MECHANISM_RETURN_DJPROBE; }),
              0);
    EXPECT_EQ(linked([](djs_site* sites) { sites[2].mechanism = DJS_MECHANISM_KPROBE; }), -ENOEXEC);
    EXPECT_EQ(linked([](djs_site* sites) { sites[2].trampoline = 1; }), -ENOEXEC);
    EXPECT_EQ(linked([](djs_site* sites) { sites[2].address++; }), -ENOEXEC);
    EXPECT_EQ(linked([](djs_site* sites) { sites[2].segment = DJS_NO_INDEX; }), -ENOEXEC);
}

TEST_F(DirectSites, KnowWhichOneIsNext) {
    sites_[1].next = DJS_NO_INDEX;
    sites_[2].mechanism = DJS_MECHANISM_KPROBE;
    sites_[2].next = 0; // which means nothing there
    djs_script.sites = sites_;
    djs_script.site_count = 3;
    ASSERT_EQ(djs_sites_init(), 0);
    EXPECT_EQ(test_site_now(0).next, 1);
    EXPECT_EQ(test_site_now(1).next, -1);
    EXPECT_EQ(test_site_now(2).next, -1);
    EXPECT_FALSE(test_site_now(0).follows);
    EXPECT_TRUE(test_site_now(1).follows);
    EXPECT_FALSE(test_site_now(2).follows);
    djs_sites_exit();
}

} // namespace
