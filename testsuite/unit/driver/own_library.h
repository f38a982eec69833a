// SPDX-License-Identifier: GPL-2.0-or-later
// A library of tapsets of the test's own, and a cache of its own.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace djstap::driver {

class OwnLibrary : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = std::filesystem::temp_directory_path() / "djstap-test-XXXXXX";
        ASSERT_TRUE(mkdtemp(name.data()));
        folder_ = name;
        setenv("SYSTEMTAP_TAPSET", (folder_ + "/tapset").c_str(), 1);
        setenv("DJSTAP_CACHE", (folder_ + "/cache").c_str(), 1);
        std::filesystem::create_directory(folder_ + "/tapset");
    }
    void TearDown() override {
        unsetenv("SYSTEMTAP_TAPSET");
        unsetenv("DJSTAP_CACHE");
        std::filesystem::remove_all(folder_);
    }
    // Writes a file of the library, and returns its path.
    std::string tapset(const std::string& text, const std::string& name = "own.stp") const {
        std::ofstream(folder_ + "/tapset/" + name) << text;
        return folder_ + "/tapset/" + name;
    }

  private:
    std::string folder_;
};

} // namespace djstap::driver
