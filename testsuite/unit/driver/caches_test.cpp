// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/caches.h"

#include "../surroundings.h"

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
    void file(const std::string& name, size_t bytes, int64_t used) {
        fs::create_directories((folder / name).parent_path());
        std::ofstream(folder / name) << std::string(bytes, 'x');
        struct timespec times[2] = {{used, 0}, {used, 0}};
        ASSERT_EQ(utimensat(AT_FDCWD, (folder / name).c_str(), times, 0), 0);
    }
    bool there(const std::string& name) { return fs::exists(folder / name); }

    // The names of files that djstap makes; different letters are different files.
    static std::string index(char letter) {
        return "library-000000000000000" + std::string(1, letter) + ".index";
    }
    static std::string table(const std::string& name) {
        return "kernels/3b43fad5034874490492495d552c0af6a5fab235/" + name;
    }

    const test::TestFolder own_folder;
    const fs::path folder = own_folder.path;
    static constexpr int64_t now = 1'000'000'000, day = 24 * 3600;
};

TEST_F(Caches, RemovesWhatWasNotUsedForLong) {
    file(table("old"), 10, now - 31 * day);
    file(table("new"), 10, now - 29 * day);
    EXPECT_EQ(apply_rules(folder, CacheRules(), now), 1u);
    EXPECT_FALSE(there(table("old")));
    EXPECT_TRUE(there(table("new")));
}

TEST_F(Caches, RemovesWhatWasLeftHalfWritten) {
    file(table("index.a1B2c3"), 10, now - 2 * day);
    file(table("index.d4E5f6"), 10, now - day / 2);
    file(table("dwarf"), 10, now - 2 * day);
    EXPECT_EQ(apply_rules(folder, CacheRules(), now), 1u);
    EXPECT_FALSE(there(table("index.a1B2c3")));
}

TEST_F(Caches, RemovesLongestUnusedFirstWhereTooMuchIsLeft) {
    file(index('a'), 60'000, now - 3 * day);
    file(index('b'), 60'000, now - 2 * day);
    file(index('c'), 60'000, now - day);
    CacheRules rules;
    rules.largest = 150'000;
    EXPECT_EQ(apply_rules(folder, rules, now), 1u);
    EXPECT_FALSE(there(index('a')));
    EXPECT_TRUE(there(index('b')));
    EXPECT_TRUE(there(index('c')));
}

TEST_F(Caches, HolesOfAFileTakeNoPlace) {
    file("guest/6.1.0-1-0123456789abcdef/memory", 10, now - 2 * day);
    fs::resize_file(folder / "guest/6.1.0-1-0123456789abcdef/memory", uint64_t{1} << 33);
    file(table("new"), 10, now - day);
    CacheRules rules;
    rules.largest = 1 << 20;
    EXPECT_EQ(apply_rules(folder, rules, now), 0u);
    EXPECT_TRUE(there("guest/6.1.0-1-0123456789abcdef/memory"));
}

// What tells the end of a time from a second more: 30 days, a day, and the largest size itself.
TEST_F(Caches, KeepsWhatIsAtALimit) {
    const CacheRules standard;
    EXPECT_EQ(standard.unused_seconds, 30 * day);
    EXPECT_EQ(standard.unfinished_seconds, day);
    EXPECT_EQ(standard.largest, uint64_t{8'589'934'592});
    file(table("a"), 10, now - 30 * day);
    file(table("b"), 10, now - 30 * day - 1);
    file(table("c.part"), 10, now - day);
    file(table("d.part"), 10, now - day - 1);
    file(table("e.abcdef"), 10, now - day);
    file(table("f.abcdef"), 10, now - day - 1);
    file(table("g.abcde"), 10, now - day - 1);
    file(table("h.abcdefg"), 10, now - day - 1);
    file(table("abcdefg"), 10, now - day - 1);
    EXPECT_EQ(apply_rules(folder, CacheRules(), now), 3u);
    for (const char* kept : {"a", "c.part", "e.abcdef", "g.abcde", "h.abcdefg", "abcdefg"})
        EXPECT_TRUE(there(table(kept))) << kept;
}

TEST_F(Caches, MayHaveTheLargestSize) {
    file(index('a'), 40'960, now - 3 * day);
    file(index('b'), 40'960, now - 2 * day);
    CacheRules rules;
    rules.largest = 0;
    for (const std::string& name : {index('a'), index('b')}) {
        struct stat status = {};
        ASSERT_EQ(stat((folder / name).c_str(), &status), 0);
        rules.largest += static_cast<uint64_t>(status.st_blocks) * 512;
    }
    EXPECT_EQ(apply_rules(folder, rules, now), 0u);
    rules.largest--;
    EXPECT_EQ(apply_rules(folder, rules, now), 1u);
    EXPECT_FALSE(there(index('a')));
    EXPECT_TRUE(there(index('b')));
}

// A package or a copy gives all files one time.
TEST_F(Caches, ManyFilesOfOneSecondAreAsGoodAsAny) {
    for (int i = 0; i < 200; i++)
        file(table(std::to_string(i)), 10, now - 2 * day);
    EXPECT_EQ(apply_rules(folder, CacheRules(), now), 0u);
    CacheRules rules;
    rules.largest = 0;
    EXPECT_EQ(apply_rules(folder, rules, now), 200u);
}

TEST_F(Caches, OfDjstapAreCleanedOnceADay) {
    const std::string cache = folder / "cache";
    const test::Environment names_it("DJSTAP_CACHE", cache);
    const int64_t today = time(nullptr);
    clean_caches();
    EXPECT_FALSE(fs::exists(cache)) << "it is not made for that";
    file("cache/" + table("old"), 10, today - 31 * day);
    file("cache/" + table("new"), 10, today - day);
    EXPECT_EQ(cache_use().folder, cache);
    EXPECT_EQ(cache_use().files, 2u);
    EXPECT_EQ(cache_use().bytes % 512, 0u);
    clean_caches();
    EXPECT_FALSE(there("cache/" + table("old")));
    EXPECT_TRUE(there("cache/" + table("new")));
    file("cache/" + table("old"), 10, today - 31 * day);
    clean_caches();
    EXPECT_TRUE(there("cache/" + table("old"))) << "within a day";
    file("cache/cleaned", 0, today - day + 60);
    clean_caches();
    EXPECT_TRUE(there("cache/" + table("old")));
    file("cache/cleaned", 0, today - day);
    clean_caches();
    EXPECT_FALSE(there("cache/" + table("old")));
}

// The mark is not written through a link.
TEST_F(Caches, WithoutAMarkAreLeftAlone) {
    const std::string cache = folder / "cache";
    const test::Environment names_it("DJSTAP_CACHE", cache);
    file("cache/" + table("old"), 10, time(nullptr) - 31 * day);
    fs::create_symlink(folder / "elsewhere", cache + "/cleaned");
    clean_caches();
    EXPECT_TRUE(there("cache/" + table("old")));
    EXPECT_FALSE(there("elsewhere"));
    fs::remove(cache + "/cleaned");
    clean_caches();
    EXPECT_FALSE(there("cache/" + table("old")));
}

// Whoever can write to the folder could have replaced what is in it by links to other files.
TEST_F(Caches, ThatOthersCanWriteToAreLeftAlone) {
    const std::string cache = folder / "cache";
    const test::Environment names_it("DJSTAP_CACHE", cache);
    const int64_t today = time(nullptr);
    file("cache/" + table("old"), 10, today - 31 * day);
    fs::permissions(cache, fs::perms::all);
    clean_caches();
    EXPECT_TRUE(there("cache/" + table("old")));
    EXPECT_FALSE(there("cache/cleaned"));
    fs::permissions(cache, fs::perms::owner_all);
    clean_caches();
    EXPECT_FALSE(there("cache/" + table("old")));
    EXPECT_TRUE(there("cache/cleaned"));
}

// DJSTAP_CACHE may name any folder, a home for example.
TEST_F(Caches, FilesThatDjstapDidNotMakeAreKept) {
    const std::vector<std::string> others = {".ssh/id_rsa",
                                             "thesis.tex",
                                             "photo.123456",
                                             "download.part",
                                             "modules/notes.ko",
                                             "modules/djstap_driver.ko",
                                             "kernels/6.1/vmlinuz",
                                             "headers/stdio.o",
                                             "runtime/main.c",
                                             "runtime/6.1/main.c",
                                             "guest/myapp/manifest.json",
                                             "library-of-alexandria.index",
                                             "work/guest/6.1.0-1-0123456789abcdef/memory",
                                             "work/library-0123456789abcdef.index"};
    const std::vector<std::string> own = {
        "library-0123456789abcdef.index",
        "library-0123456789abcdef.index.a1B2c3",
        "embedded/0123456789abcdef0123456789abcdef.o",
        "headers/0123456789abcdef0123456789abcdef.o",
        "headers/0123456789abcdef0123456789abcdef.files",
        "headers/0123456789abcdef0123456789abcdef-0123456789abcdef.o",
        "headers/0123456789abcdef0123456789abcdef.o.a1B2c3",
        "modules/djstap_3e0e7936_5269.ko",
        "modules/djstap_3e0e7936_5269.ko.5269.part",
        "kernels/6.1.0-1/modules/vfat-0123456789abcdef-v2.ko",
        table("symbols"),
        table("dwarf.first"),
        table("modules/vfat-0123456789abcdef-v2.ko"),
        "runtime/6.1.0-1-0123456789abcdef-0123456789abcdef/module.lds",
        "runtime/.6.1.0-1-unknown-0123456789abcdef.part/module.lds",
        "runtime/.6.1.0-1-unknown-0123456789abcdef.lock",
        "guest/6.1.0-1-0123456789abcdef/manifest.json",
        "guest/facts-6.1.0-1-0123456789abcdef/kallsyms",
        "guest/facts-6.1.0-1-0123456789abcdef.new.12/kallsyms"};
    for (const std::vector<std::string>* names : {&others, &own})
        for (const std::string& name : *names)
            file(name, 10, now - 1000 * day);
    EXPECT_EQ(apply_rules(folder.string() + "/", CacheRules(), now), own.size());
    for (const std::string& name : others)
        EXPECT_TRUE(there(name)) << name;
    for (const std::string& name : own)
        EXPECT_FALSE(there(name)) << name;
    CacheRules rules;
    rules.largest = 0;
    EXPECT_EQ(apply_rules(folder, rules, now), 0u) << "nor for want of room";
}

TEST_F(Caches, AFolderThatIsNotThereIsNoError) {
    EXPECT_EQ(apply_rules(folder / "none", CacheRules(), now), 0u);
}

} // namespace
} // namespace djstap::driver
