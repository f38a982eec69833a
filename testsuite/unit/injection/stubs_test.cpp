// SPDX-License-Identifier: GPL-2.0-or-later
// What a patched place leads to: the bytes are those of the Intel SDM, addresses are calculated.
#include "injection/stubs.h"

#include "arch/injection.h"

#include <cstring>
#include <gtest/gtest.h>

namespace djstap::injection {
namespace {

using namespace std::string_literals;

constexpr uint64_t bias = 0x400000, stubs_at = 0x500000;
constexpr size_t jump_bytes = 5; // jmp rel32

const std::string move_argument = "\x89\xf8"s;               // mov %edi, %eax
const std::string add_five = "\x83\xc0\x05"s;                // add $5, %eax
const std::string load_one = "\xb8\x01\0\0\0"s;              // mov $1, %eax
const std::string return_and_fill = "\xc3\x66\x90\x66\x90"s; // ret, and four bytes of filler

Callees callees() {
    return {.owner = 0x700000, .claim = 0x600000, .hit = 0x600100};
}

uint64_t target_of_jump(const std::string& jump, uint64_t at) {
    EXPECT_EQ(jump.size(), jump_bytes);
    EXPECT_EQ(jump.front(), '\xe9');
    int32_t distance = 0;
    memcpy(&distance, jump.data() + 1, sizeof distance);
    return at + jump_bytes + static_cast<uint64_t>(static_cast<int64_t>(distance));
}

// How often the code pushes a value (push imm32).
size_t pushes(const std::string& code, uint32_t value) {
    std::string wanted = "\x68"s;
    wanted.append(reinterpret_cast<const char*>(&value), sizeof value);
    size_t count = 0;
    for (size_t at = code.find(wanted); at != std::string::npos; at = code.find(wanted, at + 1))
        count++;
    return count;
}

PatchedPlace place_at(uint64_t address) {
    PatchedPlace place;
    place.address = address;
    place.moved = {{address, move_argument}, {address + 2, add_five}};
    place.original = move_argument + add_five;
    return place;
}

// `returning`: the numbers of the functions whose returns are probed.
PlacedImage image_with(std::vector<PatchedPlace> places,
                       std::initializer_list<uint32_t> returning = {}) {
    PlacedImage image;
    image.bias = bias;
    image.places = std::move(places);
    image.returning.resize(returning.size());
    for (size_t i = 0; const uint32_t number : returning)
        image.returning[i++].number = number;
    return image;
}

TEST(Stubs, MoveWhatAJumpReplacesAndGoOnBehindIt) {
    PatchedPlace place = place_at(0x1000);
    place.is_of_loader = true;
    PlacedImage image = image_with({place});
    const Stubs stubs = make_stubs(image, callees(), stubs_at);
    EXPECT_LE(stubs.code.size(), room_for_stubs(image));
    ASSERT_EQ(stubs.patches.size(), 1u);
    const Patch& patch = stubs.patches.front();
    EXPECT_EQ(patch.address, bias + 0x1000);
    EXPECT_EQ(patch.before, place.original);
    const uint64_t target = target_of_jump(patch.bytes, patch.address);
    EXPECT_GE(target, stubs_at);
    EXPECT_LT(target, stubs_at + stubs.code.size());
    EXPECT_EQ(pushes(stubs.code, DJS_AT_LOADER), 1u);
    // A thread at the first instruction executes the jump; one behind it continues here.
    ASSERT_EQ(stubs.relocations.size(), 1u);
    EXPECT_EQ(stubs.relocations[0].from, bias + 0x1002);
    const std::string end = move_argument + add_five;
    ASSERT_GT(stubs.code.size(), end.size() + jump_bytes);
    const size_t moved = stubs.code.size() - jump_bytes - end.size();
    EXPECT_EQ(stubs.code.substr(moved, end.size()), end);
    EXPECT_EQ(stubs.relocations[0].to, stubs_at + moved + 2);
    const size_t back = moved + end.size();
    EXPECT_EQ(target_of_jump(stubs.code.substr(back), stubs_at + back), bias + 0x1005);
    EXPECT_TRUE(stubs.places.empty()); // it has no site
}

TEST(Stubs, EndBehindWhatLeaves) {
    PatchedPlace place;
    place.address = 0x1000;
    place.moved = {{0x1000, "\xc3"s, true}};
    place.original = return_and_fill;
    place.is_of_loader = true;
    PlacedImage image = image_with({place});
    const Stubs stubs = make_stubs(image, callees(), stubs_at);
    ASSERT_EQ(stubs.patches.size(), 1u);
    EXPECT_EQ(stubs.code.back(), '\xc3');
    EXPECT_TRUE(stubs.relocations.empty());
}

TEST(Stubs, PlacesWithoutAnythingToCallAreLeftAlone) {
    PatchedPlace refused = place_at(0x2000);
    refused.is_of_loader = true;
    refused.refusal = "of this";
    PlacedImage image = image_with({place_at(0x1000), refused});
    const Stubs stubs = make_stubs(image, callees(), stubs_at);
    EXPECT_TRUE(stubs.patches.empty());
    EXPECT_EQ(stubs.code, "");
    EXPECT_EQ(image.places[0].refusal, "");
    EXPECT_EQ(image.places[1].refusal, "of this");
}

// Entries have even numbers, returns the odd ones behind them.
TEST(Stubs, NameTheFunctionThatIsEnteredOrLeft) {
    PatchedPlace place = place_at(0x1000);
    place.enters = 6;
    PatchedPlace other;
    other.address = 0x1040;
    other.moved = {{0x1040, load_one}, {0x1045, "\xc3"s, true, 9}};
    other.original = load_one;
    PlacedImage image = image_with({place, other}, {6, 9});
    const Stubs stubs = make_stubs(image, callees(), stubs_at);
    ASSERT_EQ(stubs.patches.size(), 2u);
    EXPECT_EQ(pushes(stubs.code, 12), 1u);
    EXPECT_EQ(pushes(stubs.code, 19), 1u);
    EXPECT_EQ(stubs.patches[0].address, bias + 0x1000);
    EXPECT_EQ(stubs.patches[1].address, bias + 0x1040);
    // The second place's stub follows the first one's.
    EXPECT_GT(target_of_jump(stubs.patches[1].bytes, stubs.patches[1].address),
              target_of_jump(stubs.patches[0].bytes, stubs.patches[0].address));
    // The moved return: control arrives there from the instruction before it, too.
    ASSERT_EQ(stubs.relocations.size(), 2u);
    EXPECT_EQ(stubs.relocations[1].from, bias + 0x1045);
    EXPECT_EQ(stubs.code.back(), '\xc3');
}

// All places of a function are patched, or none: without its return, the entry is not counted.
TEST(Stubs, AFunctionIsRefusedAsAWhole) {
    PatchedPlace entry = place_at(0x1000), leaving = place_at(0x1100), other = place_at(0x1200);
    entry.enters = 1;
    leaving.moved.back().returns = 1;
    leaving.refusal = "of this";
    other.enters = 2;
    PlacedImage image = image_with({entry, leaving, other}, {1, 2});
    const Stubs stubs = make_stubs(image, callees(), stubs_at);
    EXPECT_EQ(image.returning[0].refusal, "of this");
    EXPECT_EQ(image.returning[1].refusal, "");
    ASSERT_EQ(stubs.patches.size(), 1u);
    EXPECT_EQ(stubs.patches[0].address, bias + 0x1200);
}

TEST(Stubs, AnEntryThatIsRefusedTakesItsReturnsWithIt) {
    PatchedPlace entry = place_at(0x1000), leaving = place_at(0x1100);
    entry.enters = 1;
    entry.refusal = "of this";
    leaving.moved.back().returns = 1;
    PlacedImage image = image_with({entry, leaving}, {1});
    EXPECT_TRUE(make_stubs(image, callees(), stubs_at).patches.empty());
    EXPECT_EQ(image.returning[0].refusal, "of this");
    EXPECT_EQ(image.places[1].refusal, ""); // nothing is wrong with the place
}

// What was refused before keeps its own reason.
TEST(Stubs, AFunctionKeepsItsFirstRefusal) {
    PatchedPlace entry = place_at(0x1000);
    entry.enters = 1;
    entry.refusal = "of this";
    PlacedImage image = image_with({entry}, {1});
    image.returning[0].refusal = "of that";
    make_stubs(image, callees(), stubs_at);
    EXPECT_EQ(image.returning[0].refusal, "of that");
}

// A jump has 31 bits and a sign.
TEST(Stubs, AreNotTooFarAway) {
    PatchedPlace near = place_at(0x1000), far = place_at(0x1000 + (uint64_t{5} << 30));
    near.enters = 1;
    far.moved.back().returns = 1;
    PatchedPlace another = place_at(0x1100);
    another.enters = 2;
    PlacedImage image = image_with({near, far, another}, {1, 2});
    const Stubs stubs = make_stubs(image, callees(), stubs_at);
    const std::string refusal = "it is too far from the memory that was free";
    EXPECT_EQ(image.places[1].refusal, refusal);
    EXPECT_EQ(image.returning[0].refusal, refusal);
    EXPECT_EQ(image.places[0].refusal, "");
    // Nothing is left of the attempt that was broken off.
    ASSERT_EQ(stubs.patches.size(), 1u);
    EXPECT_EQ(stubs.patches[0].address, bias + 0x1100);
    EXPECT_EQ(pushes(stubs.code, 2), 0u);
    EXPECT_EQ(pushes(stubs.code, 4), 1u);
    EXPECT_EQ(stubs.relocations.size(), 1u);
}

// A script's site is found by the address to which its trampoline returns.
TEST(Stubs, TellTheSiteOfATrampoline) {
    djs_trampoline trampolines[2] = {};
    trampolines[1].direct = reinterpret_cast<decltype(trampolines[1].direct)>(0x610000);
    djs_site sites[4] = {};
    sites[3].trampoline = 1;
    struct ::djs_script script{};
    script.sites = sites;
    script.trampolines = trampolines;
    PatchedPlace place = place_at(0x1000);
    place.site = 3;
    place.enters = 5; // the function's returns are probed as well
    PlacedImage image = image_with({place}, {5});
    Callees of_script = callees();
    of_script.script = &script;
    const Stubs stubs = make_stubs(image, of_script, stubs_at);
    ASSERT_EQ(stubs.places.size(), 1u);
    EXPECT_EQ(stubs.places[0].site, 3u);
    // Behind the call (e8 rel32) of the trampoline.
    const uint64_t behind = stubs.places[0].return_address - stubs_at;
    ASSERT_LE(behind, stubs.code.size());
    ASSERT_GE(behind, 5u);
    EXPECT_EQ(stubs.code[behind - 5], '\xe8');
    int32_t distance = 0;
    memcpy(&distance, stubs.code.data() + behind - 4, sizeof distance);
    EXPECT_EQ(stubs_at + behind + static_cast<uint64_t>(static_cast<int64_t>(distance)), 0x610000u);
    EXPECT_EQ(pushes(stubs.code, 10), 1u);
    // The jump leads to the first of the two.
    EXPECT_LT(target_of_jump(stubs.patches[0].bytes, bias + 0x1000), stubs_at + behind);
}

} // namespace
} // namespace djstap::injection
