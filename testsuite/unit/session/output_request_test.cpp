// SPDX-License-Identifier: GPL-2.0-or-later
// Where outputs may write, and why not.
#include "session/output_request.h"

#include "session/outputs.h"
#include "system/file.h"
#include "system/temporary.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace djstap {
namespace {

namespace fs = std::filesystem;

TEST(Unwritable, SaysWhatHelps) {
    const std::pair<int, const char*> hints[] = {
        {ENOENT, "its folder does not exist: create it, or name another file"},
        {EACCES, "name a file in a folder that you may write to"},
        {EPERM, "name a file in a folder that you may write to"},
        {EROFS, "name a file in a folder that you may write to"},
        {EISDIR, "name a file, not a folder"},
        {ENOTDIR, "name a folder"},
        {ENOSPC, "what was written before is kept; name a file where there is more room"},
        {EDQUOT, "what was written before is kept; name a file where there is more room"},
        {ETIME, "what it did not take is lost"},
        {EIO, ""}};
    for (const auto& [error, hint] : hints)
        EXPECT_EQ(unwritable("x", error).hint, hint) << error;
    EXPECT_EQ(unwritable("x", EIO).message, "x: Input/output error");
    EXPECT_EQ(unwritable("x", ETIME).message, "x: its reader takes nothing");
}

class OutputFiles : public testing::Test {
  protected:
    std::string path(const std::string& name) const { return folder_.file(name); }
    // Why these requests cannot be met; "": they can.
    std::string refusal(const std::vector<std::string>& requests,
                        const std::vector<std::string>& inputs = {}) const {
        OutputChoice choice;
        choice.inputs = inputs;
        for (const std::string& each : requests)
            choice.requests.push_back(*parse_output(each));
        const auto opened = open_outputs(choice);
        return opened ? "" : opened.failure().message;
    }
    TemporaryFolder folder_ = std::move(*TemporaryFolder::create(temporary_directory()));
};

TEST_F(OutputFiles, AreNotThoseThatAreRead) {
    ASSERT_TRUE(write_file(path("module"), "read"));
    ASSERT_TRUE(write_file(path("dump"), "read, too"));
    fs::create_symlink(path("dump"), path("link"));
    const std::vector<std::string> inputs = {path("module"), path("none"), path("dump")};
    for (const char* name : {"module", "dump", "link"})
        EXPECT_EQ(refusal({"text:" + path(name)}, inputs),
                  path(name) + ": it is read, too, and would be overwritten");
    EXPECT_EQ(*read_file(path("dump")), "read, too");
    EXPECT_EQ(refusal({"text:" + path("none")}, inputs), "");
    EXPECT_EQ(refusal({"text:" + path("dump")}), "");
}

// What is written in turn is mixed up; a device takes anything.
TEST_F(OutputFiles, AreNotThoseOfAnotherOutput) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    const FileDescriptor reader(open(path("pipe").c_str(), O_RDWR | O_CLOEXEC));
    fs::create_symlink(path("pipe"), path("pipe2"));
    fs::create_symlink("/dev/null", path("null"));
    EXPECT_EQ(refusal({"json:" + path("pipe"), "csv:" + path("pipe2")}),
              "--output=csv:" + path("pipe2") + ": another output writes to " + path("pipe2") +
                  ", too");
    EXPECT_EQ(refusal({"json:/dev/null", "csv:" + path("null")}), "");
    EXPECT_EQ(refusal({"json:/dev/null", "csv:/dev/null"}),
              "--output=csv:/dev/null: another output writes to /dev/null, too");
    EXPECT_EQ(refusal({"json:" + path("a"), "csv:" + path("b"), "text:" + path("c")}), "");
}

TEST_F(OutputFiles, OfAFolderAreInIt) {
    OutputChoice choice;
    choice.requests = {*parse_output("ctf:" + path("trace")), *parse_output("text")};
    choice.file = path("text");
    const auto opened = open_outputs(choice);
    ASSERT_TRUE(opened);
    ASSERT_EQ(opened->size(), 3U);
    EXPECT_EQ((*opened)[0].path, path("trace/stream"));
    EXPECT_EQ((*opened)[1].path, path("trace/metadata"));
    EXPECT_EQ((*opened)[2].path, path("text"));
    for (const OutputFile& each : *opened)
        EXPECT_TRUE(fs::exists(each.path)) << each.path;
}

TEST_F(OutputFiles, AreTextUnlessAnythingElseIsWanted) {
    OutputChoice choice;
    auto opened = open_outputs(choice);
    ASSERT_TRUE(opened);
    ASSERT_EQ(opened->size(), 1U);
    EXPECT_EQ(opened->front().path, "");
    EXPECT_EQ(opened->front().fd(), STDOUT_FILENO);
    choice.file = path("x");
    opened = open_outputs(choice);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->front().path, path("x"));
    EXPECT_NE(opened->front().fd(), STDOUT_FILENO);
}

// Only when all of them are open: a mistake in a command loses nothing.
TEST_F(OutputFiles, AreEmptiedAtTheBegin) {
    ASSERT_TRUE(write_file(path("a"), "of before"));
    OutputChoice choice;
    choice.requests = {*parse_output("json:" + path("a")), *parse_output("text:/dev/null")};
    const auto opened = open_outputs(choice);
    ASSERT_TRUE(opened);
    EXPECT_EQ(*read_file(path("a")), "of before");
    EXPECT_TRUE(empty_outputs(*opened)) << "a device has no size";
    EXPECT_EQ(*read_file(path("a")), "");
}

TEST_F(OutputFiles, OfTheMonitorAreNone) {
    EXPECT_EQ(refusal({"monitor:" + path("a")}),
              "--output=monitor:" + path("a") +
                  ": the monitor is shown on a terminal and not written to a file");
    EXPECT_FALSE(fs::exists(path("a")));
    const FileDescriptor before(dup(STDIN_FILENO)), null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    dup2(null.get(), STDIN_FILENO);
    EXPECT_EQ(refusal({"monitor"}), "the monitor needs a terminal for its keys and its tables, but "
                                    "standard input is not one");
    dup2(before.get(), STDIN_FILENO);
}

// A pipe or a file that another process has opened has no name that could be counted.
TEST_F(OutputFiles, WithoutANameHaveNoNextOne) {
    const FileDescriptor file(open(path("a").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    Writer writer(file.get(), "a");
    writer.append("one ");
    writer.next_file();
    writer.append("two");
    writer.flush();
    EXPECT_EQ(*read_file(path("a")), "one two");
}

} // namespace
} // namespace djstap
