// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of the memory that djstap and a probed program share, and of what a process has mapped.
#include "injection/arena.h"
#include "injection/memory_map.h"
#include "injection/places.h"

#include "../surroundings.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace djstap::injection {
namespace {

constexpr uint64_t page = 4096, mega = uint64_t{1} << 20, giga = uint64_t{1} << 30;

class PlacedArena : public testing::Test {
  protected:
    void SetUp() override {
        const auto map = MemoryMap::of(getpid());
        ASSERT_TRUE(map);
        const auto here = reinterpret_cast<uint64_t>(&getpid);
        ASSERT_TRUE(arena_);
        ASSERT_TRUE(arena_->place_near({here, here + 1}, *map));
    }
    static constexpr uint64_t ring_bytes = 2 * page;
    Result<Arena> arena_ = Arena::create(ring_bytes);
};

// A part ends where the next one begins, and each slot has its own.
TEST_F(PlacedArena, HasPartsThatFollowEachOther) {
    const Arena::Part slots = arena_->slots(), rings = arena_->rings();
    const Arena::Part whole = arena_->whole(), code = arena_->code(), heap = arena_->heap();
    EXPECT_EQ(code.begin, whole.begin);
    EXPECT_EQ(heap.begin, code.begin + code.bytes);
    EXPECT_EQ(slots.begin, heap.begin + heap.bytes);
    EXPECT_EQ(rings.begin, slots.begin + slots.bytes);
    EXPECT_EQ(whole.begin + whole.bytes, rings.begin + rings.bytes);
    EXPECT_EQ(arena_->ring_bytes(), ring_bytes);
    EXPECT_EQ(slots.bytes % page, 0U);
    const uint64_t count =
        (arena_->ring_data(1).begin - rings.begin - page) / (page + 2 * ring_bytes);
    EXPECT_EQ(count, 1U); // a page before the data, which is mapped twice
    EXPECT_EQ(arena_->ring_data(0).begin, rings.begin + page);
    EXPECT_EQ(arena_->ring_data(0).bytes, ring_bytes);
    EXPECT_EQ(arena_->owner_page(0), slots.begin);
    const uint64_t stride = arena_->owner_page(1) - arena_->owner_page(0);
    EXPECT_EQ(slots.bytes % stride, 0U);
    EXPECT_EQ(rings.bytes, slots.bytes / stride * (page + 2 * ring_bytes));
    // The last slot's ring ends the memory: what is written behind its data is at its beginning.
    const Arena::Part last = arena_->ring_data(static_cast<unsigned>(slots.bytes / stride) - 1);
    EXPECT_EQ(last.begin + 2 * last.bytes, rings.begin + rings.bytes);
    last.as<char>()[2 * last.bytes - 1] = 'x';
    EXPECT_EQ(last.as<char>()[last.bytes - 1], 'x');
}

TEST_F(PlacedArena, HasRoomForCodeInWholePages) {
    const auto first = arena_->take_code(1), second = arena_->take_code(page),
               third = arena_->take_code(page + 1);
    ASSERT_TRUE(first && second && third);
    EXPECT_EQ(first->bytes, page);
    EXPECT_EQ(second->begin, first->begin + page);
    EXPECT_EQ(second->bytes, page);
    EXPECT_EQ(third->begin, second->begin + page);
    EXPECT_EQ(third->bytes, 2 * page);
    const uint64_t left = arena_->code().bytes - 4 * page;
    EXPECT_FALSE(arena_->take_code(left + 1));
    EXPECT_TRUE(arena_->take_code(left));
    EXPECT_FALSE(arena_->take_code(1));
}

TEST_F(PlacedArena, IsKnownInAMapAndByADescriptor) {
    const auto map = MemoryMap::of(getpid());
    ASSERT_TRUE(map);
    const Mapping* const own = map->at(arena_->slots().begin);
    ASSERT_NE(own, nullptr);
    EXPECT_TRUE(own->writable && own->executable);
    EXPECT_TRUE(arena_->is_mapped_by(*own));
    const auto another = Arena::create(ring_bytes);
    ASSERT_TRUE(another);
    EXPECT_FALSE(another->is_mapped_by(*own));
    int found = 0;
    for (int descriptor = 0; descriptor < 256; descriptor++)
        found += arena_->is_open(getpid(), descriptor);
    EXPECT_EQ(found, 1);
}

TEST(ArenaLimits, AreNamed) {
    EXPECT_TRUE(Arena::create(16 * mega));
    const auto large = Arena::create(17 * mega);
    ASSERT_FALSE(large);
    EXPECT_EQ(large.failure().message,
              "a buffer of 17 megabytes for each thread does not fit near the program");
    const auto refused = [] {
        const test::Limit low(RLIMIT_FSIZE, mega);
        return Arena::create(page);
    }();
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.failure().message.starts_with(
        "the limit of the size of files (ulimit -f) leaves no shared memory of "));
}

// A process's memory, of which each page has other rights.
TEST(ProcessMap, TellsRightsAndBorders) {
    auto* const memory =
        static_cast<char*>(mmap(nullptr, 4 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    ASSERT_EQ(mprotect(memory + page, page, PROT_READ | PROT_WRITE), 0);
    ASSERT_EQ(mprotect(memory + 2 * page, page, PROT_READ | PROT_EXEC), 0);
    const auto map = MemoryMap::of(getpid());
    const auto begin = reinterpret_cast<uint64_t>(memory);
    ASSERT_TRUE(map);
    const Mapping *const writable = map->at(begin + page), *const executable =
                                                               map->at(begin + 2 * page);
    ASSERT_TRUE(writable && executable);
    EXPECT_EQ(writable->range.begin, begin + page);
    EXPECT_EQ(writable->range.end, begin + 2 * page);
    EXPECT_TRUE(writable->writable);
    EXPECT_FALSE(writable->executable);
    EXPECT_EQ(executable->range.begin, begin + 2 * page);
    EXPECT_FALSE(executable->writable);
    EXPECT_TRUE(executable->executable);
    EXPECT_EQ(map->at(begin + 2 * page - 1), writable);
    EXPECT_EQ(writable->path, "");
    EXPECT_EQ(writable->file, FileIdentity{});
    munmap(memory, 4 * page);
}

// Room that is just near enough to the code, and room that is one page too far.
TEST(Reach, IsThatOfAJump) {
    const Range code{100 * giga, 100 * giga + mega};
    // A jump reaches two gigabytes; a megabyte of them is left for what a stub adds.
    constexpr uint64_t reach = 2 * giga - mega;
    constexpr uint64_t bytes = 4 * mega;
    for (const uint64_t more : {uint64_t{0}, page}) {
        MemoryMap program;
        program.reserve(code);
        const MemoryMap nothing;
        // All is taken but for one place, below: it begins at the end of what is mapped.
        const uint64_t place = code.end - reach + page - more;
        program.reserve({0, place});
        program.reserve({place + bytes, code.begin});
        program.reserve({code.end, uint64_t{1} << 47});
        const auto found = find_room(program, nothing, code, bytes, bytes);
        EXPECT_EQ(found, more ? std::nullopt : std::optional(place));
    }
    for (const uint64_t more : {uint64_t{0}, page}) {
        MemoryMap program;
        program.reserve(code);
        const MemoryMap nothing;
        const uint64_t place = code.begin + reach - bytes - page + more;
        program.reserve({0, code.begin});
        program.reserve({code.end, place});
        program.reserve({place + bytes, uint64_t{1} << 47});
        const auto found = find_room(program, nothing, code, bytes, bytes);
        EXPECT_EQ(found, more ? std::nullopt : std::optional(place));
    }
}

} // namespace
} // namespace djstap::injection
