// SPDX-License-Identifier: GPL-2.0-or-later
// Probes in programs where the kernel has no object of its own for them: what is registered, and
// unregistered before it is freed.
#include "kernel_for_test.h"
#include "log_for_test.h"
#include "uprobe_by_inode_for_test.h"

#include <cerrno>
#include <gtest/gtest.h>
#include <string>

namespace {

class UprobesByInode : public testing::Test {
  protected:
    void SetUp() override {
        for (u32 i = 0; i < TEST_BY_INODE_SITES; i++) {
            handlers_[i].body = [](djs_ctx*) {};
            sites_[i].mechanism = DJS_MECHANISM_UPROBE;
            sites_[i].handler = i;
            sites_[i].address = 0x401000 + 0x10 * u64{i};
        }
        sites_[2].mechanism = DJS_MECHANISM_URETPROBE;
        handlers_[1].arguments[DJS_UPROBE_SEMAPHORE] = 0x77;
        segment_.file_distance = 0x400000;
        djs_script.segments = &segment_;
        djs_script.segment_count = 1;
        djs_script.handlers = handlers_;
        djs_script.handler_count = TEST_BY_INODE_SITES;
        djs_script.sites = sites_;
        djs_script.site_count = TEST_BY_INODE_SITES;
        test_by_inode_begin();
    }
    void TearDown() override {
        for (u32 i = 0; i < TEST_BY_INODE_SITES; i++)
            test_by_inode_want(i, false);
        test_by_inode_disarm();
        test_by_inode_free();
        EXPECT_EQ(guarded_count(), 0U);
        djs_script = {};
    }
    static std::string log() { return taken_log(test_by_inode_log); }

    djs_segment segment_{};
    djs_handler handlers_[TEST_BY_INODE_SITES]{};
    djs_site sites_[TEST_BY_INODE_SITES]{};
};

TEST_F(UprobesByInode, AreUnregisteredWhereTheyWereRegistered) {
    EXPECT_EQ(test_by_inode_attach(), 0);
    EXPECT_EQ(log(), "on 17+0x1020 0\non 17+0x1010 0x77\non 17+0x1000 0\n");
    for (u32 i = 0; i < TEST_BY_INODE_SITES; i++)
        EXPECT_TRUE(test_by_inode_armed(i)) << i;
    EXPECT_EQ(test_by_inode_attach(), 0);
    EXPECT_EQ(log(), "");
    const u32 count = guarded_count();
    test_by_inode_want(1, false);
    test_by_inode_disarm();
    EXPECT_EQ(log(), "off 17+0x1010\n");
    EXPECT_EQ(test_count_at_wait, count); // whoever runs may use it until then
    EXPECT_EQ(guarded_count(), count - 1);
    EXPECT_FALSE(test_by_inode_armed(1));
    test_by_inode_disarm();
    EXPECT_EQ(log(), "");
    test_by_inode_want(1, true);
    EXPECT_EQ(test_by_inode_attach(), 0);
    EXPECT_EQ(log(), "on 17+0x1010 0x77\n");
    test_by_inode_want(0, false);
    test_by_inode_want(2, false);
    test_by_inode_disarm();
    EXPECT_EQ(log(), "off 17+0x1000\noff 17+0x1020\n");
}

TEST_F(UprobesByInode, ThatTheKernelRejectsFail) {
    djs_script.site_count = 1;
    const struct {
        int error;
        const char* why;
    } errors[] = {{-EOPNOTSUPP, "the kernel cannot probe this instruction, or has no uprobes"},
                  {-ENOMEM, "there is no memory"},
                  {-EIO, "the kernel cannot probe files of this file system"},
                  {-EINVAL, "the kernel rejects a uprobe there"}};
    for (const auto& [error, why] : errors) {
        test_by_inode_begin();
        test_by_inode_error = error;
        EXPECT_EQ(test_by_inode_attach(), 0);
        EXPECT_EQ(log(), "failed 0: " + std::string(why) + " (" + std::to_string(error) + ")\n");
        EXPECT_FALSE(test_by_inode_armed(0));
    }
    test_by_inode_error = 0;
    EXPECT_EQ(test_by_inode_attach(), 0); // it is not tried again
    EXPECT_EQ(log(), "");
}

} // namespace
