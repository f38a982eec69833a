#include "common.h"
#include "module/process.h"

#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

using namespace djstap;
using namespace djstap::module;
using namespace djstap::module::test;
namespace fs = std::filesystem;

TEST(Process, OutputStatusAndMissingPrograms) {
    auto outcome = run_tool({"sh", "-c", "echo out; echo err >&2; exit 3"});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->status, 3);
    EXPECT_EQ(outcome->output, "out\nerr\n");
    auto killed = run_tool({"sh", "-c", "kill -9 $$"});
    ASSERT_TRUE(killed);
    EXPECT_EQ(killed->status, 128 + 9);
    auto missing = run_tool({"no-such-program-here"});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.failure().message,
              "cannot run no-such-program-here: No such file or directory");
    setenv("MAKEFLAGS", "-n", 1);
    auto clean = run_tool({"sh", "-c", "echo \"<$MAKEFLAGS>\""});
    unsetenv("MAKEFLAGS");
    EXPECT_EQ(clean->output, "<>\n");
    std::vector<std::string> lines;
    ASSERT_TRUE(run_tool({"printf", "a\\nbc\\nd"},
                         [&](std::string_view line) { lines.emplace_back(line); }));
    EXPECT_EQ(lines, (std::vector<std::string>{"a", "bc"}));
}

TEST(Scratch, IsRemovedAndStaleOnesToo) {
    std::string path;
    {
        auto scratch = Scratch::create();
        ASSERT_TRUE(scratch);
        path = scratch->path();
        ASSERT_TRUE(write_file(scratch->file("x"), "1"));
        remove_stale_scratch(); // ours is in use
        EXPECT_TRUE(fs::exists(path));
    }
    EXPECT_FALSE(fs::exists(path));
    // One of a process that has ended.
    pid_t child = fork();
    if (child == 0) {
        auto scratch = Scratch::create();
        _exit(scratch ? 0 : 1); // without destructors
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
    auto left = [&] {
        for (std::string parent : {std::string("/dev/shm"), fs::temp_directory_path().string()}) {
            for (const auto& entry : fs::directory_iterator(parent)) {
                if (entry.path().filename().string().starts_with("djstap-" + std::to_string(child) +
                                                                 "-"))
                    return true;
            }
        }
        return false;
    };
    EXPECT_TRUE(left());
    remove_stale_scratch();
    EXPECT_FALSE(left());
}

TEST(Scratch, FullDiskIsSaidAndHinted) {
    if (access("/dev/full", W_OK) != 0)
        GTEST_SKIP() << "there is no /dev/full";
    Status full = write_file("/dev/full", "x");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.failure().message, "/dev/full: cannot write: No space left on device");
    EXPECT_EQ(full.failure().hint, "free some space and run djstap again");
    EXPECT_TRUE(fs::exists("/dev/full"));
}
