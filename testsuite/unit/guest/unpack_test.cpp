// SPDX-License-Identifier: GPL-2.0-or-later
// How the guest's agent unpacks what cpio has packed, and what it says of an archive that is
// damaged.
#include "support.h"
#include "system/file.h"

#include <climits>
#include <csignal>
#include <sys/stat.h>

extern "C" {
#include "guest/agent/agent.h"
}

namespace djstap {
namespace {

class Unpack : public testing::Test {
  protected:
    std::string at(const std::string& name) const { return folder_.path + "/" + name; }
    void shell(const std::string& commands) const {
        ASSERT_EQ(system(("cd " + folder_.path + " && { " + commands + "; }").c_str()), 0)
            << commands;
    }
    std::string content(const std::string& name) const {
        const auto text = read_file(at(name));
        return text ? *text : "? " + text.failure().message;
    }
    // Names, kinds, modes, sizes, targets and contents of all in the folder `all`.
    std::string listed() const {
        shell("find all -printf '%p %y %m %l %s\\n' | sed 's/^\\([^ ]* d .*\\) .*/\\1/' | "
              "LC_ALL=C sort > listing; find all -type f -print0 | LC_ALL=C sort -z | "
              "xargs -0 cksum >> listing");
        return content("listing");
    }
    // One entry, as the format says: a header, the name, the data, each padded to four bytes.
    static std::string entry(const std::string& name, unsigned mode, const std::string& data) {
        char header[111];
        snprintf(header, sizeof header,
                 "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", 1U, mode, 0U, 0U, 1U,
                 0U, static_cast<unsigned>(data.size()), 0U, 0U, 0U, 0U,
                 static_cast<unsigned>(name.size() + 1), 0U);
        std::string text = header + name + '\0';
        text.resize((text.size() + 3) / 4 * 4);
        text += data;
        text.resize((text.size() + 3) / 4 * 4);
        return text;
    }
    static std::string trailer() { return entry("TRAILER!!!", 0, ""); }
    // What is said of it at its end; "" if nothing.
    static std::string unpacked(const std::string& archive, size_t pieces = 4096) {
        unpack_start();
        EXPECT_EQ(unpack_problem(), nullptr);
        for (size_t i = 0; i < archive.size(); i += pieces)
            unpack_piece(archive.data() + i, std::min(pieces, archive.size() - i));
        const char* const said = unpack_end();
        return said ? said : "";
    }

  private:
    TestFolder folder_;
};

TEST_F(Unpack, WritesWhatCpioHasPacked) {
    shell(
        "mkdir -p all/deep/er all/empty && cd all && printf '' > 0 && printf a > 1 && "
        "printf ab > 22 && printf abc > 333 && printf abcd > 4444 && printf abcde > deep/55555 && "
        "head -c 100000 /bin/sh > deep/er/large && chmod 0640 1 && chmod 0755 22 && "
        "chmod 04711 333 && chmod 0700 empty && ln -s 4444 link && ln -s /no/where deep/dangles");
    const std::string before = listed();
    shell("find " + at("all") + " | LC_ALL=C sort | cpio -o --quiet -H newc > archive");
    const std::string archive = content("archive");
    for (const size_t pieces : {1, 3, 4, 109, 110, 111, 4096, 1 << 20}) {
        std::filesystem::remove_all(at("all"));
        EXPECT_EQ(unpacked(archive, pieces), "") << pieces;
        EXPECT_EQ(listed(), before) << pieces;
    }
    // Over what is there already.
    EXPECT_EQ(unpacked(archive), "");
    EXPECT_EQ(listed(), before);
}

// The folders of a file need not be in the archive.
TEST_F(Unpack, MakesFolders) {
    EXPECT_EQ(unpacked(entry(at("a/b/c/file"), S_IFREG | 0644, "text") + trailer()), "");
    EXPECT_EQ(content("a/b/c/file"), "text");
    EXPECT_EQ(unpacked(entry(at("d/e"), S_IFDIR | 0750, "") + trailer()), "");
    struct stat status{};
    ASSERT_EQ(stat(at("d/e").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode, S_IFDIR | 0750U);
}

// A program that runs keeps its file.
TEST_F(Unpack, ReplacesNames) {
    make_file(at("file"), "before");
    std::filesystem::create_hard_link(at("file"), at("other"));
    std::filesystem::create_symlink("before", at("link"));
    EXPECT_EQ(unpacked(entry(at("file"), S_IFREG | 0644, "after") +
                       entry(at("link"), S_IFLNK | 0777, "target") + trailer()),
              "");
    EXPECT_EQ(content("file"), "after");
    EXPECT_EQ(content("other"), "before");
    EXPECT_EQ(std::filesystem::read_symlink(at("link")), "target");
}

TEST_F(Unpack, OfAnArchiveThatIsDamaged) {
    const std::string whole = entry(at("one"), S_IFREG | 0644, "1") + trailer();
    EXPECT_EQ(unpacked(""), "the archive is cut off");
    EXPECT_EQ(unpacked(whole.substr(0, whole.size() - 4)), "the archive is cut off");
    EXPECT_EQ(unpacked(whole), "");
    for (size_t i = 0; i < 6; i++) {
        std::string changed = whole;
        changed[i]++;
        EXPECT_EQ(unpacked(changed), "the archive is broken") << i;
    }
    // The size of the name, with its NUL.
    const auto of_size = [&](unsigned size) {
        char text[9];
        snprintf(text, sizeof text, "%08X", size);
        std::string changed = whole;
        changed.replace(94, 8, text);
        return unpacked(changed + std::string(5000, '\0'));
    };
    EXPECT_EQ(of_size(0), "the archive is broken");
    EXPECT_EQ(of_size(1), "the archive is broken");
    EXPECT_EQ(of_size(UINT_MAX - 200), "the archive is broken");
    EXPECT_EQ(of_size(PATH_MAX + 20), "the archive is broken");
    // A path of the longest kind is not refused for its size, but is none of the system's.
    const std::string longest = at(std::string(PATH_MAX - 1 - at("").size(), 'x'));
    EXPECT_EQ(unpacked(entry(longest, S_IFREG | 0644, "x") + trailer()),
              longest + ": File name too long");
    // What is behind the end is nothing.
    EXPECT_EQ(unpacked(whole + entry(at("two"), S_IFREG | 0644, "2") + "text"), "");
    EXPECT_FALSE(std::filesystem::exists(at("two")));
    // Each archive begins anew.
    EXPECT_EQ(unpacked(whole), "");
}

// The first thing that fails is told, and what follows is left out.
TEST_F(Unpack, EndsWithTheFirstFailure) {
    make_file(at("file"), "text");
    std::filesystem::create_directories(at("folder/inner"));
    const std::string no_folder = at("file/inner") + ": Not a directory";
    const std::string more = entry(at("more"), S_IFREG | 0644, "text") +
                             entry(at("also"), S_IFLNK | 0777, "target") +
                             entry(at("folder2"), S_IFDIR | 0755, "");
    for (const unsigned kind : {S_IFREG, S_IFDIR, S_IFLNK})
        EXPECT_EQ(unpacked(entry(at("file/inner"), kind | 0755, "data") + more + trailer()),
                  no_folder)
            << kind;
    EXPECT_EQ(unpacked(entry(at("folder"), S_IFREG | 0644, "data") + more + trailer()),
              at("folder") + ": Is a directory");
    EXPECT_EQ(unpacked(entry(at("folder"), S_IFLNK | 0777, "data") + more + trailer()),
              at("folder") + ": File exists");
    for (const char* name : {"more", "also", "folder2"})
        EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(at(name)))) << name;
    EXPECT_EQ(content("file"), "text");
    // It is told at once.
    const std::string failing = entry(at("file/inner"), S_IFREG | 0644, "data");
    unpack_start();
    unpack_piece(failing.data(), failing.size());
    EXPECT_STREQ(unpack_problem(), no_folder.c_str());
    unpack_start();
    EXPECT_EQ(unpack_problem(), nullptr);
}

// Of a file for which there is no room, nothing stays.
TEST_F(Unpack, LeavesNoFileThatIsNotWhole) {
    const std::string archive = entry(at("small"), S_IFREG | 0644, std::string(1000, 'x')) +
                                entry(at("large"), S_IFREG | 0644, std::string(20001, 'x')) +
                                trailer();
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    std::string said;
    {
        const Limit less(RLIMIT_FSIZE, 10000);
        said = unpacked(archive);
    }
    signal(SIGXFSZ, handler);
    EXPECT_EQ(said, at("large") + ": File too large");
    EXPECT_FALSE(std::filesystem::exists(at("large")));
    EXPECT_EQ(content("small"), std::string(1000, 'x'));
}

} // namespace
} // namespace djstap
