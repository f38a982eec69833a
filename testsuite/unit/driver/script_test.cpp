// SPDX-License-Identifier: GPL-2.0-or-later
// Where scripts come from, and what is wrong with those that cannot be read.
#include "driver/script.h"

#include "driver/enroll_key.h"

#include "../surroundings.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace djstap::driver {
namespace {

class Scripts : public testing::Test {
  protected:
    static std::string told(const std::string& path) {
        const auto text = read_script(path);
        return text ? "read" : text.failure().message + "\n" + text.failure().hint;
    }

    const test::TestFolder own_folder;
    const std::string folder = own_folder.path;
};

TEST_F(Scripts, AreReadFromTheirFiles) {
    EXPECT_EQ(*read_script(own_folder.write("a.stp", "probe begin {}\n")), "probe begin {}\n");
    EXPECT_EQ(*read_script(own_folder.write("empty.stp", "")), "");
    EXPECT_EQ(told(folder),
              "cannot read " + folder + ": it is a folder\nname a file with a script");
}

TEST_F(Scripts, ThatAreNotThereGetAHint) {
    own_folder.write("latency.stp", "");
    EXPECT_EQ(told(folder + "/latncy.stp"), "cannot read " + folder +
                                                "/latncy.stp: No such file or directory\ndid you "
                                                "mean '" +
                                                folder + "/latency.stp'?");
    EXPECT_EQ(told(folder + "/quite-another"),
              "cannot read " + folder + "/quite-another: No such file or directory\n");
    EXPECT_EQ(told("probe begin{}"), "cannot read probe begin{}: No such file or directory\nuse -e "
                                     "to give a script on the command line");
    EXPECT_EQ(told("begin{}"), "cannot read begin{}: No such file or directory\nuse -e to give a "
                               "script on the command line");
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder);
    EXPECT_EQ(told("latncy.stp"), "cannot read latncy.stp: No such file or directory\ndid you mean "
                                  "'latency.stp'?");
    EXPECT_EQ(told("regions"), "cannot read regions: No such file or directory\nthe options of "
                               "djstap regions follow this word");
    std::filesystem::current_path(before);
    EXPECT_EQ(told(folder + "/latency.stp/x"),
              "cannot read " + folder + "/latency.stp/x: Not a directory\n");
}

TEST_F(Scripts, HaveAtMost64Megabytes) {
    const std::string path = own_folder.write("large.stp", "");
    std::filesystem::resize_file(path, 64u << 20);
    const auto whole = read_script(path);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->size(), 64u << 20);
    std::filesystem::resize_file(path, (64u << 20) + 1);
    EXPECT_EQ(told(path), "cannot read " + path + ": it is larger than 64 MB\n");
}

TEST_F(Scripts, MayComeFromStandardInput) {
    const std::string path = own_folder.write("a.stp", "probe end {}");
    const int saved = dup(STDIN_FILENO), input = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    dup2(input, STDIN_FILENO);
    const auto text = read_script("-");
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(input);
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, "probe end {}");
}

TEST_F(Scripts, AreNumberedWithWhatIsAdded) {
    SourceManager sources;
    Diagnostics diagnostics(sources);
    Options options;
    options.expression = "probe begin {}";
    options.additional = {"probe end {}", "probe never {}"};
    const auto ids = read_scripts(options, sources, diagnostics);
    ASSERT_TRUE(ids);
    ASSERT_EQ(ids->size(), 3u);
    const char* const names[] = {"<input>", "<input 2>", "<input 3>"};
    const char* const texts[] = {"probe begin {}", "probe end {}", "probe never {}"};
    for (size_t i = 0; i < 3; i++) {
        EXPECT_EQ(sources.file((*ids)[i]).name, names[i]);
        EXPECT_EQ(sources.file((*ids)[i]).text, texts[i]);
    }
    Options of_file;
    of_file.script_file = own_folder.write("b.stp", "probe b {}");
    const auto one = read_scripts(of_file, sources, diagnostics);
    ASSERT_TRUE(one && one->size() == 1);
    EXPECT_EQ(sources.file(one->front()).name, of_file.script_file);
    EXPECT_FALSE(diagnostics.has_errors());
    // A run that begins again has the text of standard input still.
    Options again;
    again.script_file = "-";
    again.fallback.emplace().script = "probe again {}";
    const auto kept = read_scripts(again, sources, diagnostics);
    ASSERT_TRUE(kept && kept->size() == 1);
    EXPECT_EQ(sources.file(kept->front()).name, "<stdin>");
    EXPECT_EQ(sources.file(kept->front()).text, "probe again {}");
    of_file.script_file = folder + "/bb.stp";
    EXPECT_FALSE(read_scripts(of_file, sources, diagnostics));
    ASSERT_TRUE(diagnostics.has_errors());
    EXPECT_EQ(diagnostics.all().back().kind, DiagnosticKind::CannotReadScript);
    EXPECT_EQ(diagnostics.all().back().hint_text, "did you mean '" + folder + "/b.stp'?");
}

// Of a certificate, the first byte is the tag of a sequence (X.690); the digits are those of RFC
// 4648, and each line has at most 64 of them (RFC 7468).
TEST(Certificates, AreReadAsBytesOrText) {
    const std::string der("\x30\x03\x02\x01\x05", 5);
    const std::string begin = "-----BEGIN CERTIFICATE-----\n", end = "-----END CERTIFICATE-----\n";
    EXPECT_EQ(certificate_bytes(der), der);
    EXPECT_EQ(certificate_bytes(begin + "MAMCAQU=\n" + end), der);
    EXPECT_EQ(certificate_bytes("words before\n" + begin + "MAMC\r\nAQU=\r\n" + end + "after"),
              der);
    EXPECT_EQ(certificate_bytes(begin + "MAMC\n" + end), der.substr(0, 3));
    EXPECT_EQ(certificate_bytes(begin + "MP/++/w\n" + end), "\x30\xff\xfe\xfb\xfc");
    EXPECT_EQ(certificate_bytes(begin + "MEFiejA5\n" + end), "0Abz09");
    EXPECT_FALSE(certificate_bytes(begin + "MAM!AQU=\n" + end));
    EXPECT_FALSE(certificate_bytes(begin + "MAMCAQU=\n"));
    EXPECT_FALSE(certificate_bytes(begin + end));
    EXPECT_FALSE(certificate_bytes(begin + "MAM=\n" + end)) << "two bytes are none";
    EXPECT_FALSE(certificate_bytes(begin + "MQMCAQU=\n" + end)) << "a set";
    EXPECT_FALSE(certificate_bytes("1234"));
    EXPECT_FALSE(certificate_bytes(""));
}

} // namespace
} // namespace djstap::driver
