// SPDX-License-Identifier: GPL-2.0-or-later
// Existing scripts: the project's own, and SystemTap's if its packages are installed.
// DJSTAP_STAP_SCRIPTS names another folder to search for the latter.
#include "parsing.h"

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace djstap;
using namespace djstap::test;

namespace {

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder,
                                            const std::string& extension) {
    std::vector<std::filesystem::path> out;
    std::error_code error;
    for (auto it = std::filesystem::recursive_directory_iterator(folder, error);
         !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error))
        if (it->path().extension() == extension)
            out.push_back(it->path());
    std::sort(out.begin(), out.end());
    return out;
}

std::string read(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

std::filesystem::path installed() {
    const char* given = std::getenv("DJSTAP_STAP_SCRIPTS");
    return given ? given : "/usr/share/systemtap";
}

// Every file parses, and its canonical text parses to the same tree.
void all_parse(Parsing& parsing, const std::vector<std::filesystem::path>& files) {
    for (const auto& path : files) {
        Parsed first = parsing.parse(read(path), true);
        EXPECT_EQ(first.diagnostics, "") << path;
        Parsed second = parsing.parse(first.text, true);
        EXPECT_EQ(second.text, first.text) << path << second.diagnostics;
        ASSERT_TRUE(first.file && second.file) << path;
        EXPECT_EQ(Structure::of(*second.file), Structure::of(*first.file)) << path;
    }
}

} // namespace

TEST(Scripts, OurTapsetsParse) {
    Parsing parsing;
    std::filesystem::path folder = std::filesystem::path(DJSTAP_SOURCE_DIR) / "tapsets";
    for (const auto& path : files_in(folder, ".stpm"))
        parsing.parse_macros(read(path));
    all_parse(parsing, files_in(folder, ".stp"));
}

TEST(Scripts, TheInstalledTapsetParses) {
    auto files = files_in(installed() / "tapset", ".stp");
    if (files.empty())
        GTEST_SKIP() << "SystemTap's tapset is not installed";
    Parsing parsing;
    for (const auto& path : files_in(installed() / "tapset", ".stpm"))
        if (path.string().find("/bpf/") == std::string::npos &&
            path.string().find("/dyninst/") == std::string::npos)
            parsing.parse_macros(read(path));
    all_parse(parsing, files);
}
