// SPDX-License-Identifier: GPL-2.0-or-later
// The memory that djstap and a probed program share.
#include "injection/arena.h"

#include "../surroundings.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace djstap::injection {
namespace {

TEST(Arena, NeedsAddresses) {
    auto arena = Arena::create(4096);
    ASSERT_TRUE(arena) << arena.failure().message;
    const auto map = MemoryMap::of(getpid());
    ASSERT_TRUE(map);
    const auto here = reinterpret_cast<uint64_t>(&getpid);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const Status refused = [&] {
        // This program's, and a few more for what it does meanwhile.
        const test::Limit low(RLIMIT_AS, (pages << 12) + (rlim_t{32} << 20));
        return arena->place_near({here, here + 1}, *map);
    }();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.failure().message,
              "the memory near the program cannot be mapped: Cannot allocate memory");

    ASSERT_TRUE(arena->place_near({here, here + 1}, *map));
    // What is written behind a ring's data is at its beginning.
    const Arena::Part data = arena->ring_data(1);
    data.as<char>()[data.bytes] = 'x';
    EXPECT_EQ(data.as<char>()[0], 'x');
}

} // namespace
} // namespace djstap::injection
