// SPDX-License-Identifier: GPL-2.0-or-later
// Modules whose functions are probed, which are loaded before the script or while it runs.
#include "coming_modules_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace {

class ComingModules : public testing::Test {
  protected:
    // The sites 1 and 3 are the kernel's, 0 and 4 are of the module "first", 2 of "second".
    void SetUp() override {
        test_coming_begin();
        // Behind the last one there is no memory.
        static void* end;
        images_ = static_cast<djs_image*>(guarded_end(&end)) - TEST_COMING_IMAGES;
        images_[0].kind = DJS_IMAGE_KERNEL;
        images_[1].kind = images_[2].kind = DJS_IMAGE_MODULE;
        images_[0].name = "kernel";
        images_[1].name = "first";
        images_[2].name = "second";
        djs_script.images = images_;
        djs_script.image_count = TEST_COMING_IMAGES;
        djs_script.sites = sites_;
        djs_script.site_count = TEST_COMING_SITES;
        for (const u32 i : {0, 4})
            test_coming_sites[i].image = 1;
        test_coming_sites[2].image = 2;
        for (const u32 i : {0, 2, 4})
            test_coming_sites[i].absent = true;
    }
    void TearDown() override {
        EXPECT_EQ(test_coming_references, 0);
        djs_script = {};
    }
    static std::string log() { return taken_log(test_coming_log); }
    // The script runs, and both modules are as given.
    static std::string followed(bool has_first, bool has_second) {
        EXPECT_EQ(test_coming_init(), 0);
        test_coming_is_loaded[1] = has_first;
        test_coming_is_loaded[2] = has_second;
        EXPECT_EQ(test_coming_follow(), 0);
        return log();
    }
    static std::string told(const char* name, int what) {
        test_coming_module(name, what);
        return log();
    }
    // Of each site: placed, absent, failed.
    static std::string sites() {
        std::string all;
        for (u32 i = 0; i < djs_script.site_count; i++) {
            auto& site = test_coming_sites[i];
            all += site.is_placed ? "p" : "";
            all += site.absent ? "a" : "";
            all += site.error ? std::to_string(site.error) : "";
            all += " ";
            site.is_placed = false;
        }
        return all;
    }
    // As if the sites had been armed.
    static void armed(std::initializer_list<u32> sites) {
        for (const u32 i : sites)
            test_coming_sites[i].armed = test_coming_sites[i].wanted = true;
    }

    djs_image* images_ = nullptr;
    djs_site sites_[TEST_COMING_SITES]{};
};

TEST_F(ComingModules, ArePlacedAtTheBeginningIfTheyAreLoaded) {
    EXPECT_FALSE(test_coming_followed());
    EXPECT_EQ(followed(true, true), "place(1) lookup place(2) lookup ");
    EXPECT_EQ(sites(), "p  p  p ");
    EXPECT_TRUE(test_coming_followed());
    test_coming_ignore();
    EXPECT_FALSE(test_coming_followed());
}

TEST_F(ComingModules, AreWaitedFor) {
    EXPECT_EQ(followed(false, false),
              "the module 'first' is not loaded: 2 of its functions will be probed when it is "
              "loaded\n"
              "the module 'second' is not loaded: 1 of its functions will be probed when it is "
              "loaded\n");
    EXPECT_EQ(sites(), "a  a  a ");
    // Its own initialization is probed, after others have prepared its text.
    EXPECT_EQ(told("first", TEST_MODULE_COMES), "others place(1) lookup rearm ");
    EXPECT_EQ(sites(), "p  a  p ");
    EXPECT_EQ(told("first", TEST_MODULE_IS_LIVE), "others "); // that is known
    EXPECT_EQ(told("second", TEST_MODULE_IS_LIVE), "others place(2) lookup rearm ");
    EXPECT_EQ(told("third", TEST_MODULE_COMES), "others ");
    EXPECT_EQ(told("kernel", TEST_MODULE_COMES), "others ");
    EXPECT_EQ(told("first", TEST_MODULE_IS_UNFORMED), "others ");
}

TEST_F(ComingModules, MayHaveTheOnlySite) {
    djs_script.site_count = 1;
    followed(false, false);
    EXPECT_EQ(told("first", TEST_MODULE_COMES), "others place(1) lookup rearm ");
    EXPECT_EQ(sites(), "p ");
}

// Only its variables are of interest.
TEST_F(ComingModules, NeedNoSites) {
    test_coming_sites[2].image = 0;
    EXPECT_EQ(followed(true, false), "place(1) lookup ");
    EXPECT_EQ(told("second", TEST_MODULE_COMES), "others place(2) lookup rearm ");
}

TEST_F(ComingModules, AreNotLookedForAtTheEnd) {
    followed(false, false);
    test_coming_ignore();
    EXPECT_EQ(told("first", TEST_MODULE_COMES), "others ");
    EXPECT_EQ(sites(), "a  a  a ");
}

TEST_F(ComingModules, MayBeDifferentOnesOfTheSameName) {
    test_coming_place_error = -ENOEXEC;
    EXPECT_EQ(followed(true, false),
              "place(1) the loaded module 'first' is not the one that this script was compiled "
              "for: 2 of its functions are not probed\n"
              "the module 'second' is not loaded: 1 of its functions will be probed when it is "
              "loaded\n");
    EXPECT_EQ(sites(), "a-8  a  a-8 ");
    EXPECT_EQ(told("first", TEST_MODULE_IS_LIVE), "others "); // that was said
    EXPECT_EQ(told("second", TEST_MODULE_COMES),
              "others place(2) the loaded module 'second' is not the one that this script was "
              "compiled for: 1 of its functions is not probed\n"
              "rearm ");
    // The right one comes after it.
    EXPECT_EQ(told("first", TEST_MODULE_GOES), "gone(1) others ");
    EXPECT_EQ(sites(), "a  a-8  a ");
    test_coming_place_error = 0;
    EXPECT_EQ(told("first", TEST_MODULE_COMES), "others place(1) lookup rearm ");
    EXPECT_EQ(sites(), "p  a-8  p ");
}

TEST_F(ComingModules, StopTheScriptIfTheirSitesCannotBeFound) {
    EXPECT_EQ(test_coming_init(), 0);
    test_coming_is_loaded[1] = test_coming_is_loaded[2] = true;
    test_coming_lookup_error = -ENOMEM;
    EXPECT_EQ(test_coming_follow(), -ENOMEM);
    EXPECT_EQ(log(), "place(1) lookup "); // the next one does not matter
    EXPECT_FALSE(test_coming_followed());
}

TEST_F(ComingModules, AreNotProbedIfTheirSitesCannotBeFound) {
    followed(false, true);
    test_coming_lookup_error = -ENOMEM;
    EXPECT_EQ(told("first", TEST_MODULE_COMES),
              "others place(1) lookup the module 'first' was loaded and cannot be probed (error "
              "-12)\n");
}

TEST_F(ComingModules, AreForgottenBeforeOthersForgetThem) {
    followed(true, true);
    sites();
    armed({0, 2, 3, 4});
    EXPECT_EQ(told("first", TEST_MODULE_GOES),
              "forget(1) gone(1) the module 'first' was unloaded: 2 of its functions are no longer "
              "probed\nothers ");
    EXPECT_EQ(sites(), "a    a ");
    EXPECT_FALSE(test_coming_sites[0].wanted);
    EXPECT_TRUE(test_coming_sites[2].wanted);
    test_coming_sites[0].armed = test_coming_sites[4].armed = false;
    EXPECT_EQ(told("first", TEST_MODULE_GOES), "gone(1) others "); // none of it was armed
    EXPECT_EQ(told("second", TEST_MODULE_GOES),
              "forget(2) gone(2) the module 'second' was unloaded: 1 of its functions is no longer "
              "probed\nothers ");
    EXPECT_EQ(told("third", TEST_MODULE_GOES), "others ");
    // At the end nothing is said.
    armed({4});
    test_coming_ignore();
    EXPECT_EQ(told("first", TEST_MODULE_GOES), "forget(1) gone(1) others ");
}

TEST_F(ComingModules, AreWatchedByTwoNotifiers) {
    EXPECT_EQ(test_coming_init(), 0);
    EXPECT_EQ(test_coming_notifiers, 2U);
    test_coming_exit();
    EXPECT_EQ(test_coming_notifiers, 0U);
    test_coming_exit(); // nothing is left of it
    test_coming_notifier_errors[1] = -ENOMEM;
    EXPECT_EQ(test_coming_init(), -ENOMEM);
    EXPECT_EQ(test_coming_notifiers, 0U);
    test_coming_exit();
    test_coming_notifier_errors[0] = -EEXIST;
    EXPECT_EQ(test_coming_init(), -EEXIST);
    EXPECT_EQ(test_coming_notifiers, 0U);
    test_coming_exit();
}

TEST_F(ComingModules, AreNotWatchedIfThereAreNone) {
    djs_script.image_count = 1;
    EXPECT_EQ(test_coming_init(), 0);
    EXPECT_EQ(test_coming_notifiers, 0U);
    test_coming_exit();
}

} // namespace
