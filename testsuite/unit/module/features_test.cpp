// SPDX-License-Identifier: GPL-2.0-or-later
// The features of a kernel that a list asks for.
#include "common.h"
#include "module/kit_build.h"

namespace djstap::module {
namespace {

class Features : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(write_file(folder_.path + "/Module.symvers",
                               "0x1\tvfs_open_it\tvmlinux\tEXPORT_SYMBOL\t\n"
                               "0x2\tvfs_read\tvmlinux\tEXPORT_SYMBOL\t\n"));
        std::filesystem::create_directories(folder_.path + "/include/linux");
        ASSERT_TRUE(write_file(folder_.path + "/include/linux/a.h", "int one(void);\nint two;\n"));
    }
    auto find(const std::string& list) const { return find_features(folder_.path, list); }

    test::TestFolder folder_;
};

TEST_F(Features, AreThoseThatTheKernelHas) {
    const auto found = find("# what it exports\n"
                            "READ symbol vfs_read\n"
                            "OPEN symbol vfs_open\n"
                            "\n"
                            "ONE  header include/linux/a.h  ^int one\\(  \n"
                            "TWO  header include/linux/a.h  ^int two\\(\n"
                            "NONE header include/linux/b.h  .\n");
    ASSERT_TRUE(found) << found.failure().message;
    EXPECT_EQ(*found, (std::vector<std::string>{"READ", "ONE"}));
}

TEST_F(Features, NeedAValidList) {
    for (const char* line : {"A", "A symbol", "A header include/linux/a.h", "A other vfs_read",
                             "A header include/linux/a.h ("}) {
        const auto found = find("READ symbol vfs_read\n" + std::string(line) + "\n");
        ASSERT_FALSE(found) << line;
        EXPECT_EQ(found.failure().message,
                  "the runtime's features.list contains an invalid line: " + std::string(line));
    }
}

TEST_F(Features, NeedTheListOfExports) {
    std::filesystem::remove(folder_.path + "/Module.symvers");
    EXPECT_FALSE(find("READ symbol vfs_read\n"));
}

// A kernel's own headers may be in the folder of its source, which the Makefile of Kbuild's output
// includes, or which is beside it.
TEST(FeaturesOfSourceTrees, AreThoseOfTheFirstTreeWithTheHeader) {
    const test::TestFolder folder;
    const std::string build = folder.path + "/build";
    const auto put = [&](const std::string& path, const std::string& text) {
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        ASSERT_TRUE(write_file(path, text));
    };
    const auto has = [&](const std::string& pattern, const std::string& file = "include/a.h") {
        const auto found = find_features(build, "A header " + file + " " + pattern + "\n");
        return found && !found->empty();
    };
    put(build + "/Module.symvers", "");
    EXPECT_FALSE(has("."));
    // From the last place to the first one: each hides those before.
    put(folder.path + "/tree/include/a.h", "made\n");
    put(folder.path + "/tree/include/b.h", "other\n");
    for (const char* line :
         {"include tree/Makefile\n", "include /none/Makefile\n", "#include /tree/Makefile\n"})
        put(build + "/Makefile", line);
    EXPECT_FALSE(has("."));
    put(build + "/Makefile",
        "# Automatically generated\ninclude " + folder.path + "/tree/Makefile\n");
    EXPECT_TRUE(has("made"));
    put(build + "/Makefile", "include " + folder.path + "/tree/Makefile.more\n");
    EXPECT_FALSE(has("made"));
    put(build + "/Makefile", "include " + folder.path + "/tree/Makefile\n");
    put(folder.path + "/source/include/a.h", "beside\n");
    EXPECT_TRUE(has("beside"));
    EXPECT_FALSE(has("made"));
    put(build + "/source/include/a.h", "below\n");
    EXPECT_TRUE(has("below"));
    EXPECT_FALSE(has("beside"));
    put(build + "/include/a.h", "own\nlast\n");
    EXPECT_TRUE(has("own"));
    EXPECT_FALSE(has("below"));
    EXPECT_TRUE(has("other", "include/b.h")) << "each header by itself";
    // The expression is an extended one, and a line's.
    EXPECT_TRUE(has("^last$"));
    EXPECT_TRUE(has("(x|o)wn"));
    EXPECT_FALSE(has("own.last"));
    EXPECT_TRUE(has("last \t "));
}

} // namespace
} // namespace djstap::module
