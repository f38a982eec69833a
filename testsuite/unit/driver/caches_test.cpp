// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/caches.h"

#include <cstdlib>
#include <ctime>
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

// What tells the end of a time from a second more: 30 days, a day, and the largest size itself.
TEST_F(Caches, KeepsWhatIsAtALimit) {
    const CacheRules standard;
    EXPECT_EQ(standard.unused_seconds, 30 * day);
    EXPECT_EQ(standard.unfinished_seconds, day);
    EXPECT_EQ(standard.largest, uint64_t{8'589'934'592});
    file("a", 10, now - 30 * day);
    file("b", 10, now - 30 * day - 1);
    file("c.part", 10, now - day);
    file("d.part", 10, now - day - 1);
    file("e.abcdef", 10, now - day);
    file("f.abcdef", 10, now - day - 1);
    file("g.abcde", 10, now - day - 1);
    file("h.abcdefg", 10, now - day - 1);
    file("abcdefg", 10, now - day - 1);
    EXPECT_EQ(apply_rules(folder, CacheRules(), now), 3u);
    for (const char* kept : {"a", "c.part", "e.abcdef", "g.abcde", "h.abcdefg", "abcdefg"})
        EXPECT_TRUE(there(kept)) << kept;
}

TEST_F(Caches, MayHaveTheLargestSize) {
    file("a", 40'960, now - 3 * day);
    file("b", 40'960, now - 2 * day);
    CacheRules rules;
    rules.largest = 0;
    for (const char* name : {"a", "b"}) {
        struct stat status = {};
        ASSERT_EQ(stat((folder / name).c_str(), &status), 0);
        rules.largest += static_cast<uint64_t>(status.st_blocks) * 512;
    }
    EXPECT_EQ(apply_rules(folder, rules, now), 0u);
    rules.largest--;
    EXPECT_EQ(apply_rules(folder, rules, now), 1u);
    EXPECT_FALSE(there("a"));
    EXPECT_TRUE(there("b"));
}

// A package or a copy gives all files one time.
TEST_F(Caches, ManyFilesOfOneSecondAreAsGoodAsAny) {
    for (int i = 0; i < 200; i++)
        file("kits/" + std::to_string(i), 10, now - 2 * day);
    EXPECT_EQ(apply_rules(folder, CacheRules(), now), 0u);
    CacheRules rules;
    rules.largest = 0;
    EXPECT_EQ(apply_rules(folder, rules, now), 200u);
}

TEST_F(Caches, OfDjstapAreCleanedOnceADay) {
    const std::string cache = folder / "cache";
    setenv("DJSTAP_CACHE", cache.c_str(), 1);
    const int64_t today = time(nullptr);
    clean_caches();
    EXPECT_FALSE(fs::exists(cache)) << "it is not made for that";
    file("cache/old", 10, today - 31 * day);
    file("cache/new", 10, today - day);
    EXPECT_EQ(cache_use().folder, cache);
    EXPECT_EQ(cache_use().files, 2u);
    EXPECT_EQ(cache_use().bytes % 512, 0u);
    clean_caches();
    EXPECT_FALSE(there("cache/old"));
    EXPECT_TRUE(there("cache/new"));
    file("cache/old", 10, today - 31 * day);
    clean_caches();
    EXPECT_TRUE(there("cache/old")) << "within a day";
    file("cache/cleaned", 0, today - day + 60);
    clean_caches();
    EXPECT_TRUE(there("cache/old"));
    file("cache/cleaned", 0, today - day - 60);
    clean_caches();
    EXPECT_FALSE(there("cache/old"));
    unsetenv("DJSTAP_CACHE");
}

// Whoever can write to the folder could have replaced what is in it by links to other files.
TEST_F(Caches, ThatOthersCanWriteToAreLeftAlone) {
    const std::string cache = folder / "cache";
    setenv("DJSTAP_CACHE", cache.c_str(), 1);
    const int64_t today = time(nullptr);
    file("cache/old", 10, today - 31 * day);
    fs::permissions(cache, fs::perms::all);
    clean_caches();
    EXPECT_TRUE(there("cache/old"));
    EXPECT_FALSE(there("cache/cleaned"));
    fs::permissions(cache, fs::perms::owner_all);
    clean_caches();
    EXPECT_FALSE(there("cache/old"));
    EXPECT_TRUE(there("cache/cleaned"));
    unsetenv("DJSTAP_CACHE");
}

TEST_F(Caches, AFolderThatIsNotThereIsNoError) {
    EXPECT_EQ(apply_rules(folder / "none", CacheRules(), now), 0u);
}

} // namespace
} // namespace djstap::driver
