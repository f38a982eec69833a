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

} // namespace
} // namespace djstap::module
