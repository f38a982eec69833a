// SPDX-License-Identifier: GPL-2.0-or-later
// Which files are taken from the cache, and which are not.
#include "cache/cache.h"
#include "system/trust.h"

#include "surroundings.h"

#include <gtest/gtest.h>

#include <cstdlib>
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

} // namespace
