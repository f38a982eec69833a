// SPDX-License-Identifier: GPL-2.0-or-later
// Where memory for a program's probes is looked for, and what is told of places that are refused.
#include "injection/arena.h"
#include "injection/memory_map.h"
#include "injection/refusals.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace djstap;
using namespace djstap::injection;

namespace {

constexpr uint64_t megabyte = uint64_t{1} << 20, gigabyte = uint64_t{1} << 30;

MemoryMap with(std::initializer_list<Range> ranges) {
    MemoryMap map;
    for (const Range& each : ranges)
        map.reserve(each);
    return map;
}

std::optional<uint64_t> room_for(const MemoryMap& program, const MemoryMap& own, Range code,
                                 uint64_t bytes) {
    return find_room(program, own, code, bytes, bytes);
}

} // namespace

// The device of a file system in memory has a number of two hexadecimal digits.
TEST(MemoryMap, KnowsAFileAsTheKernelDoes) {
    std::string path = "/dev/shm/djstap-map-XXXXXX";
    const int file = mkstemp(path.data());
    ASSERT_GE(file, 0);
    ASSERT_EQ(ftruncate(file, 8192), 0);
    void* const memory = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 4096);
    struct stat status = {};
    ASSERT_EQ(fstat(file, &status), 0);
    close(file);
    const auto map = MemoryMap::of(getpid());
    unlink(path.c_str());
    ASSERT_TRUE(map);
    const Mapping* const mapped = map->at(reinterpret_cast<uint64_t>(memory));
    ASSERT_NE(mapped, nullptr);
    EXPECT_EQ(mapped->path, path);
    EXPECT_EQ(mapped->offset, 4096u);
    EXPECT_EQ(mapped->file.device, uint64_t{major(status.st_dev)} << 32 | minor(status.st_dev));
    EXPECT_EQ(mapped->file.inode, status.st_ino);
    EXPECT_FALSE(mapped->writable || mapped->executable);
    munmap(memory, 4096);
}

TEST(Room, IsFreeInBothProcesses) {
    const Range code{100 * gigabyte, 100 * gigabyte + megabyte};
    const MemoryMap program = with({code}), nothing;
    const auto first = room_for(program, nothing, code, 4 * megabyte);
    ASSERT_TRUE(first);
    const MemoryMap own = with({{*first + 2 * megabyte, *first + 3 * megabyte}});
    const auto second = room_for(program, own, code, 4 * megabyte);
    ASSERT_TRUE(second);
    EXPECT_TRUE(own.is_free({*second, *second + 4 * megabyte}));
    EXPECT_TRUE(program.is_free({*second, *second + 4 * megabyte}));
}

TEST(Room, IsWithinTheReachOfAllCode) {
    const Range code{100 * gigabyte, 101 * gigabyte};
    const MemoryMap program = with({code, {98 * gigabyte, 100 * gigabyte}}), nothing;
    const auto room = room_for(program, nothing, code, 4 * megabyte);
    ASSERT_TRUE(room);
    EXPECT_LT(*room + 4 * megabyte - code.begin, 2 * gigabyte);
}

TEST(Room, MayNotExist) {
    const Range code{100 * gigabyte, 100 * gigabyte + megabyte};
    const MemoryMap full = with({{97 * gigabyte, 103 * gigabyte}}), nothing;
    EXPECT_FALSE(room_for(full, nothing, code, megabyte));
    EXPECT_FALSE(room_for(nothing, full, code, megabyte));
}

// Every process has a page at the end of addresses, for vsyscall. The sum of what follows it and a
// size is small.
TEST(Room, IsNotBehindTheLastPage) {
    const Range code{4 * megabyte, 5 * megabyte}, vsyscall{0xffffffffff600000, 0xffffffffff601000};
    const MemoryMap full = with({{megabyte, 103 * gigabyte}, vsyscall}), nothing;
    EXPECT_FALSE(room_for(full, nothing, code, 800 * megabyte));
    EXPECT_FALSE(room_for(nothing, full, code, 800 * megabyte));
}

TEST(Room, LeavesLowAddressesAlone) {
    const Range code{4 * megabyte, 5 * megabyte};
    const MemoryMap program = with({code}), nothing;
    const auto room = room_for(program, nothing, code, 4 * megabyte);
    ASSERT_TRUE(room);
    EXPECT_GE(*room, code.end + 512 * megabyte); // the heap may grow up to there
}

// Below the code, nothing of the program grows. What is mapped below it grows downwards.
TEST(Room, IsBelowTheCodeIfPossible) {
    const Range code{100 * gigabyte, 100 * gigabyte + megabyte};
    const auto room = room_for(with({code}), MemoryMap(), code, 4 * megabyte);
    ASSERT_TRUE(room);
    EXPECT_EQ(*room, code.begin - 20 * megabyte);
}

// All is taken but for a gap of two gigabytes, of which only one end is near enough.
TEST(Room, IsAtTheEndsOfGaps) {
    const Range code{100 * gigabyte, 100 * gigabyte + megabyte};
    constexpr uint64_t top = uint64_t{1} << 47, bytes = 4 * megabyte;
    const uint64_t below = code.begin - gigabyte, above = code.end + gigabyte;
    const MemoryMap nothing;
    for (const bool own : {false, true}) {
        const MemoryMap gap_below = with({{0, below - 2 * gigabyte}, {below, top}});
        EXPECT_EQ(room_for(own ? nothing : gap_below, own ? gap_below : nothing, code, bytes),
                  std::optional(below - bytes));
        const MemoryMap gap_above = with({{0, above}, {above + 2 * gigabyte, top}});
        EXPECT_EQ(room_for(own ? nothing : gap_above, own ? gap_above : nothing, code, bytes),
                  std::optional(above));
    }
}

// The first megabyte stays free, and programs have 47 bits of addresses.
TEST(Room, IsBetweenTheFirstMegabyteAndTheLastAddress) {
    const Range code{4 * megabyte, 5 * megabyte};
    const MemoryMap nothing;
    constexpr uint64_t page_size = 4096;
    const auto low = [&](uint64_t begin) {
        return room_for(with({{0, begin}, {2 * megabyte, 103 * gigabyte}}), nothing, code,
                        2 * megabyte - begin);
    };
    EXPECT_EQ(low(megabyte), std::optional(megabyte));
    EXPECT_EQ(low(megabyte - page_size), std::nullopt);
    // What ends where something begins.
    const auto before = [&](uint64_t begin) {
        return room_for(with({{begin, 103 * gigabyte}}), nothing, code, megabyte);
    };
    EXPECT_EQ(before(2 * megabyte + page_size), std::optional(megabyte + page_size));
    EXPECT_EQ(before(2 * megabyte), std::nullopt);
    constexpr uint64_t top = uint64_t{1} << 47;
    const Range high_code{top - 64 * megabyte, top - 63 * megabyte};
    const MemoryMap high = with({{megabyte, top - 8 * megabyte}});
    EXPECT_EQ(room_for(high, nothing, high_code, 8 * megabyte - page_size),
              std::optional(top - 8 * megabyte));
    EXPECT_EQ(room_for(high, nothing, high_code, 8 * megabyte), std::nullopt);
    EXPECT_EQ(room_for(with({{megabyte, top}}), nothing, high_code, megabyte), std::nullopt);
}

TEST(MemoryMap, CountsWholePagesAsMapped) {
    const MemoryMap map = with({{0x10010, 0x11010}});
    EXPECT_FALSE(map.is_free({0x10000, 0x10001}));
    EXPECT_FALSE(map.is_free({0x11fff, 0x12000}));
    EXPECT_TRUE(map.is_free({0x12000, 0x13000}));
    EXPECT_TRUE(map.is_free({0xf000, 0x10000}));
}

TEST(MemoryMap, IsThatOfAProcess) {
    auto map = MemoryMap::of(getpid());
    ASSERT_TRUE(map);
    const auto here = reinterpret_cast<uint64_t>(&with);
    const auto found = std::find_if(map->all().begin(), map->all().end(), [&](const Mapping& each) {
        return here >= each.range.begin && here < each.range.end;
    });
    ASSERT_NE(found, map->all().end());
    EXPECT_TRUE(found->executable);
    EXPECT_FALSE(found->path.empty());
    EXPECT_FALSE(map->of_file(found->path).empty());
    void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    const auto at = reinterpret_cast<uint64_t>(page);
    EXPECT_TRUE(map->is_free({at, at + 4096}) || !MemoryMap::of(getpid())->is_free({at, at + 1}));
    EXPECT_FALSE(MemoryMap::of(getpid())->is_free({at, at + 4096}));
    munmap(page, 4096);
    EXPECT_FALSE(MemoryMap::of(-1));
}

TEST(MemoryMap, TellsArenasFromOtherMemoryOfDjstap) {
    const auto is_arena = [](const char* name) {
        const int file = memfd_create(name, MFD_CLOEXEC);
        EXPECT_EQ(ftruncate(file, 4096), 0);
        void* const page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
        close(file);
        const auto map = MemoryMap::of(getpid());
        const Mapping* const mapping = map ? map->at(reinterpret_cast<uint64_t>(page)) : nullptr;
        EXPECT_TRUE(mapping) << name;
        const bool found = mapping && Arena::is_mapped_at(*mapping);
        munmap(page, 4096);
        return found;
    };
    EXPECT_TRUE(is_arena("djstap"));
    EXPECT_FALSE(is_arena("djstap-ring"));
}

TEST(Refusals, NameFunctionsByTheReason) {
    const char texts[] = "\0one\0two\0six\0ten\0";
    djs_site sites[4] = {};
    for (uint32_t i = 0; i < 4; i++)
        sites[i].function = 1 + 4 * i;
    struct ::djs_script script{};
    script.site_texts = texts;
    script.sites = sites;
    PlacedImage image;
    image.path = "/program";
    for (uint32_t i = 0; i < 3; i++) {
        PatchedPlace place;
        place.site = i;
        place.refusal = "of this";
        image.places.push_back(place);
    }
    image.places.emplace_back().site = 3; // it is patched
    ReturningFunction function;
    function.sites = {3};
    function.refusal = "of that";
    image.returning.push_back(function);
    EXPECT_EQ(
        describe_refusals(script, {image}, 9),
        (std::vector<std::string>{"'one', 'six' and 'two' of '/program' are not probed: of this",
                                  "the return of 'ten' of '/program' is not probed: of that"}));
    EXPECT_EQ(describe_refusals(script, {image}, 1).front(),
              "'one' and 2 more functions of '/program' are not probed: of this");
    EXPECT_EQ(describe_refusals(script, {image}, 2).front(),
              "'one', 'six' and 1 more functions of '/program' are not probed: of this");
    EXPECT_EQ(describe_refusals(script, {image}, 3).front(),
              "'one', 'six' and 'two' of '/program' are not probed: of this");
    // Returns of several functions, by two reasons.
    image.places.clear();
    function.sites = {0};
    image.returning.push_back(function);
    function.refusal = "for another one";
    image.returning.push_back(function);
    function.refusal.clear();
    image.returning.push_back(function);
    EXPECT_EQ(describe_refusals(script, {image}, 9),
              (std::vector<std::string>{
                  "the return of 'one' of '/program' is not probed: for another one",
                  "the returns of 'one' and 'ten' of '/program' are not probed: of that"}));
}

// What -v prints.
TEST(Refusals, PatchedFunctionsAndReturnsAreCounted) {
    PlacedImage first, second;
    EXPECT_EQ(describe_places({}), "0 of 0 functions");
    first.places.resize(3);
    first.places[0].site = 5;
    first.places[1].site = 6;
    first.places[1].refusal = "of this";
    // The third one has no site of an entry: only returns are probed there.
    EXPECT_EQ(describe_places({first}), "1 of 2 functions");
    second.places.resize(1);
    second.places[0].site = 0;
    EXPECT_EQ(describe_places({first, second}), "2 of 3 functions");
    second.returning.resize(2);
    second.returning[1].refusal = "of that";
    EXPECT_EQ(describe_places({first, second}), "2 of 3 functions, the returns of 1 of 2");
    second.places.clear();
    second.returning[1].refusal.clear();
    EXPECT_EQ(describe_places({second}), "the returns of 2 of 2 functions");
}
