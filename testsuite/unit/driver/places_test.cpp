// SPDX-License-Identifier: GPL-2.0-or-later
// Where djstap's own files are.
#include "driver/places.h"

#include <filesystem>
#include <gtest/gtest.h>

namespace djstap::driver {
namespace {

namespace fs = std::filesystem;

TEST(OwnPlaces, AreBesideTheProgramAndInTheSources) {
    const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
    const Places places = find_places();
    EXPECT_EQ(places.programs, folder);
    EXPECT_EQ(places.djrun, folder / "djrun");
    const fs::path base = fs::path(places.tapsets).parent_path();
    EXPECT_EQ(places.tapsets, base / "tapsets");
    EXPECT_EQ(places.examples, base / "examples");
    EXPECT_EQ(places.runtime, base / "runtime");
    for (const std::string& each : {places.tapsets, places.examples, places.runtime})
        EXPECT_TRUE(fs::is_directory(each)) << each;
}

} // namespace
} // namespace djstap::driver
