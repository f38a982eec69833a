// SPDX-License-Identifier: GPL-2.0-or-later
// A library of tapsets of the test's own, and a cache of its own.
#pragma once
#include "../surroundings.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace djstap::driver {

class OwnLibrary : public testing::Test {
  protected:
    void SetUp() override { std::filesystem::create_directory(folder_.file("tapset")); }
    // Writes a file of the library, and returns its path.
    std::string tapset(const std::string& text, const std::string& name = "own.stp") const {
        return folder_.write("tapset/" + name, text);
    }

  private:
    const test::TestFolder folder_;
    const test::Environment library_{"SYSTEMTAP_TAPSET", folder_.file("tapset")},
        cache_{"DJSTAP_CACHE", folder_.file("cache")};
};

} // namespace djstap::driver
