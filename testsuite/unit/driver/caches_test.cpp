// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/caches.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap::driver {
namespace {

namespace fs = std::filesystem;

class Caches : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = fs::temp_directory_path() / "djstap-test-XXXXXX";
        ASSERT_TRUE(mkdtemp(name.data()));
        folder = name;
    }
    void TearDown() override { fs::remove_all(folder); }

    void file(const std::string& name, size_t bytes, int64_t used) {
        fs::create_directories((folder / name).parent_path());
        std::ofstream(folder / name) << std::string(bytes, 'x');
        struct timespec times[2] = {{used, 0}, {used, 0}};
        ASSERT_EQ(utimensat(AT_FDCWD, (folder / name).c_str(), times, 0), 0);
    }
    bool there(const std::string& name) { return fs::exists(folder / name); }

    fs::path folder;
    static constexpr int64_t now = 1'000'000'000, day = 24 * 3600;
};

TEST_F(Caches, RemovesWhatWasNotUsedForLong) {
    file("kits/old", 10, now - 31 * day);
    file("kits/new", 10, now - 29 * day);
    EXPECT_EQ(apply_rules(folder, CacheRules(), now), 1u);
    EXPECT_FALSE(there("kits/old"));
    EXPECT_TRUE(there("kits/new"));
}

TEST_F(Caches, RemovesWhatWasLeftHalfWritten) {
    file("index.a1B2c3", 10, now - 2 * day);
    file("index.d4E5f6", 10, now - day / 2);
    file("index", 10, now - 2 * day);
    EXPECT_EQ(apply_rules(folder, CacheRules(), now), 1u);
    EXPECT_FALSE(there("index.a1B2c3"));
}

TEST_F(Caches, RemovesLongestUnusedFirstWhereTooMuchIsLeft) {
    file("a", 60'000, now - 3 * day);
    file("b", 60'000, now - 2 * day);
    file("c", 60'000, now - day);
    CacheRules rules;
    rules.largest = 150'000;
    EXPECT_EQ(apply_rules(folder, rules, now), 1u);
    EXPECT_FALSE(there("a"));
    EXPECT_TRUE(there("b"));
    EXPECT_TRUE(there("c"));
}

TEST_F(Caches, HolesOfAFileTakeNoPlace) {
    file("guest/memory", 10, now - 2 * day);
    fs::resize_file(folder / "guest/memory", uint64_t{1} << 33);
    file("kits/new", 10, now - day);
    CacheRules rules;
    rules.largest = 1 << 20;
    EXPECT_EQ(apply_rules(folder, rules, now), 0u);
    EXPECT_TRUE(there("guest/memory"));
}

TEST_F(Caches, AFolderThatIsNotThereIsNoError) {
    EXPECT_EQ(apply_rules(folder / "none", CacheRules(), now), 0u);
}

} // namespace
} // namespace djstap::driver
