// SPDX-License-Identifier: GPL-2.0-or-later
// Which files are taken from the cache, and which are not.
#include "cache/cache.h"
#include "system/hash.h"
#include "system/trust.h"

#include "surroundings.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace djstap;
namespace fs = std::filesystem;

namespace {

constexpr uid_t somebody = 12345;

class Trust : public testing::Test {
  protected:
    std::string file(const std::string& name, const std::string& text = "text") const {
        const std::string written = own_folder.write(name, text);
        chmod(written.c_str(), 0644);
        return written;
    }
    // Only root can change the owner of files.
    static void give_away(const std::string& what) {
        ASSERT_EQ(lchown(what.c_str(), somebody, somebody), 0);
    }
    static std::string complaint(const std::string& what) {
        const Status status = check_trusted(what);
        EXPECT_EQ(static_cast<bool>(status), static_cast<bool>(read_cached(what)));
        return status ? "" : status.failure().message;
    }

    const test::TestFolder own_folder;
    const std::string path = own_folder.path;
};

TEST_F(Trust, OwnFilesAndFoldersAre) {
    EXPECT_EQ(*read_cached(file("a/b/c")), "text");
    EXPECT_TRUE(check_trusted(path + "/a/b"));
    EXPECT_TRUE(check_trusted(path + "/a/not/there/yet"));
    fs::create_symlink("a/b/../b", path + "/link");
    EXPECT_EQ(*read_cached(path + "/link/c"), "text");
    EXPECT_TRUE(check_trusted_place("/tmp"));
    EXPECT_FALSE(check_trusted("/tmp"));
}

TEST_F(Trust, WhatOthersWriteToIsNot) {
    const std::string it = file("a/b/c");
    for (const auto& [what, mode] : {std::pair("/a/b/c", 0666), std::pair("/a/b", 0777),
                                     std::pair("/a", 0777), std::pair("/a/b", 01777)}) {
        const mode_t before = what == std::string("/a/b/c") ? 0644 : 0755;
        chmod((path + what).c_str(), static_cast<mode_t>(mode));
        EXPECT_EQ(complaint(it),
                  path + what + ": is writable by others, so its content is not used");
        chmod((path + what).c_str(), before);
    }
    chmod((path + "/a").c_str(), 01777); // only their owners can replace files in it
    EXPECT_EQ(complaint(it), "");
}

TEST_F(Trust, WhatAGroupWritesToIsNot) {
    const std::string it = file("a/b/c");
    const bool own_group = geteuid() != 0 && getegid() == geteuid(); // it has no other members
    for (const auto& [what, mode] :
         {std::pair("/a/b/c", 0664), std::pair("/a/b", 0775), std::pair("/a", 0770)}) {
        chmod((path + what).c_str(), static_cast<mode_t>(mode));
        EXPECT_EQ(complaint(it), own_group ? ""
                                           : path + what +
                                                 ": is writable by others, so "
                                                 "its content is not used");
        chmod((path + what).c_str(), static_cast<mode_t>(mode & ~020));
    }
}

TEST_F(Trust, WhatBelongsToOthersIsNot) {
    if (geteuid() != 0)
        GTEST_SKIP() << "only root gives files away";
    const std::string it = file("a/b/c");
    for (const char* what : {"/a/b/c", "/a/b", "/a"}) {
        give_away(path + what);
        EXPECT_EQ(complaint(it),
                  path + what + ": belongs to another user, so its content is not used");
        ASSERT_EQ(chown((path + what).c_str(), 0, 0), 0);
    }
    fs::create_symlink("b", path + "/a/link");
    EXPECT_EQ(complaint(path + "/a/link/c"), "");
    give_away(path + "/a/link");
    EXPECT_EQ(complaint(path + "/a/link/c"),
              path + "/a/link: belongs to another user, so its content is not used");
    // A link of one's own to another user's file is not trusted either.
    give_away(path + "/a");
    fs::create_symlink(path + "/a/b", path + "/way");
    EXPECT_NE(complaint(path + "/way/c"), "");
}

TEST_F(Trust, LinksThatLeadNowhereEnd) {
    fs::create_symlink("loop", path + "/loop");
    EXPECT_FALSE(check_trusted(path + "/loop/a"));
    EXPECT_FALSE(read_cached(path + "/loop"));
    EXPECT_FALSE(read_cached(path)); // a folder
}

TEST_F(Trust, NothingIsWrittenWhereItWouldNotBeRead) {
    EXPECT_TRUE(write_cached(path + "/a/b/c", "mine"));
    EXPECT_EQ(*read_cached(path + "/a/b/c"), "mine");
    chmod((path + "/a").c_str(), 0777);
    EXPECT_FALSE(write_cached(path + "/a/d/e", "mine"));
    EXPECT_FALSE(fs::exists(path + "/a/d"));
}

TEST_F(Trust, TablesOfOthersAreMadeAgain) {
    const TableFormat format = {{'t', 'e', 's', 't'}, 1, 1};
    TableWriter writer(format);
    writer.add(std::string("section"));
    const std::string it = file("table", writer.finish());
    EXPECT_TRUE(TableView::map(it, format));
    chmod(it.c_str(), 0666);
    EXPECT_FALSE(TableView::map(it, format));
}

TEST_F(Trust, RootDoesNotTakeSomebodysHome) {
    if (geteuid() != 0)
        GTEST_SKIP() << "root alone has another folder";
    const test::Environment cache("DJSTAP_CACHE"), of_user("XDG_CACHE_HOME"), home("HOME", path);
    EXPECT_EQ(cache_directory(), path + "/.cache/djstap");
    give_away(path);
    EXPECT_EQ(cache_directory(), "/var/cache/djstap");
    // an explicit setting is kept: it is refused when it is used
    cache.set(path);
    EXPECT_EQ(cache_directory(), path);
}

// The header: 8 bytes that name the form, its version, the number of sections, the file's size, a
// checksum; then each section's offset and size.
constexpr size_t version_at = 8, count_at = 12, size_at = 16, checksum_at = 24, entries_at = 32;
constexpr TableFormat two_sections = {{'d', 'j', 's', 't', 'e', 's', 't', '1'}, 7, 2};

template <class T> void put(std::string& file, size_t at, const T& value) {
    memcpy(file.data() + at, &value, sizeof value);
}

// With the checksum that this header and these entries have.
std::string checked(std::string file) {
    put(file, checksum_at, uint64_t{0});
    const std::string_view all = file;
    put(file, checksum_at,
        hash_bytes(all.substr(entries_at, 32), hash_bytes(all.substr(0, entries_at))));
    return file;
}

TEST(Tables, HaveTheSectionsThatWereAdded) {
    TableWriter writer(two_sections);
    writer.add(std::vector<uint32_t>{1, 2, 3, 4, 5});
    writer.add(std::string("text"));
    const std::string file = writer.finish();
    // Each section begins at 16 bytes, behind two entries of 16.
    EXPECT_EQ(file.size(), 64u + 32 + 16);
    const auto held = TableView::hold(file, two_sections);
    ASSERT_TRUE(held);
    const auto numbers = held->section<uint32_t>(0);
    EXPECT_EQ(std::vector<uint32_t>(numbers.begin(), numbers.end()),
              (std::vector<uint32_t>{1, 2, 3, 4, 5}));
    EXPECT_EQ(held->raw(1), "text");
    EXPECT_EQ(file.substr(96, 4), "text");
    TableWriter empty({{'e'}, 1, 1});
    empty.add(std::string());
    const auto nothing = TableView::hold(empty.finish(), {{'e'}, 1, 1});
    ASSERT_TRUE(nothing);
    EXPECT_EQ(nothing->raw(0), "");
}

TEST(Tables, OfAnotherFormAreNotRead) {
    TableWriter writer(two_sections);
    writer.add(std::string("one"));
    writer.add(std::string("two"));
    const std::string file = writer.finish();
    ASSERT_TRUE(TableView::hold(file, two_sections));
    EXPECT_EQ(checked(file), file);
    TableFormat other = two_sections;
    other.magic[7] = '2';
    EXPECT_FALSE(TableView::hold(file, other));
    for (const uint32_t version : {6u, 8u}) {
        other = two_sections;
        other.version = version;
        EXPECT_FALSE(TableView::hold(file, other));
    }
    for (const uint32_t count : {1u, 3u}) {
        other = two_sections;
        other.section_count = count;
        EXPECT_FALSE(TableView::hold(file, other));
    }
    // The same in the file, whose checksum is right.
    for (const size_t at : {size_t{0}, size_t{7}, version_at, count_at, size_at}) {
        std::string changed = file;
        changed[at]++;
        EXPECT_FALSE(TableView::hold(checked(changed), two_sections)) << at;
    }
    // Whatever is wrong in the header or the entries, the checksum tells.
    for (size_t at = 0; at < entries_at + 32; at++) {
        std::string changed = file;
        changed[at] ^= 0x40;
        EXPECT_FALSE(TableView::hold(changed, two_sections)) << at;
    }
    for (const size_t size :
         {size_t{0}, entries_at - 1, entries_at, entries_at + 31, file.size() - 1})
        EXPECT_FALSE(TableView::hold(file.substr(0, size), two_sections)) << size;
    EXPECT_FALSE(TableView::hold(file + "x", two_sections));
}

TEST(Tables, SectionsAreWithinTheFile) {
    const auto is_read = [](uint64_t offset, uint64_t size) {
        std::string file(96, 'x');
        memcpy(file.data(), two_sections.magic, sizeof two_sections.magic);
        put(file, version_at, two_sections.version);
        put(file, count_at, two_sections.section_count);
        put(file, size_at, uint64_t{96});
        const std::array<uint64_t, 4> entries = {64, 1, offset, size};
        put(file, entries_at, entries);
        const auto held = TableView::hold(checked(file), two_sections);
        return held && held->raw(1) == std::string(size, 'x');
    };
    EXPECT_TRUE(is_read(64, 32));
    EXPECT_FALSE(is_read(64, 33));
    EXPECT_TRUE(is_read(95, 1));
    EXPECT_FALSE(is_read(95, 2));
    EXPECT_TRUE(is_read(96, 0));
    EXPECT_FALSE(is_read(97, 0));
    EXPECT_FALSE(is_read(64, UINT64_MAX)); // the sum of both is small
    EXPECT_FALSE(is_read(UINT64_MAX, 2));
}

TEST(Tables, TextsOfAPoolEndWithAZero) {
    const std::string_view pool("one\0\0two\0cut", 12);
    EXPECT_EQ(pool_string(pool, 0), "one");
    EXPECT_EQ(pool_string(pool, 1), "ne");
    EXPECT_EQ(pool_string(pool, 3), "");
    EXPECT_EQ(pool_string(pool, 5), "two");
    for (const uint32_t none : {9u, 11u, 12u, 13u, UINT32_MAX})
        EXPECT_EQ(pool_string(pool, none), "") << none;
}

} // namespace
