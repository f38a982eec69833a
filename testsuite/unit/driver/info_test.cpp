// SPDX-License-Identifier: GPL-2.0-or-later
// What --info tells of djstap itself, of a kernel that is not there, and of the files of one that
// is.
#include "driver/info.h"

#include "../regions/program.h"
#include "own_library.h"
#include "parsed_options.h"

#include <cstdlib>
#include <memory>
#include <string>

namespace djstap::driver {
namespace {

class Info : public OwnLibrary {
  protected:
    static std::string told_of(const Places& places, const std::string& kernel = "9.9.9-none") {
        Invocation invocation(accept({"--info", "-r", kernel}));
        invocation.places = places;
        testing::internal::CaptureStdout();
        EXPECT_TRUE(print_info(invocation));
        EXPECT_TRUE(invocation.flush_output());
        return testing::internal::GetCapturedStdout();
    }
    // The line that has this text; empty: none has.
    static std::string line_with(const std::string& text, const std::string& wanted) {
        const size_t at = text.find(wanted);
        if (at == text.npos)
            return "";
        const size_t begin = text.rfind('\n', at) + 1;
        return text.substr(begin, text.find('\n', at) - begin);
    }
    static size_t count(const std::string& text, const std::string& wanted) {
        size_t found = 0;
        for (size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1))
            found++;
        return found;
    }
};

TEST_F(Info, NamesWhatIsMissing) {
    Places places;
    places.tapsets = std::filesystem::path(tapset("")).parent_path();
    places.runtime = "/no-folder/runtime";
    places.djrun = "/no-folder/djrun";
    const std::string text = told_of(places);
    EXPECT_EQ(count(text, "This machine, kernel "), 1u) << text;
    EXPECT_NE(line_with(text, "kernel 9.9.9-none"), "") << text;
    EXPECT_EQ(count(text, "Guests (--guest=RELEASE)"), 1u) << text;
    EXPECT_NE(line_with(text, places.tapsets), "") << text;
    EXPECT_EQ(count(text, places.tapsets + " does not exist"), 0u) << text;
    for (const std::string& missing : {places.runtime, places.djrun})
        EXPECT_EQ(count(text, missing + " does not exist"), 1u) << text;
    EXPECT_EQ(count(text, "reinstall djstap"), 2u) << text;
}

TEST_F(Info, TellsWhatTheCacheTakes) {
    const std::string cache = getenv("DJSTAP_CACHE");
    std::filesystem::create_directory(cache);
    std::string bytes(3 << 19, '\0'); // one and a half megabytes that cannot be packed
    uint64_t random = 1;
    for (char& byte : bytes) {
        random = random * 6364136223846793005 + 1442695040888963407;
        byte = static_cast<char>(random >> 56);
    }
    for (const char* name : {"/library-0123456789abcdef.index", "/library-fedcba9876543210.index",
                             "/a-file-of-the-users"})
        std::ofstream(cache + name) << bytes;
    const std::string text = told_of({});
    EXPECT_EQ(count(text, cache + ": 2 files, 3 MB"), 1u) << text;
}

// A kernel of one function, in a folder that is laid out like a root file system.
class InfoOfAKernel : public Info {
  protected:
    void SetUp() override {
        Info::SetUp();
        root_ =
            std::move(*TemporaryFolder::create(std::filesystem::canonical(temporary_directory())));
        std::filesystem::create_directories(root_.file("lib/modules/9.9.9-own/kernel"));
        std::filesystem::create_directories(root_.file("boot"));
        const std::string source = root_.file("k.s"), object = root_.file("k.o"),
                          image = root_.file("boot/vmlinux-9.9.9-own");
        ASSERT_TRUE(write_file(source, ".text\n.globl _stext, _etext, _printk\n_stext:\n"
                                       ".type _printk, @function\n_printk: ret\n"
                                       ".size _printk, 1\n_etext:\n"));
        ASSERT_TRUE(test::run_tool({"as", "-o", object, source}));
        ASSERT_TRUE(test::run_tool(
            {"ld", "--build-id=0x1234567890abcdef", "-e", "_printk", "-o", image, object}));
    }
    // The line of a fact.
    std::string fact(const std::string& name) const {
        return line_with(told_of({}, root_.path()), " " + name + ": ");
    }

    TemporaryFolder root_;
};

TEST_F(InfoOfAKernel, TellsWhereDebugInformationIs) {
    EXPECT_EQ(fact("build-id"), "  + build-id: 1234567890abcdef");
    EXPECT_EQ(fact("function entries for direct calls"),
              "  - function entries for direct calls: 0");
    EXPECT_TRUE(fact("debug information").starts_with("  - debug information: no DWARF"))
        << fact("debug information");
    const std::string folder = root_.file("usr/lib/debug/lib/modules/9.9.9-own");
    EXPECT_EQ(fact("debug information of modules"), "  - debug information of modules: none in " +
                                                        folder +
                                                        ": there is only what the modules contain");
    std::filesystem::create_directories(folder + "/kernel");
    ASSERT_TRUE(write_file(folder + "/kernel/a.ko.debug", ""));
    EXPECT_TRUE(fact("debug information of modules")
                    .starts_with("  + debug information of modules: for 1 module"))
        << fact("debug information of modules");
    ASSERT_TRUE(write_file(folder + "/kernel/b.ko", ""));
    EXPECT_EQ(fact("debug information of modules"),
              "  + debug information of modules: for 2 modules in " + folder);
}

// Asking them would take long: they are named.
TEST_F(InfoOfAKernel, NamesTheServersOfDebugInformation) {
    const test::Environment servers("DEBUGINFOD_URLS");
    EXPECT_EQ(fact("debuginfod"), "  - debuginfod: no server is asked: DEBUGINFOD_URLS is not set");
    servers.set("http://127.0.0.1:1");
    EXPECT_EQ(fact("debuginfod"), "  + debuginfod: http://127.0.0.1:1");
}

} // namespace
} // namespace djstap::driver
