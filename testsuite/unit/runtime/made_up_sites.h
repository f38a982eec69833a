// SPDX-License-Identifier: GPL-2.0-or-later
// A script of six sites, for the tests of what arms and disarms them.
#pragma once

#include "arming_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <string>

class ArmingTest : public testing::Test {
  protected:
    // What a script's begin probes have, which no mechanism attaches.
    static constexpr u32 none = DJS_MECHANISM_NONE;

    void SetUp() override {
        test_arming_begin();
        for (u32 i = 0; i < TEST_ARMING_SITES; i++) {
            sites_[i].address = 0x100 * (i + 1);
            sites_[i].fallback = DJS_NO_FALLBACK;
            sites_[i].segment = DJS_NO_INDEX;
            sites_[i].handler = i;
        }
        djs_script.handlers = handlers_;
        djs_script.handler_count = TEST_ARMING_SITES;
        djs_script.sites = sites_;
        djs_script.images = images_;
        djs_script.image_count = 2;
        images_[0].kind = DJS_IMAGE_KERNEL;
        images_[1].kind = DJS_IMAGE_KERNEL;
    }
    void TearDown() override {
        EXPECT_EQ(test_atomic_depth, 0);
        EXPECT_FALSE(test_arming_is_locked());
        djs_script = {};
    }
    // The script has sites of these mechanisms.
    template <typename... Mechanism> void has(Mechanism... mechanisms) {
        u32 count = 0;
        for (const u32 mechanism : {static_cast<u32>(mechanisms)...})
            test_arming_sites[count++].mechanism = mechanism;
        djs_script.site_count = count;
    }
    // As if they had been armed.
    static void were_armed(std::initializer_list<u32> sites) {
        for (const u32 i : sites)
            test_arming_sites[i].armed = test_arming_sites[i].was_armed =
                test_arming_sites[i].wanted = true;
    }
    static std::string log() { return taken_log(test_arming_log); }
    static std::string armed() {
        EXPECT_EQ(test_arming_arm(), 0);
        return log();
    }
    static std::string rearmed() {
        test_arming_rearm();
        return log();
    }
    static std::string disarmed() {
        test_arming_disarm();
        return log();
    }

    djs_handler handlers_[TEST_ARMING_SITES]{};
    djs_site sites_[TEST_ARMING_SITES]{};
    djs_image images_[2]{};
};
