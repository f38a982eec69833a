// SPDX-License-Identifier: GPL-2.0-or-later
// Files that nobody else can change.
#include "system/trust.h"

#include "system/file.h"
#include "system/temporary.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap {
namespace {

namespace fs = std::filesystem;

class Trusted : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(check_trusted(folder_.path())) << "the folder for temporary files is shared";
        put("file", "content");
    }
    std::string at(const std::string& name) const { return folder_.file(name); }
    std::string put(const std::string& name, const std::string& text) const {
        EXPECT_TRUE(write_file(at(name), text));
        return at(name);
    }
    std::string folder(const std::string& name) const {
        fs::create_directories(at(name));
        return at(name);
    }
    static void set_mode(const std::string& path, mode_t mode) {
        ASSERT_EQ(chmod(path.c_str(), mode), 0);
    }
    static std::string said(const std::string& path) {
        const Status status = check_trusted(path);
        return status ? "" : status.failure().message;
    }
    // The content, or the error.
    static std::string opened(const std::string& path) {
        errno = 0;
        const FileDescriptor file = open_trusted(path);
        if (!file)
            return errno == ENOENT ? "ENOENT" : errno == EPERM ? "EPERM" : "another error";
        std::string text;
        EXPECT_TRUE(read_rest(file.get(), text));
        return text;
    }
    static std::string writable(const std::string& path) {
        return path + ": is writable by others, so its content is not used";
    }

    const TemporaryFolder folder_ = std::move(*TemporaryFolder::create_in_memory());
};

TEST_F(Trusted, FilesAreOpened) {
    EXPECT_EQ(opened(at("file")), "content");
    EXPECT_EQ(opened(at("./file")), "content");
    EXPECT_EQ(opened(folder("a") + "/../file"), "content");
    EXPECT_EQ(opened(at("none")), "ENOENT");
    EXPECT_EQ(opened(at("none/file")), "ENOENT");
    EXPECT_EQ(opened(at("file/below")), "ENOENT");
    EXPECT_EQ(opened(folder("a")), "EPERM");
    const std::string longer = at(std::string(300, 'x'));
    EXPECT_EQ(said(longer), longer + ": File name too long");
    EXPECT_EQ(opened(longer), "EPERM");
    ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
    EXPECT_EQ(opened(at("pipe")), "EPERM") << "nobody waits for a writer";
    ASSERT_EQ(mknod(at("socket").c_str(), S_IFSOCK | 0600, 0), 0);
    EXPECT_EQ(opened(at("socket")), "another error") << "ENXIO, as open(2) says";
}

// A relative name says nothing where the working folder is gone.
TEST_F(Trusted, NamesInAFolderThatIsGoneAreNot) {
    const fs::path before = fs::current_path();
    fs::current_path(folder("gone"));
    fs::remove(at("gone"));
    const std::string why = said("file"), there = opened("file"), whole = opened(at("file"));
    fs::current_path(before);
    EXPECT_EQ(why, "file: No such file or directory");
    EXPECT_EQ(there, "EPERM");
    EXPECT_EQ(whole, "content");
}

TEST_F(Trusted, WhatOthersMayWriteIsNot) {
    const std::string inner = folder("inner"), file = put("inner/file", "inner");
    for (const mode_t mode : {0002, 0020}) {
        set_mode(file, 0600 | mode);
        EXPECT_EQ(opened(file), "EPERM");
        set_mode(file, 0644);
        EXPECT_EQ(opened(file), "inner");
        set_mode(inner, 0700 | mode);
        EXPECT_EQ(opened(file), "EPERM");
        EXPECT_EQ(said(inner + "/none"), writable(inner));
        set_mode(inner, 0755);
    }
    set_mode(file, 0602);
    EXPECT_EQ(said(file), writable(file));
    EXPECT_EQ(said(inner), "");
    // With the sticky bit, what is in it belongs to its owner; the folder itself is no better.
    set_mode(inner, 01777);
    set_mode(file, 0600);
    EXPECT_EQ(said(folder("inner/deep") + "/file"), "");
    EXPECT_EQ(said(inner), writable(inner));
    EXPECT_TRUE(check_trusted_place(inner)) << "folders are created in it";
    EXPECT_EQ(opened(file), "EPERM") << "a regular file in it may have been there before";
    set_mode(inner, 0777);
    EXPECT_FALSE(check_trusted_place(inner));
    set_mode(inner, 0700);
}

TEST_F(Trusted, LinksLeadToTheirTargets) {
    folder("a/b");
    put("a/b/file", "deep");
    fs::create_symlink("b/file", at("a/relative"));
    fs::create_symlink(at("a"), at("absolute"));
    fs::create_symlink("../file", at("a/up"));
    fs::create_symlink("none", at("a/nowhere"));
    EXPECT_EQ(opened(at("a/relative")), "deep");
    EXPECT_EQ(opened(at("absolute/b/file")), "deep");
    EXPECT_EQ(opened(at("absolute/relative")), "deep");
    EXPECT_EQ(opened(at("absolute/up")), "content");
    EXPECT_EQ(opened(at("a/nowhere")), "ENOENT");
    EXPECT_EQ(said(at("a/nowhere")), "");
    // What they lead to is asked, too.
    set_mode(at("a/b"), 0777);
    EXPECT_EQ(opened(at("a/relative")), "EPERM");
    EXPECT_EQ(said(at("absolute/b/file")), writable(at("a/b")));
    set_mode(at("a/b"), 0700);
}

// As many as the kernel follows: 40.
TEST_F(Trusted, LinksEnd) {
    fs::create_symlink("file", at("0"));
    for (int i = 1; i <= 40; i++)
        fs::create_symlink(std::to_string(i - 1), at(std::to_string(i)));
    EXPECT_EQ(opened(at("39")), "content");
    EXPECT_TRUE(read_file(at("39")));
    EXPECT_EQ(opened(at("40")), "EPERM");
    EXPECT_FALSE(read_file(at("40")));
    EXPECT_TRUE(said(at("40")).ends_with(": Too many levels of symbolic links")) << said(at("40"));
}

// Root's files are everybody's, and another user's are nobody's.
TEST_F(Trusted, FilesOfAnotherUserAreNot) {
    const uid_t own = geteuid();
    EXPECT_TRUE(check_trusted(at("file"), own));
    const Status status = check_trusted(at("file"), own + 1);
    EXPECT_EQ(static_cast<bool>(status), own == 0);
    if (own != 0) {
        EXPECT_TRUE(status.failure().message.ends_with(
            ": belongs to another user, so its content is not used"));
    }
    EXPECT_TRUE(check_trusted("/", own + 1));
}

// A user's own group has the user's number, and is that of this process.
TEST_F(Trusted, OfGroupsOnlyOnesOwnMayWrite) {
    if (geteuid() != 0 || getegid() != 0)
        GTEST_SKIP() << "only root gives files to groups";
    constexpr uid_t user = 12345;
    const std::string file = at("file");
    const auto refused = [&](uid_t whose) { return !check_trusted(file, whose); };
    set_mode(file, 0664);
    EXPECT_TRUE(refused(0)); // others than root may be in its group
    EXPECT_TRUE(refused(user));
    ASSERT_EQ(chown(file.c_str(), 0, user), 0);
    EXPECT_TRUE(refused(0));
    EXPECT_TRUE(refused(user));
    ASSERT_EQ(setegid(user), 0);
    const bool of_user = refused(user), of_other = refused(user + 1), of_root = refused(0);
    ASSERT_EQ(chown(file.c_str(), 0, user + 1), 0);
    const bool in_another = refused(user);
    ASSERT_EQ(setegid(0), 0);
    EXPECT_FALSE(of_user);
    EXPECT_TRUE(of_other);
    EXPECT_TRUE(of_root);
    EXPECT_TRUE(in_another);
}

} // namespace
} // namespace djstap
