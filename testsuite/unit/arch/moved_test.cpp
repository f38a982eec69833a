// SPDX-License-Identifier: GPL-2.0-or-later
// Instructions that run elsewhere, as objdump reads them there.
#include "arch/arch.h"
#include "arch/injection.h"
#include "machine_code.h"

#include <cctype>

namespace djstap::arch {
namespace {

using test::bytes;

constexpr uint64_t from = 0x10000000, to = 0x30000000;

// Without the distance of an operand that is relative to the instruction: the address follows in a
// comment.
std::string without_distance(const std::string& text) {
    const size_t end = text.find("(%rip)");
    if (end == std::string::npos)
        return text;
    size_t begin = end;
    while (begin > 0 && (isxdigit(static_cast<unsigned char>(text[begin - 1])) ||
                         text[begin - 1] == 'x' || text[begin - 1] == '-'))
        begin--;
    return text.substr(0, begin) + text.substr(end);
}

class Moved : public testing::Test {
  protected:
    Result<std::string> moved(const std::string& code, uint64_t from, uint64_t to) {
        return moved_instruction(code, decoder_->decode(code, from), from, to);
    }
    // Returns the instructions at `to`, one in a line.
    std::string lines(const std::string& code, uint64_t from, uint64_t to) {
        const auto text = moved(code, from, to);
        if (!text)
            return "? " + text.failure().message;
        std::string shown;
        for (const auto& [address, line] : test::listing(*text, to))
            shown += (shown.empty() ? "" : "\n") + line.text;
        return shown;
    }
    const std::unique_ptr<InstructionDecoder> decoder_ = InstructionDecoder::create();
};

// Operations with a ModRM byte, and others whose immediates look like one.
std::vector<std::string> relative_or_not() {
    std::vector<std::string> all;
    const std::string rest("\x10\x20\x30\x01\x11\x21\x31\x02", 8);
    const auto add = [&](std::string code) { all.push_back(std::move(code) + rest); };
    for (const std::string& prefix : {bytes(""), bytes("\x48"), bytes("\x66"), bytes("\xf3")})
        for (std::string& each : test::all_opcodes(prefix, {0x05}))
            add(std::move(each));
    // The longer maps; VEX and EVEX in each map, with each prefix that they contain.
    for (unsigned code = 0; code < 256; code++) {
        const std::string own = {static_cast<char>(code), '\x05'};
        for (const char* const map : {"\x0f\x38", "\x0f\x3a", "\x66\x0f\x38", "\x66\x0f\x3a"})
            add(map + own);
        for (unsigned prefix = 0; prefix < 4; prefix++) {
            add({'\xc5', static_cast<char>(0xf8 | prefix)});
            all.back().insert(2, own);
            for (unsigned map = 1; map < 4; map++) {
                add({'\xc4', static_cast<char>(0xe0 | map), static_cast<char>(0x78 | prefix)});
                all.back().insert(3, own);
                add({'\x62', static_cast<char>(0xf0 | map), static_cast<char>(0x7c | prefix),
                     '\x48'});
                all.back().insert(4, own);
            }
        }
    }
    for (std::string& each : all)
        each.resize(std::min(each.size(), test::slot - 1));
    return all;
}

TEST_F(Moved, EveryInstructionNamesTheSamePlace) {
    const std::string code = test::in_slots(relative_or_not());
    const auto before = test::listing(code, from);
    std::string copies;
    std::vector<uint64_t> places;
    for (size_t at = 0; at < code.size(); at += test::slot) {
        const std::string_view own = std::string_view(code).substr(at, test::slot);
        const Instruction decoded = decoder_->decode(own, from + at);
        const test::Listed* line = test::read_by_both(before, from + at, own, decoded.length);
        if (!line || decoded.flow != Flow::Next || decoded.fixed != Fixed::No)
            continue;
        const auto copy = moved_instruction(own.substr(0, decoded.length), decoded, from + at,
                                            to + copies.size());
        ASSERT_TRUE(copy) << line->text;
        places.push_back(from + at);
        copies += test::in_slots({*copy});
    }
    const auto behind = test::listing(copies, to);
    size_t relative = 0;
    for (size_t i = 0; i < places.size(); i++) {
        const auto line = behind.find(to + i * test::slot);
        ASSERT_NE(line, behind.end());
        const test::Listed& original = before.at(places[i]);
        EXPECT_EQ(without_distance(line->second.text), without_distance(original.text));
        EXPECT_EQ(line->second.length, original.length) << original.text;
        relative += original.text.find("(%rip)") != std::string::npos;
    }
    EXPECT_GT(places.size(), 11400U); // an older objdump may know a few less than 11,500
    EXPECT_GT(relative, 7300U);
}

TEST_F(Moved, JumpsAndCallsLeadToTheSamePlace) {
    EXPECT_EQ(lines(bytes("\x74\x10"), from, to), "je     0x10000012");
    EXPECT_EQ(lines(bytes("\x7f\xf0"), from, to), "jg     0xffffff2");
    EXPECT_EQ(lines(bytes("\x0f\x85\x10\0\0\0"), from, to), "jne    0x10000016");
    EXPECT_EQ(lines(bytes("\xeb\x10"), from, to), "jmp    0x10000012");
    EXPECT_EQ(lines(bytes("\xe9\x10\0\0\0"), from, to), "jmp    0x10000015");
    // What a call pushes is where it was.
    EXPECT_EQ(lines(bytes("\xe8\x10\0\0\0"), from, to), "push   $0x10000005\njmp    0x10000015");
    constexpr uint64_t high = 0x7fff12345678;
    EXPECT_EQ(lines(bytes("\xe8\x10\0\0\0"), high, high + 0x1000),
              "push   $0x1234567d\nmovl   $0x7fff,0x4(%rsp)\njmp    0x7fff1234568d");
    constexpr uint64_t sign = 0x7fff92345678; // push extends it
    EXPECT_EQ(lines(bytes("\xe8\x10\0\0\0"), sign, sign + 0x1000),
              "push   $0xffffffff9234567d\nmovl   $0x7fff,0x4(%rsp)\njmp    0x7fff9234568d");
}

TEST_F(Moved, IndirectCallsBecomeJumpsThroughTheSamePlace) {
    const std::string back = "push   $0x1000000", jump = "\njmp    ";
    EXPECT_EQ(lines(bytes("\xff\xd0"), from, to), back + "2" + jump + "*%rax");
    EXPECT_EQ(lines(bytes("\x41\xff\xd3"), from, to), back + "3" + jump + "*%r11");
    EXPECT_EQ(lines(bytes("\xff\x53\x08"), from, to), back + "3" + jump + "*0x8(%rbx)");
    EXPECT_EQ(lines(bytes("\xff\x14\xc8"), from, to), back + "3" + jump + "*(%rax,%rcx,8)");
    EXPECT_EQ(lines(bytes("\xff\x15\x10\0\0\0"), from, to),
              back + "6" + jump + "*-0x1ffffff5(%rip)        # 0x10000016");
    // By way of the stack pointer, which the push moves; r12 and r13 have its numbers with a
    // prefix.
    for (const std::string& code : {bytes("\xff\xd4"), bytes("\xff\x54\x24\x08"),
                                    bytes("\xff\x14\x24"), bytes("\xff\x94\xcc\0\x01\0\0")})
        EXPECT_EQ(lines(code, from, to), "? it calls what is on the stack");
    EXPECT_EQ(lines(bytes("\xff\x54\xc8\x08"), from, to), back + "4" + jump + "*0x8(%rax,%rcx,8)");
    EXPECT_EQ(lines(bytes("\xff\xd1"), from, to), back + "2" + jump + "*%rcx");
    EXPECT_EQ(lines(bytes("\x41\xff\xd4"), from, to), back + "3" + jump + "*%r12");
    EXPECT_EQ(lines(bytes("\x41\xff\x54\x24\x08"), from, to), back + "5" + jump + "*0x8(%r12)");
    EXPECT_EQ(lines(bytes("\x42\xff\x54\xe0\x08"), from, to),
              back + "5" + jump + "*0x8(%rax,%r12,8)");
}

TEST_F(Moved, WhatIsTooFarIsRefused) {
    constexpr uint64_t limit = uint64_t{1} << 31;
    const std::string read = bytes("\x48\x8b\x05\x10\0\0\0"), branch = bytes("\x74\x10"),
                      call = bytes("\xe8\x10\0\0\0");
    constexpr uint64_t base = 0x100000000;
    // At the end of the moved instruction, the target may be INT32_MIN to INT32_MAX away.
    const auto check = [&](const std::string& code, size_t moved_bytes, uint64_t target) {
        EXPECT_TRUE(moved(code, base, target - moved_bytes + limit));
        EXPECT_FALSE(moved(code, base, target - moved_bytes + limit + 1));
        EXPECT_TRUE(moved(code, base, target - moved_bytes - (limit - 1)));
        EXPECT_FALSE(moved(code, base, target - moved_bytes - limit));
    };
    check(read, 7, base + 7 + 16);
    check(branch, 6, base + 2 + 16);
    check(call, 5 + 8 + 5, base + 5 + 16);
    EXPECT_FALSE(moved(bytes("\x67\x8b\x05\x10\0\0\0"), from, to)); // relative, of 32 bits
    EXPECT_TRUE(moved(bytes("\x67\x8b\x03"), from, to));
    EXPECT_EQ(jump_reach(), limit);
}

TEST(PlantedJump, LeadsToItsTarget) {
    const auto decoder = InstructionDecoder::create();
    for (const int64_t distance :
         {int64_t{INT32_MIN}, int64_t{-1}, int64_t{0}, int64_t{4096}, int64_t{INT32_MAX}}) {
        const uint64_t target = from + 5 + static_cast<uint64_t>(distance);
        const std::string jump = planted_jump(from, target);
        ASSERT_EQ(jump.size(), planted_jump_bytes());
        const Instruction decoded = decoder->decode(jump, from);
        EXPECT_EQ(decoded.flow, Flow::Jump);
        EXPECT_EQ(decoded.target, target);
    }
    EXPECT_EQ(planted_jump(from, from + 5 + (uint64_t{1} << 31)), "");
    EXPECT_EQ(planted_jump(from, from + 5 - (uint64_t{1} << 31) - 1), "");
}

TEST(Visits, AreInTheWayOfJumpsWithinTheirCode) {
    constexpr uint64_t entry = 0x401000;
    const uint64_t end = entry + visit_code().size();
    EXPECT_TRUE(is_in_way_of_visits(entry, entry));
    EXPECT_TRUE(is_in_way_of_visits(end - 1, entry));
    EXPECT_FALSE(is_in_way_of_visits(end, entry));
    EXPECT_TRUE(is_in_way_of_visits(entry - planted_jump_bytes() + 1, entry));
    EXPECT_FALSE(is_in_way_of_visits(entry - planted_jump_bytes(), entry));
    EXPECT_FALSE(is_in_way_of_visits(4, 0));                  // no entry is known
    EXPECT_TRUE(visit_code().ends_with(bytes("\xc2\x88\0"))); // ret $136
}

} // namespace
} // namespace djstap::arch
