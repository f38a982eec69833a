// SPDX-License-Identifier: GPL-2.0-or-later
// Which files that programs map are read, once or again, and what is counted.
#include "images_for_test.h"
#include "kernel_for_test.h"
#include "made_up_file.h"
#include "ustack_for_test.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <elf.h>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

using namespace std::string_literals;
using djstap::test::MadeUpFile;

class MappedFiles : public testing::Test {
  protected:
    void SetUp() override {
        test_read_most = ~u64{0};
        test_reads_left = LONG_MAX;
        whole_ = file_.made();
        test_image_file(whole_.data(), whole_.size());
        ASSERT_EQ(test_images_init(), 0);
        refused_ = djs_user_images_refused();
    }
    void TearDown() override {
        test_images_exit();
        test_allocations_left = LONG_MAX;
        test_is_killed = false;
        EXPECT_EQ(guarded_count(), 0U);
    }
    // Maps the file, and says how often it was looked at.
    test_image map(u32* looks = nullptr) {
        const u32 before = test_paths_made;
        const test_image image = test_map(&mapped_);
        if (looks)
            *looks = test_paths_made - before;
        return image;
    }
    void becomes(const std::string& text) {
        whole_ = text;
        test_image_file(whole_.data(), whole_.size());
    }
    u64 refused() const { return djs_user_images_refused() - refused_; }

    test_mapped mapped_{{3, 17, 100, 5, 6, 7, 8}, "/bin/one", true, true, true};
    MadeUpFile file_;
    std::string whole_;

  private:
    u64 refused_ = 0;
};

TEST_F(MappedFiles, AreReadOnce) {
    u32 looks = 0;
    test_image image = map(&looks);
    EXPECT_STREQ(image.path, "/bin/one");
    EXPECT_EQ(image.number, 0U);
    EXPECT_EQ(image.rows, 1U);
    EXPECT_EQ(looks, 1U);
    mapped_.path = "/bin/link"; // the same file
    EXPECT_STREQ(map(&looks).path, "/bin/one");
    EXPECT_EQ(looks, 0U);
    EXPECT_STREQ(test_image_of(0).path, "/bin/one");
    EXPECT_EQ(refused(), 0U);
}

TEST_F(MappedFiles, AreOthersIfAnythingIsDifferent) {
    EXPECT_EQ(map().number, 0U);
    u32 number = 1;
    for (u64 test_identity::* each :
         {&test_identity::device, &test_identity::inode, &test_identity::size}) {
        mapped_.identity.*each += 1;
        EXPECT_EQ(map().number, number++);
    }
    mapped_.identity.modified++;
    EXPECT_EQ(map().number, number++);
    mapped_.identity.modified_ns++;
    EXPECT_EQ(map().number, number++);
    mapped_.identity.changed++;
    EXPECT_EQ(map().number, number++);
    mapped_.identity.changed_ns++;
    EXPECT_EQ(map().number, number);
    EXPECT_EQ(map().number, number);
    EXPECT_STREQ(test_image_of(number).path, "/bin/one");
}

TEST_F(MappedFiles, BeyondTheRoomForThemAreRefused) {
    for (u32 i = 0; i < TEST_IMAGES_MAX; i++, mapped_.identity.inode++) {
        ASSERT_STREQ(map().path, "/bin/one") << i;
        ASSERT_EQ(map().number, i);
    }
    EXPECT_EQ(refused(), 0U);
    EXPECT_EQ(map().path, nullptr);
    EXPECT_EQ(refused(), 1U);
    EXPECT_EQ(test_map_kernel(reinterpret_cast<u64>(whole_.data()), true).path, nullptr);
    mapped_.identity.inode--; // the last one
    EXPECT_EQ(map().number, TEST_IMAGES_MAX - 1);
    EXPECT_EQ(refused(), 1U);
}

TEST_F(MappedFiles, AreFilesThatCanBeRead) {
    for (bool test_mapped::* each :
         {&test_mapped::is_regular, &test_mapped::is_readable, &test_mapped::is_known}) {
        mapped_.*each = false;
        EXPECT_EQ(map().path, nullptr);
        mapped_.*each = true;
    }
    EXPECT_EQ(map().number, 0U);
}

TEST_F(MappedFiles, KeepTheEndsOfTheirPaths) {
    const std::string longest(511, 'x'), longer = "y" + longest;
    mapped_.path = longest.c_str();
    EXPECT_EQ(map().path, longest);
    mapped_.identity.inode++;
    mapped_.path = longer.c_str();
    EXPECT_EQ(map().path, longest);
    mapped_.identity.inode++;
    mapped_.path = nullptr;
    EXPECT_STREQ(map().path, "?");
}

// A thousand files that are no programs are remembered as such.
TEST_F(MappedFiles, ThatAreNoImagesAreRemembered) {
    becomes("#!/bin/sh");
    u32 looks = 0;
    for (int i = 0; i < 1025; i++) {
        mapped_.identity.inode++;
        EXPECT_EQ(map(&looks).path, nullptr);
        EXPECT_EQ(looks, 1U);
        map(&looks);
        ASSERT_EQ(looks, i < 1024 ? 0U : 1U) << i;
    }
    EXPECT_EQ(refused(), 0U);
    becomes(file_.made());
    mapped_.identity.inode++;
    EXPECT_EQ(map().number, 0U);
}

TEST_F(MappedFiles, ThatWereNotReadWhollyAreReadAgain) {
    u32 looks = 0;
    test_reads_left = 2; // the headers
    test_read_result = -5;
    EXPECT_TRUE(map(&looks).is_refused);
    EXPECT_EQ(refused(), 1U);
    test_reads_left = 2;
    EXPECT_TRUE(map(&looks).is_refused); // again
    EXPECT_EQ(looks, 1U);
    EXPECT_EQ(map(&looks).number, 0U);
    EXPECT_EQ(refused(), 1U);
    test_reads_left = LONG_MAX;
    const test_image whole = map(&looks);
    EXPECT_EQ(looks, 1U);
    EXPECT_EQ(whole.number, 1U);
    EXPECT_EQ(whole.rows, 1U);
    EXPECT_EQ(map(&looks).number, 1U);
    EXPECT_EQ(looks, 0U);
    EXPECT_EQ(refused(), 1U);
    EXPECT_TRUE(test_image_of(0).is_refused); // stacks may refer to it
    // Of what cannot be read at all nothing is known, and nobody needs what a killed task has read.
    mapped_.identity.inode++;
    test_reads_left = 0;
    EXPECT_EQ(map().path, nullptr);
    test_reads_left = 2;
    test_is_killed = true;
    EXPECT_EQ(map().path, nullptr);
    EXPECT_EQ(refused(), 1U);
    test_is_killed = false;
    test_reads_left = LONG_MAX;
    EXPECT_EQ(map().number, 2U);
}

TEST_F(MappedFiles, WithDamagedInformationAreCountedOnce) {
    file_.index_text[0] = 2;
    becomes(file_.made());
    u32 looks = 0;
    EXPECT_TRUE(map().is_refused);
    EXPECT_TRUE(map(&looks).is_refused);
    EXPECT_EQ(looks, 0U);
    EXPECT_EQ(refused(), 1U);
}

TEST_F(MappedFiles, CountTheKernelsLibraryIfItsInformationIsDamaged) {
    file_.index_text[0] = 2;
    becomes(file_.made());
    const test_image image = test_map_kernel(reinterpret_cast<u64>(whole_.data()), true);
    EXPECT_STREQ(image.path, "vdso");
    EXPECT_TRUE(image.is_refused);
    EXPECT_EQ(refused(), 1U);
}

TEST_F(MappedFiles, NeedMemory) {
    // For the path, the path that is kept, and what is known of the file.
    for (const long allocations : {0L, 1L, 2L}) {
        test_allocations_left = allocations;
        EXPECT_EQ(map().path, nullptr);
        EXPECT_EQ(guarded_count(), 1U) << allocations;
    }
    EXPECT_EQ(refused(), 3U);
    test_images_exit();
    test_allocations_left = 0;
    EXPECT_EQ(test_images_init(), -ENOMEM);
    test_allocations_left = LONG_MAX;
    ASSERT_EQ(test_images_init(), 0);
}

TEST_F(MappedFiles, HaveTheKernelsLibraryAmongThem) {
    const std::string& whole = file_.made();
    const u64 address = reinterpret_cast<u64>(whole.data());
    test_image_file(whole.data(), whole.size());
    EXPECT_EQ(test_map_kernel(address, false).path, nullptr); // no program loads it
    EXPECT_EQ(test_map_kernel(0, true).path, nullptr);
    test_image_file(whole.data(), 100); // it cannot be read
    EXPECT_EQ(test_map_kernel(address, true).path, nullptr);
    EXPECT_EQ(guarded_count(), 1U);
    test_image_file(whole.data(), whole.size());
    const test_image image = test_map_kernel(address, true);
    EXPECT_STREQ(image.path, "vdso");
    EXPECT_EQ(image.number, 0U);
    EXPECT_EQ(image.rows, 1U);
    EXPECT_EQ(map().number, 1U);
}

} // namespace
