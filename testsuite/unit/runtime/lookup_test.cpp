// SPDX-License-Identifier: GPL-2.0-or-later
// Each site is found by its handler and the address behind its fentry site, and nothing else is.
#include "globals_for_test.h"
#include "kernel_for_test.h"
#include "lookup_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <iterator>
#include <vector>

extern "C" {
int djs_sites_init(void);
void djs_sites_exit(void);
}

namespace {

constexpr u64 kernel = 0xffffffff81000000;
constexpr u32 call_bytes = 5;

class Lookup : public testing::Test {
  protected:
    void SetUp() override {
        for (djs_handler& handler : handlers_)
            handler.body = [](djs_ctx*) {};
        for (djs_trampoline& trampoline : trampolines_)
            trampoline.direct = [] {};
        images_[1].kind = DJS_IMAGE_MODULE;
        segments_[1].image = 1;
        djs_script.handlers = handlers_;
        djs_script.handler_count = std::size(handlers_);
        djs_script.trampolines = trampolines_;
        djs_script.trampoline_count = std::size(trampolines_);
        djs_script.segments = segments_;
        djs_script.segment_count = 2;
        djs_script.images = images_;
        djs_script.image_count = 2;
        djs_script.site_text_bytes = 1;
        test_draws = test_bad_draws = test_lookup_drains = 0;
        test_lookup_largest = 0;
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        end();
        EXPECT_EQ(guarded_count(), 0U);
        djs_script = {};
    }

    djs_site& add(u64 address, u32 handler = 0, u32 mechanism = DJS_MECHANISM_FTRACE) {
        djs_site site{};
        site.address = address;
        site.handler = handler;
        site.mechanism = static_cast<u8>(mechanism);
        site.trampoline = mechanism == DJS_MECHANISM_FTRACE ? DJS_NO_INDEX : 0;
        site.fallback = DJS_NO_FALLBACK;
        site.next = site.segment = site.name = DJS_NO_INDEX;
        sites_.push_back(site);
        return sites_.back();
    }
    void add_many(u32 count) {
        for (u32 i = 0; i < count; i++)
            add(kernel + u64{16} * i, i % 3);
    }
    // Of the sites that were added.
    int make() {
        end();
        djs_script.sites = sites_.data();
        djs_script.site_count = static_cast<u32>(sites_.size());
        EXPECT_EQ(djs_sites_init(), 0);
        has_sites_ = true;
        return test_lookup_update();
    }
    void end() {
        test_lookup_exit();
        if (has_sites_)
            djs_sites_exit();
        has_sites_ = false;
    }
    static const djs_site* find(const djs_site& site) {
        return test_find_site(&djs_script.handlers[site.handler], site.address + call_bytes);
    }
    bool is_found(u32 number) const { return find(sites_[number]) == &sites_[number]; }
    void expect_all_found() const {
        for (u32 i = 0; i < sites_.size(); i++)
            ASSERT_TRUE(is_found(i)) << i;
    }

    djs_handler handlers_[3]{};
    djs_trampoline trampolines_[2]{};
    djs_segment segments_[2]{};
    djs_image images_[2]{};
    std::vector<djs_site> sites_;
    bool has_sites_ = false;
};

TEST_F(Lookup, FindsEachOfFewOrMany) {
    for (const u32 count : {0U, 1U, 2U, 3U, 5U, 47U, 1024U, 4000U}) {
        sites_.clear();
        add_many(count);
        test_draws = test_lookup_rests = 0;
        ASSERT_EQ(make(), 0) << count;
        expect_all_found();
        EXPECT_EQ(test_lookup_rests > 0, count > 0) << count; // it may take long
        // A larger table than it begins with is for the unlikely case that none can be made.
        EXPECT_LE(test_draws, 16U) << count;
        EXPECT_EQ(test_find_site(&handlers_[0], kernel + u64{16} * count + call_bytes), nullptr);
        EXPECT_EQ(test_find_site(&handlers_[0], kernel), nullptr);
        if (count > 1) {
            EXPECT_EQ(test_find_site(&handlers_[1], sites_[0].address + call_bytes), nullptr);
            EXPECT_EQ(test_find_site(&handlers_[0], sites_[1].address + call_bytes), nullptr);
            EXPECT_EQ(test_find_site(&handlers_[0], sites_[0].address), nullptr);
        }
    }
}

TEST_F(Lookup, TellsHandlersOfOneAddressApart) {
    for (const u32 handler : {0U, 1U, 2U})
        add(kernel, handler);
    ASSERT_EQ(make(), 0);
    expect_all_found();
}

TEST_F(Lookup, KnowsOnlyThoseThatAreToldByTheirAddresses) {
    handlers_[1].by_ftrace = [] {};
    trampolines_[1].by_address = 1;
    add(kernel + 0x100);                           // needs it
    add(kernel + 0x200, 1);                        // has code of its own
    add(kernel + 0x300, 0, DJS_MECHANISM_KPROBE);  // its kprobe tells
    add(kernel + 0x400, 0, DJS_MECHANISM_DJPROBE); // may become an ftrace_ops
    add(kernel + 0x500, 1, DJS_MECHANISM_DJPROBE); // with code of its own
    add(kernel + 0x600, 1, DJS_MECHANISM_DJPROBE).trampoline = 1;
    add(kernel + 0x700, 1, DJS_MECHANISM_RETURN_DJPROBE).trampoline = 1;
    add(kernel + 0x800).segment = 1; // its module is not loaded
    add(0);
    ASSERT_EQ(make(), 0);
    EXPECT_TRUE(is_found(0));
    EXPECT_EQ(find(sites_[1]), nullptr);
    EXPECT_EQ(find(sites_[2]), nullptr);
    EXPECT_TRUE(is_found(3));
    EXPECT_EQ(find(sites_[4]), nullptr);
    EXPECT_TRUE(is_found(5));
    EXPECT_TRUE(is_found(6));
    EXPECT_EQ(find(sites_[7]), nullptr);
    EXPECT_EQ(find(sites_[8]), nullptr);
}

TEST_F(Lookup, AsksEachTrampolineAndEachHandler) {
    for (djs_handler& handler : handlers_)
        handler.by_ftrace = [] {};
    for (const u32 trampoline : {0U, 1U}) {
        trampolines_[trampoline].by_address = 1;
        sites_.clear();
        add(kernel, 0, DJS_MECHANISM_DJPROBE).trampoline = trampoline;
        ASSERT_EQ(make(), 0);
        EXPECT_TRUE(is_found(0));
        trampolines_[trampoline].by_address = 0;
        ASSERT_EQ(make(), 0);
        EXPECT_EQ(find(sites_[0]), nullptr);
    }
    for (const u32 handler : {0U, 1U, 2U}) {
        handlers_[handler].by_ftrace = nullptr;
        sites_.clear();
        add(kernel, handler);
        ASSERT_EQ(make(), 0);
        EXPECT_TRUE(is_found(0));
        handlers_[handler].by_ftrace = [] {};
    }
}

TEST_F(Lookup, TriesOtherMultipliersAndThenALargerTable) {
    add(kernel);
    add(kernel + 16);
    const struct {
        u32 bad;
        u64 slots;
    } turns[] = {{0, 4}, {15, 4}, {16, 8}, {31, 8}, {32, 16}, {63, 32}};
    for (const auto& [bad, slots] : turns) {
        test_bad_draws = bad;
        test_draws = 0;
        test_lookup_largest = 0;
        ASSERT_EQ(make(), 0) << bad;
        EXPECT_EQ(test_draws, bad + 1);
        EXPECT_EQ(test_lookup_largest, slots * 16) << bad;
        expect_all_found();
    }
    test_bad_draws = 64;
    test_draws = 0;
    EXPECT_EQ(make(), -ENOSPC);
    EXPECT_EQ(test_draws, 64U);
}

TEST_F(Lookup, IsReplacedWhenNoHandlerLooksAtTheFormerOne) {
    add_many(10);
    ASSERT_EQ(make(), 0);
    EXPECT_EQ(test_lookup_drains, 0U);
    const u32 live = guarded_count();
    ASSERT_EQ(test_lookup_update(), 0);
    EXPECT_EQ(test_lookup_drains, 1U);
    EXPECT_EQ(guarded_count(), live);
    expect_all_found();
}

TEST_F(Lookup, StaysWhenThereIsNoMemoryForAnother) {
    add_many(10);
    ASSERT_EQ(make(), 0);
    const u32 live = guarded_count();
    long allowed = 0;
    for (int error = -ENOMEM; error != 0; allowed++) {
        ASSERT_LT(allowed, 200);
        test_allocations_left = allowed;
        error = test_lookup_update();
        test_allocations_left = LONG_MAX;
        EXPECT_TRUE(error == 0 || error == -ENOMEM) << error;
        EXPECT_EQ(guarded_count(), live);
        expect_all_found();
    }
    EXPECT_GT(allowed, 6);
}

} // namespace
