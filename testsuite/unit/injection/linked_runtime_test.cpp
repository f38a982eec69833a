// SPDX-License-Identifier: GPL-2.0-or-later
// The runtime and a script's object in the memory that a program shares: what is linked where, and
// what it is told. Nothing of it runs here that needs a thread's slot.
#include "injection/linked_runtime.h"

#include "../surroundings.h"
#include "made_program.h"

#include <cstring>
#include <fcntl.h>

namespace djstap::injection {
namespace {

class LinkedHere : public testing::Test {
  protected:
    void SetUp() override {
        const auto map = MemoryMap::of(getpid());
        ASSERT_TRUE(map);
        const auto here = reinterpret_cast<uint64_t>(&note_places);
        const Status placed = arena_->place_near({here, here + 1}, *map);
        ASSERT_TRUE(placed) << placed.failure().message;
    }
    // Links a script with this text of an assembler.
    Result<LinkedRuntime> link(const std::string& text) {
        return LinkedRuntime::link(MadeFile(text, {"-r"}).object(), *arena_);
    }
    static bool is_in(const Arena::Part& part, uint64_t address) {
        return address >= part.begin && address < part.begin + part.bytes;
    }
    static bool is_in_code(const LinkedRuntime& linked, uint64_t address) {
        return std::any_of(linked.code().begin(), linked.code().end(),
                           [&](const Arena::Part& part) { return is_in(part, address); });
    }
    template <class T> static uint64_t number_of(T* pointer) {
        return reinterpret_cast<uint64_t>(pointer);
    }

    MadeArena arena_;
};

constexpr const char* script_text = ".data\n.globl djs_script\n"
                                    "djs_script: .quad djs_counters, djs_cpu, g\n"
                                    ".text\n.globl g\ng: mov $9, %eax\nret\n"
                                    ".bss\nroom: .zero 4097\n";

TEST_F(LinkedHere, HandlersFindTheFirstSlotsParts) {
    const auto linked = link(script_text);
    ASSERT_TRUE(linked) << linked.failure().message;
    const auto* const words = reinterpret_cast<const uint64_t*>(linked->script);
    ASSERT_TRUE(is_in(arena_->code(), number_of(words)));
    EXPECT_EQ(words[0], arena_->slots().begin + 8192); // behind two pages
    EXPECT_EQ(words[1], arena_->slots().begin + 4096); // the second one, which is shared
    const auto nine = reinterpret_cast<int (*)()>(words[2]);
    EXPECT_EQ(memcmp(reinterpret_cast<const void*>(nine), "\xb8\x09\0\0\0\xc3", 6), 0);
    EXPECT_TRUE(is_in_code(*linked, words[2]));
}

// What the program may execute and what it may change are on different pages.
TEST_F(LinkedHere, CodeIsApartFromData) {
    const auto linked = link(script_text);
    ASSERT_TRUE(linked) << linked.failure().message;
    for (const uint64_t each :
         {linked->claim, linked->hit, number_of(linked->init), number_of(linked->set_places),
          number_of(linked->loader), number_of(linked->allocate), number_of(linked->gone),
          number_of(linked->settle), number_of(linked->unslotted), number_of(linked->set_returns),
          number_of(linked->unmatched)}) {
        EXPECT_NE(each, 0u);
        EXPECT_TRUE(is_in_code(*linked, each)) << each;
    }
    ASSERT_NE(linked->runtime, nullptr);
    for (const uint64_t each :
         {number_of(linked->script), number_of(linked->runtime), number_of(linked->loader())}) {
        EXPECT_TRUE(is_in(arena_->code(), each)) << each;
        EXPECT_FALSE(is_in_code(*linked, each)) << each;
    }
    EXPECT_TRUE(is_in_code(*linked, number_of(linked->runtime->load)));
    EXPECT_EQ(linked->code().size(), 2u); // of the runtime, and of the script
    for (const Arena::Part& part : linked->code())
        EXPECT_EQ(part.begin % 4096 + part.bytes % 4096, 0u);
}

TEST_F(LinkedHere, RefersOnlyToTheRuntime) {
    const auto linked = link(".data\n.globl djs_script\ndjs_script: .quad none_of_the_runtimes\n");
    ASSERT_FALSE(linked);
    EXPECT_TRUE(
        linked.failure().message.starts_with("the script cannot be linked into the program: "))
        << linked.failure().message;
    EXPECT_FALSE(link(".data\n.globl other\nother: .quad 0\n"));
    EXPECT_FALSE(LinkedRuntime::link("no object", *arena_));
}

TEST_F(LinkedHere, MayBeTooLarge) {
    // All that code may take is 64 MB.
    EXPECT_FALSE(link(".bss\n.globl djs_script\ndjs_script: .zero 65 * 1024 * 1024\n"));
    const auto linked = link(".bss\n.globl djs_script\ndjs_script: .zero 48 * 1024 * 1024\n");
    EXPECT_TRUE(linked) << linked.failure().message;
}

TEST_F(LinkedHere, TheRuntimeIsToldWhereTheArenasPartsAre) {
    const std::string long_name(70, 'A');
    const test::TimeZone zone("XYZ5"); // five hours west
    const djs_arena parts = parts_of(*arena_);
    zone.set("<" + long_name + ">-3");
    const djs_arena others = parts_of(*arena_);
    EXPECT_EQ(number_of(parts.heap), arena_->heap().begin);
    EXPECT_EQ(parts.heap_bytes, arena_->heap().bytes);
    EXPECT_EQ(number_of(parts.slots), arena_->slots().begin);
    EXPECT_EQ(number_of(parts.rings), arena_->rings().begin);
    EXPECT_EQ(parts.processors, sysconf(_SC_NPROCESSORS_CONF));
    EXPECT_EQ(parts.seconds_west, 5 * 3600);
    EXPECT_STREQ(parts.zone, "XYZ");
    EXPECT_EQ(others.seconds_west, -3 * 3600);
    EXPECT_EQ(std::string(others.zone), long_name.substr(0, sizeof others.zone - 1));
}

int settles_left, settles_asked, times_gone;

u32 settle_slowly() {
    settles_asked++;
    return settles_left > 0 ? static_cast<u32>(settles_left--) : 0;
}

void count_gone() {
    times_gone++;
}

TEST_F(LinkedHere, WaitsForThreadsInHandlers) {
    auto linked = link(script_text);
    ASSERT_TRUE(linked) << linked.failure().message;
    linked->settle = settle_slowly;
    linked->gone = count_gone;
    settles_left = 3;
    settles_asked = times_gone = 0;
    linked->wait_until_settled(false);
    EXPECT_EQ(settles_asked, 4); // three times there was one
    EXPECT_EQ(times_gone, 0);
    linked->wait_until_settled(true);
    EXPECT_EQ(settles_asked, 5);
    EXPECT_EQ(times_gone, 1);
}

} // namespace
} // namespace djstap::injection
