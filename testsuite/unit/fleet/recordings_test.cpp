// SPDX-License-Identifier: GPL-2.0-or-later
#include "fleet/recordings.h"

#include "session/snapshot_frames.h"
#include "system/file.h"
#include "system/temporary.h"

#include <filesystem>
#include <gtest/gtest.h>

namespace djstap::fleet {
namespace {

class Recordings : public testing::Test {
  protected:
    // What a machine wrote: a number and, unless `bytes` are cut off, the end.
    std::string write(const std::string& name, int64_t count, size_t cut = 0) {
        DescriptionFrame description;
        description.globals = {{"n", "number", 0, false, "", true, 0}};
        GlobalElement element;
        element.numbers[0] = count;
        element.has = 1;
        GlobalsFrame globals;
        globals.globals = {{0, {}, {element}}};
        std::string bytes;
        put_frame(bytes, description);
        put_frame(bytes, PrintedFrame{static_cast<uint64_t>(count), "printed"});
        put_frame(bytes, globals);
        put_frame(bytes, EndFrame{});
        const std::string path = folder_.file(name + ".snapshots");
        EXPECT_TRUE(write_file(path, bytes.substr(0, bytes.size() - cut)));
        return path;
    }

    TemporaryFolder folder_ = std::move(*TemporaryFolder::create_in_memory());
};

TEST_F(Recordings, AreMerged) {
    const auto merged = merge_recordings({write("web1", 5), write("web2", 3)});
    ASSERT_TRUE(merged);
    EXPECT_EQ(merged->text, "web2: printed\nweb1: printed\nn=8\n");
    EXPECT_EQ(merged->missing, "");
}

// Each line tells whose it is, and none controls the terminal.
TEST_F(Recordings, EachPrintedLineHasItsHost) {
    std::string bytes;
    put_frame(bytes, PrintedFrame{1, "one\nweb2: two\n\n\x1b[2Jthree"});
    const std::string path = folder_.file("web1.snapshots");
    ASSERT_TRUE(write_file(path, bytes));
    EXPECT_EQ(merge_recordings({path})->text,
              "web1: one\nweb1: web2: two\nweb1: \nweb1: ?[2Jthree\n");
}

TEST_F(Recordings, AFileCountsOnce) {
    const std::string path = write("web1", 5);
    const auto merged = merge_recordings({path, path});
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.failure().message, path + " is named twice");
}

TEST_F(Recordings, WhatIsMissingIsNamed) {
    const std::string cut = write("cut", 5, 1), none = folder_.file("none.snapshots");
    const auto merged = merge_recordings({cut, write("whole", 3), none});
    ASSERT_TRUE(merged);
    EXPECT_EQ(merged->text, "whole: printed\ncut: printed\nn=8\n");
    EXPECT_EQ(merged->missing, "cut: what it counted after its last snapshot is missing: " + cut +
                                   ": the last frame is incomplete\n"
                                   "none: all of its values are missing: " +
                                   none + ": cannot open: No such file or directory\n");
}

TEST_F(Recordings, DamageIsNamedAndLinesEndOnce) {
    std::string bytes;
    put_frame(bytes, PrintedFrame{1, "a line\n"});
    const std::string path = folder_.file("damaged.snapshots");
    ASSERT_TRUE(write_file(path, bytes + std::string(20, '\xff')));
    const auto merged = merge_recordings({path});
    ASSERT_TRUE(merged);
    EXPECT_EQ(merged->text, "damaged: a line\n");
    EXPECT_EQ(merged->missing.find("damaged: all of its values are missing: " + path + ": "), 0U)
        << merged->missing;
    EXPECT_EQ(merged->missing.find("incomplete"), std::string::npos) << merged->missing;
}

// Files of the same name in different folders are those of different machines.
TEST_F(Recordings, EachFileCounts) {
    for (const char* folder : {"1", "2"})
        std::filesystem::create_directory(folder_.file(folder));
    const std::string first = write("1/out", 5), second = write("2/out", 3);
    const auto merged = merge_recordings({first, second});
    ASSERT_TRUE(merged);
    EXPECT_EQ(merged->text, second + ": printed\n" + first + ": printed\nn=8\n");
    EXPECT_EQ(merged->missing, "");
}

// Only the last of several runs in a file is shown.
TEST_F(Recordings, FormerRunsInAFileAreMissing) {
    const std::string twice = write("twice", 5), other = write("other", 3);
    const auto first = read_file(twice), second = read_file(other);
    ASSERT_TRUE(first && second);
    ASSERT_TRUE(write_file(twice, *first + *second));
    const auto merged = merge_recordings({twice});
    ASSERT_TRUE(merged);
    EXPECT_EQ(merged->text, "twice: printed\ntwice: printed\nn=3\n");
    EXPECT_EQ(merged->missing, "twice: what former runs in its file counted is missing\n");
}

} // namespace
} // namespace djstap::fleet
