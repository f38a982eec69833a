// SPDX-License-Identifier: GPL-2.0-or-later
// Which tracepoints and markers get which callbacks, in which order, and what becomes of those that
// cannot.
#include "globals_for_test.h"
#include "include/recorder.h"
#include "kernel_for_test.h"
#include "log_for_test.h"
#include "tracepoint_for_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <initializer_list>
#include <string>

namespace {

class Points : public testing::Test {
  protected:
    void SetUp() override {
        test_points_begin();
        for (djs_handler& handler : handlers_)
            handler.tracepoint = [] {};
        images_[1].kind = DJS_IMAGE_MODULE;
        djs_script.handlers = handlers_;
        djs_script.handler_count = TEST_POINTS;
        djs_script.sites = sites_;
        djs_script.images = images_;
        djs_script.image_count = 2;
    }
    void TearDown() override {
        test_allocations_left = LONG_MAX;
        test_tracepoints_free();
        EXPECT_EQ(guarded_count(), 0U);
        djs_script = {};
    }

    djs_site& add(const std::string& name, u32 mechanism) {
        djs_site& site = sites_[djs_script.site_count];
        site.function = static_cast<u32>(texts_.size());
        texts_ += name + '\0';
        djs_script.site_texts = texts_.data();
        site.mechanism = static_cast<u8>(mechanism);
        site.handler = djs_script.site_count;
        test_points[djs_script.site_count++].wanted = true;
        return site;
    }
    djs_site& trace(const std::string& name) { return add(name, DJS_MECHANISM_TRACEPOINT); }
    djs_site& mark(const std::string& name, const char* format) {
        djs_site& site = add(name, DJS_MECHANISM_MARKER);
        handlers_[site.handler].arguments[DJS_MARKER_FORMAT] =
            djs_hash_bytes(format, strlen(format));
        return site;
    }
    static void kernel_has(std::initializer_list<const char*> names) {
        std::copy(names.begin(), names.end(), test_kernel_points);
    }
    static void module_has(std::initializer_list<const char*> names) {
        std::copy(names.begin(), names.end(), test_module_points);
    }
    static std::string log() { return taken_log(test_points_log); }
    static std::string attach() {
        EXPECT_EQ(test_tracepoints_attach(), 0);
        return log();
    }
    static std::string disarm() {
        test_tracepoints_disarm();
        return log();
    }
    static std::string attach_marks() {
        EXPECT_EQ(test_markers_attach(), 0);
        return log();
    }
    static std::string disarm_marks() {
        test_markers_disarm();
        return log();
    }

    djs_handler handlers_[TEST_POINTS]{};
    djs_site sites_[TEST_POINTS]{};
    djs_image images_[2]{};
    std::string texts_ = std::string(1, '\0');
};

using Tracepoints = Points;
using Markers = Points;

TEST_F(Tracepoints, AreFoundByTheirNamesInTheScriptsOrder) {
    kernel_has({"d", "c", "a", "b"});
    for (const char* name : {"c", "a", "c", "aa", "b", "d"})
        trace(name);
    test_points[4].wanted = false;
    EXPECT_EQ(attach(),
              "on d 5\non c 0\non c 2\non a 1\nfailed 3: the kernel has no such tracepoint (-2)\n");
    EXPECT_TRUE(test_points[0].armed && test_points[1].armed && test_points[2].armed &&
                test_points[5].armed);
    EXPECT_FALSE(test_points[3].armed || test_points[4].armed);
    EXPECT_EQ(test_points[3].error, -ENOENT);
    EXPECT_EQ(attach(), "");
    test_points[4].wanted = true;
    EXPECT_EQ(attach(), "on b 4\n");
    test_points[0].wanted = test_points[5].wanted = false;
    EXPECT_EQ(disarm(), "off c 0\noff d 5\nall have left\n");
    EXPECT_FALSE(test_points[0].armed || test_points[5].armed);
    EXPECT_TRUE(test_points[2].armed);
    EXPECT_EQ(disarm(), "");
    test_points[0].wanted = true;
    EXPECT_EQ(attach(), "on c 0\n");
}

TEST_F(Tracepoints, EachOfWhichIsFound) {
    kernel_has({"a", "b", "c", "d", "e"});
    for (const char* name : {"e", "d", "c", "b", "a"})
        trace(name);
    EXPECT_EQ(attach(), "on a 4\non b 3\non c 2\non d 1\non e 0\n");
}

TEST_F(Tracepoints, ThatRejectACallback) {
    kernel_has({"a", "b"});
    trace("a");
    trace("b");
    test_registrations_left = 1;
    EXPECT_EQ(attach(), "on a 0\nrefused b\nfailed 1: the tracepoint rejects a callback (-12)\n");
    EXPECT_TRUE(test_points[0].armed);
    EXPECT_FALSE(test_points[1].armed);
    EXPECT_EQ(attach(), "");
    test_points[0].wanted = false;
    EXPECT_EQ(disarm(), "off a 0\nall have left\n");
    test_points[0].wanted = true;
    test_registrations_left = 0;
    EXPECT_EQ(attach(), "refused a\nfailed 0: the tracepoint rejects a callback (-12)\n");
}

TEST_F(Tracepoints, NoneOfWhichIsWanted) {
    mark("a", "%d"); // another mechanism
    test_allocations_left = 0;
    EXPECT_EQ(attach(), "");
    EXPECT_EQ(disarm(), "");
    trace("b");
    EXPECT_EQ(test_tracepoints_attach(), -ENOMEM);
    test_allocations_left = LONG_MAX;
    kernel_has({"a", "b"});
    EXPECT_EQ(attach(), "on b 1\n");
}

TEST_F(Tracepoints, OfAModuleComeAndGo) {
    kernel_has({"a", "m"});
    trace("a");
    trace("m").segment = 1;
    trace("none").segment = 1;
    EXPECT_EQ(attach(), "on a 0\n");
    module_has({"l", "m", "n"});
    test_module_is_loaded = true;
    EXPECT_EQ(attach(), "on m 1\nfailed 2: the module has no such tracepoint (-2)\n");
    EXPECT_TRUE(test_points[1].armed);
    EXPECT_EQ(attach(), "");
    test_points[1].wanted = false;
    EXPECT_EQ(disarm(), "off m 1\nall have left\n");
    test_module_is_loaded = false;
    EXPECT_EQ(attach(), "");
    test_points[1].wanted = true;
    module_has({"m", "l", "n"});
    EXPECT_EQ(attach(), "");
    test_module_is_loaded = true;
    EXPECT_EQ(attach(), "on m 1\n");
}

TEST_F(Tracepoints, OfAModuleThatIsThereFromTheStart) {
    module_has({"k", "l", "m"});
    test_module_is_loaded = true;
    trace("m").segment = 1;
    EXPECT_EQ(attach(), "on m 0\n");
    test_points_begin();
    module_has({"m"});
    test_module_is_loaded = true;
    test_points[0].wanted = true;
    test_registrations_left = 0;
    EXPECT_EQ(attach(), "refused m\nfailed 0: the tracepoint rejects a callback (-12)\n");
}

TEST_F(Markers, HaveTheHandlerAtEachOfTheirPlaces) {
    kernel_has({"mark:x\0%d", "x", "mark:x\0%u", "mark:xx\0%d", "mark:x\0%d", "Mark:x\0%d"});
    mark("x", "%d");
    EXPECT_EQ(attach_marks(), "on mark:x 0\non mark:x 0\n");
    EXPECT_TRUE(test_points[0].armed);
    EXPECT_EQ(attach_marks(), "");
    EXPECT_EQ(disarm_marks(), "");
    test_points[0].wanted = false;
    EXPECT_EQ(disarm_marks(), "off mark:x 0\noff mark:x 0\nall have left\n");
    EXPECT_FALSE(test_points[0].armed);
    EXPECT_EQ(disarm_marks(), "");
    EXPECT_EQ(attach_marks(), "");
}

TEST_F(Markers, ThatDoNotExist) {
    kernel_has({"mark:x\0%d"});
    mark("x", "%s");
    mark("y", "%d");
    trace("x");
    EXPECT_EQ(attach_marks(), "failed 0: there is no such marker, or its format differs (-2)\n"
                              "failed 1: there is no such marker, or its format differs (-2)\n");
    EXPECT_EQ(attach_marks(), "");
}

TEST_F(Markers, OfWhichOnePlaceRejectsACallback) {
    kernel_has({"mark:x\0", "mark:x\0", "mark:x\0"});
    mark("x", "");
    test_registrations_left = 1;
    EXPECT_EQ(attach_marks(), "on mark:x 0\nrefused mark:x\noff mark:x 0\nall have left\n"
                              "failed 0: the marker rejects a callback (-12)\n");
    EXPECT_FALSE(test_points[0].armed);
    test_points[0].wanted = false;
    EXPECT_EQ(disarm_marks(), "");
}

TEST_F(Markers, OfAModule) {
    kernel_has({"mark:x\0%d"});
    module_has({"mark:y\0%d", "mark:x\0%d"});
    mark("x", "%d").segment = 1;
    test_module_is_loaded = true;
    EXPECT_EQ(attach_marks(), "on mark:x 0\n");
    EXPECT_TRUE(test_points[0].armed);
    test_points[0].wanted = false;
    EXPECT_EQ(disarm_marks(), "off mark:x 0\nall have left\n");
}

} // namespace
