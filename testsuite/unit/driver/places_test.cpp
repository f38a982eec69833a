// SPDX-License-Identifier: GPL-2.0-or-later
// Where djstap's own files are, and what takes a kernel's place in user space.
#include "driver/places.h"

#include "driver/user_kernel.h"
#include "injected/injected.h"

#include <cstddef>
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

// In a program, what handlers know of a CPU is in the slot of a thread.
TEST(UserSpaceKernels, HaveSlotsInPlaceOfProcessors) {
    const CodegenKernel here = user_space_kernel(false), there = user_space_kernel(true);
    EXPECT_TRUE(here.user_space && there.user_space);
    EXPECT_FALSE(here.injected);
    EXPECT_TRUE(there.injected);
    EXPECT_EQ(here.stub_bytes, 0);
    EXPECT_GT(there.stub_bytes, 0);
    for (const CodegenKernel* each : {&here, &there})
        EXPECT_FALSE(each->mitigations.return_thunks || each->mitigations.indirect_thunks);
    EXPECT_FALSE(here.offset);
    ASSERT_TRUE(there.offset);
    const std::pair<const char*, size_t> fields[] = {
        {"djs_cpu.head", offsetof(djs_thread_slot, head)},
        {"djs_cpu.limit", offsetof(djs_thread_slot, limit)},
        {"djs_cpu.data", offsetof(djs_thread_slot, data)},
        {"djs_cpu.mask", offsetof(djs_thread_slot, mask)}};
    for (const auto& [name, offset] : fields)
        EXPECT_EQ(there.offset(name),
                  (std::pair<std::string, int64_t>("djs_cpu", static_cast<int64_t>(offset))))
            << name;
    EXPECT_FALSE(there.offset("task_struct.pid"));
    EXPECT_FALSE(there.offset(""));
}

} // namespace
} // namespace djstap::driver
