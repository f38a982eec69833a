// SPDX-License-Identifier: GPL-2.0-or-later
// How a certificate is given to the firmware, by a mokutil that writes down what it is asked.
#include "driver/enroll_key.h"

#include "../surroundings.h"
#include "parsed_options.h"
#include "system/file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace djstap::driver {
namespace {

class EnrollKey : public testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::create_directory(folder + "/bin");
        std::ofstream(folder + "/certificate") << "\x30\x03\x02\x01\x05";
    }
    // What the program does for --test-key and for --import.
    void mokutil(const std::string& test, const std::string& import) const {
        const std::string file = folder + "/bin/mokutil";
        std::ofstream(file) << "#!/bin/sh\necho \"$1\" >>'" << folder
                            << "/asked'\nread -r bytes <\"$2\"\n"
                            << "echo \"$bytes\" >'" << folder << "/given'\ncase $1 in --test-key) "
                            << test << ";; *) " << import << ";; esac\n";
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
    bool enroll(const std::string& certificate) {
        std::filesystem::remove(folder + "/asked");
        Options options;
        options.action = Action::EnrollKey;
        options.signing_certificate = folder + "/" + certificate;
        invocation_ = std::make_unique<Invocation>(std::move(options));
        testing::internal::CaptureStdout();
        const bool done = enroll_key(*invocation_);
        invocation_->flush_output();
        printed = testing::internal::GetCapturedStdout();
        told.clear();
        for (const Diagnostic& each : invocation_->diagnostics.all())
            told += each.message + "\n? " + each.hint_text + "\n";
        const auto all = read_file(folder + "/asked");
        asked = all ? *all : "";
        return done;
    }

    const test::TestFolder own_folder;
    const std::string folder = own_folder.path;
    const test::Environment path{"PATH", folder + "/bin"};
    std::string printed, told, asked;

  private:
    std::unique_ptr<Invocation> invocation_;
};

TEST_F(EnrollKey, IsImportedUnlessItIsThere) {
    mokutil("echo is not enrolled; exit 1", "exit 0");
    EXPECT_TRUE(enroll("certificate")) << told;
    EXPECT_EQ(asked, "--test-key\n--import\n");
    EXPECT_EQ(*read_file(folder + "/given"), "\x30\x03\x02\x01\x05\n");
    EXPECT_TRUE(printed.starts_with("Restart this machine: ")) << printed;
    EXPECT_TRUE(printed.ends_with("djstap --sign-with KEY " + folder + "/certificate\n"))
        << printed;
    mokutil("echo certificate is already enrolled", "exit 0");
    EXPECT_TRUE(enroll("certificate"));
    EXPECT_EQ(asked, "--test-key\n");
    EXPECT_EQ(printed, folder + "/certificate is enrolled already\n");
}

TEST_F(EnrollKey, WhatFailsIsTold) {
    EXPECT_FALSE(enroll("certificate"));
    EXPECT_NE(told.find("--enroll-key: mokutil is not installed\n? apt-get install mokutil\n"),
              told.npos)
        << told;
    mokutil("exit 1", "exit 3");
    EXPECT_FALSE(enroll("certificate"));
    EXPECT_NE(told.find("--enroll-key: mokutil failed with status 3\n? it needs root"), told.npos)
        << told;
    EXPECT_EQ(printed, "");
    EXPECT_FALSE(enroll("nothing"));
    EXPECT_NE(told.find("--enroll-key: "), told.npos) << told;
    EXPECT_NE(told.find(folder + "/nothing"), told.npos) << told;
    EXPECT_EQ(asked, "");
    std::ofstream(folder + "/text") << "no certificate";
    EXPECT_FALSE(enroll("text"));
    EXPECT_NE(told.find(folder + "/text is not a certificate\n? docs/running.md"), told.npos)
        << told;
    EXPECT_EQ(asked, "");
}

} // namespace
} // namespace djstap::driver
