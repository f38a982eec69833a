// SPDX-License-Identifier: GPL-2.0-or-later
#include "offered/module.h"

#include "system/file.h"
#include "system/temporary.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap::offered {
namespace {

namespace fs = std::filesystem;

constexpr uid_t somebody = 65534;

TEST(OfferedModule, ANameIsNoPathAndNoOption) {
    for (const char* name : {"opens", "Opens_2", "_", "0"})
        EXPECT_TRUE(is_name(name)) << name;
    for (const char* name : {"", ".", "..", "../opens", "a/b", "/etc/passwd", "-o", "opens -o",
                             "a.ko", "a\n", "a b", "a;b", "$(id)", "\xc3\xa4"})
        EXPECT_FALSE(is_name(name)) << name;
    EXPECT_TRUE(is_name(std::string(55, 'a')));
    EXPECT_FALSE(is_name(std::string(56, 'a')));
    EXPECT_FALSE(is_name(std::string_view("a\0b", 3)));
}

class Offered : public testing::Test {
  protected:
    void SetUp() override {
        if (geteuid() != 0)
            GTEST_SKIP() << "files of another user are made by root only";
        auto made = TemporaryFolder::create("/tmp");
        ASSERT_TRUE(made);
        temporary = std::move(*made);
        root = temporary.path();
        folder = root + "/scripts";
        ASSERT_TRUE(fs::create_directory(folder));
        file = folder + "/opens.ko";
        ASSERT_TRUE(write_file(file, "a module"));
        mode(folder, 0755);
        mode(file, 0600);
    }
    static void mode(const std::string& path, mode_t bits) {
        ASSERT_EQ(chmod(path.c_str(), bits), 0);
    }
    static void give(const std::string& path, uid_t user) {
        ASSERT_EQ(lchown(path.c_str(), user, user), 0);
    }
    void expect_refused(const std::string& why) const {
        const auto found = find_module(folder, "opens");
        ASSERT_FALSE(found) << why;
        EXPECT_NE(found.failure().message.find("changed by someone other than root"),
                  std::string::npos)
            << why << ": " << found.failure().message;
        EXPECT_TRUE(module_names(folder).empty()) << why;
    }

    TemporaryFolder temporary;
    std::string root, folder, file;
};

TEST_F(Offered, WhatOnlyRootCanChange) {
    const auto found = find_module(folder, "opens");
    ASSERT_TRUE(found) << found.failure().message;
    EXPECT_EQ(*found, file);
    EXPECT_EQ(module_names(folder), std::vector<std::string>{"opens"});
}

TEST_F(Offered, NotWhatDoesNotExist) {
    const auto found = find_module(folder, "closes");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.failure().message, "there is no script closes");
    EXPECT_FALSE(find_module(root + "/nowhere", "opens"));
    EXPECT_TRUE(module_names(root + "/nowhere").empty());
}

TEST_F(Offered, NotByAPath) {
    ASSERT_TRUE(fs::create_directory(folder + "/below"));
    fs::copy_file(file, folder + "/below/opens.ko");
    for (const char* name : {"below/opens", "../scripts/opens", "opens.ko"})
        EXPECT_EQ(find_module(folder, name).failure().message, "this is not the name of a script");
}

TEST_F(Offered, NoFileOfAnotherUser) {
    give(file, somebody);
    expect_refused("the file belongs to another user");
}

TEST_F(Offered, NoFileThatOthersCanWriteTo) {
    mode(file, 0620);
    expect_refused("the group can write to the file");
    mode(file, 0602);
    expect_refused("others can write to the file");
}

TEST_F(Offered, NoFolderOfAnotherUser) {
    give(folder, somebody);
    expect_refused("the folder belongs to another user");
}

TEST_F(Offered, NoFolderThatOthersCanWriteTo) {
    mode(folder, 0775);
    expect_refused("the group can write to the folder");
    mode(folder, 0757);
    expect_refused("others can write to the folder");
}

TEST_F(Offered, NoFolderAboveThatOthersCanWriteTo) {
    mode(root, 0777);
    expect_refused("others can write to the folder above");
    mode(root, 0755);
    give(root, somebody);
    expect_refused("the folder above belongs to another user");
}

TEST_F(Offered, NoLinkOfAnotherUser) {
    fs::rename(file, root + "/elsewhere.ko");
    fs::create_symlink(root + "/elsewhere.ko", file);
    EXPECT_TRUE(find_module(folder, "opens")); // root's own
    give(file, somebody);
    expect_refused("the link belongs to another user");
}

TEST_F(Offered, NoLinkToWhatOthersCanWriteTo) {
    fs::rename(file, root + "/elsewhere.ko");
    fs::create_symlink(root + "/elsewhere.ko", file);
    give(root + "/elsewhere.ko", somebody);
    expect_refused("the link leads to a file of another user");
}

TEST_F(Offered, NothingButFiles) {
    fs::remove(file);
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    EXPECT_EQ(find_module(folder, "opens").failure().message, "there is no script opens");
    fs::remove(file);
    ASSERT_TRUE(fs::create_directory(file));
    EXPECT_EQ(find_module(folder, "opens").failure().message, "there is no script opens");
}

} // namespace
} // namespace djstap::offered
