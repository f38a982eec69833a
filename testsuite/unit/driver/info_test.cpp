// SPDX-License-Identifier: GPL-2.0-or-later
// What --info tells of djstap itself, and of a kernel that is not there.
#include "driver/info.h"

#include "own_library.h"
#include "parsed_options.h"

#include <memory>
#include <string>

namespace djstap::driver {
namespace {

class Info : public OwnLibrary {
  protected:
    std::string told_of(const Places& places) const {
        Invocation invocation(accept({"--info", "-r", "9.9.9-none"}));
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

} // namespace
} // namespace djstap::driver
