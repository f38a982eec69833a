// SPDX-License-Identifier: GPL-2.0-or-later
// The forms in which rules of unwinding are kept, and steps by them.
#include "made_up_entries.h"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::string_literals;
using namespace djstap::test;

TEST(UnwindRows, ShortRowsHaveWhatFunctionsSave) {
    for (u32 i = 0; i < DJS_DWARF_SAVED_COUNT; i++) {
        const auto reg = static_cast<char>(0x80 + preserved_registers[i]);
        const Entries made = function_of(reg + std::string(1, static_cast<char>(2 + i)));
        djs_unwind_short_row row{};
        ASSERT_TRUE(djs_unwind_shorten(&row, &made.row));
        EXPECT_EQ(row.base, DJS_DWARF_STACK);
        EXPECT_EQ(row.offset, 8);
        EXPECT_FALSE(row.is_last);
        EXPECT_EQ(row.is_saved, 1U << i);
        EXPECT_EQ(row.saved[i], -2 - static_cast<int>(i));
        auto frame = frame_at(code_at, 0x8000);
        EXPECT_EQ(djs_unwind_step_short(&frame, &row, Entries::read, nullptr), DJS_UNWIND_OK);
        EXPECT_EQ(frame.saved_at[preserved_registers[i]], 0x8008 - 8 * (2 + i));
        EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8008U);
        EXPECT_EQ(frame.values[DJS_DWARF_RETURN], 0x8001U);
    }
}

TEST(UnwindRows, RowsWithoutAShortForm) {
    const auto is_short = [](const std::string& instructions, const std::string& letters = "zR") {
        Common common;
        common.letters = letters;
        const Entries made = function_of(instructions, common);
        djs_unwind_short_row row{};
        return djs_unwind_shorten(&row, &made.row);
    };
    EXPECT_TRUE(is_short(""));
    EXPECT_TRUE(is_short("\x07\x03"));  // nobody needs it
    EXPECT_FALSE(is_short("", "zRS"));  // a signal's frame
    EXPECT_FALSE(is_short("\x90\x02")); // the return address is elsewhere
    EXPECT_FALSE(is_short("\x14\x10\x01"));
    EXPECT_FALSE(is_short("\x87\x03")); // the stack's register is saved
    EXPECT_FALSE(is_short("\x09\x03\x0c"));
    EXPECT_FALSE(is_short("\x83\0"s)); // at the frame's address itself
    // Eights of bytes from there, as far as a row can say: data are by -8.
    EXPECT_TRUE(is_short("\x05\x03\x80\x80\x02"));  // 0x8000
    EXPECT_FALSE(is_short("\x05\x03\x81\x80\x02")); // 0x8001
    Entries made = function_of("\x83\x02");
    djs_unwind_short_row row{};
    made.row.rules[3].n = -17;
    EXPECT_FALSE(djs_unwind_shorten(&row, &made.row));
}

// Whatever is known of others, a short row has the registers that functions preserve, alone.
TEST(UnwindRows, ShortRowsHaveNoOtherRegisters) {
    const Entries made = function_of("\x83\x02");
    struct {
        djs_unwind_row row;
        djs_unwind_rule behind[256];
    } all;
    std::memset(static_cast<void*>(&all), 0xff, sizeof all);
    all.row = made.row;
    const auto is_preserved = [](u32 reg) {
        for (const u32 each : preserved_registers)
            if (each == reg)
                return true;
        return false;
    };
    for (u32 reg = 0; reg < DJS_DWARF_REGISTERS; reg++)
        if (reg != DJS_DWARF_STACK && reg != DJS_DWARF_RETURN && !is_preserved(reg))
            all.row.rules[reg].how = DJS_UNWIND_VALUE;
    djs_unwind_short_row row{};
    ASSERT_TRUE(djs_unwind_shorten(&row, &all.row));
    EXPECT_EQ(row.is_saved, 1U); // rbx, at its place
    EXPECT_EQ(row.saved[0], -2);
}

const std::string address_in_memory = "\x0f\x03\x76\x78\x06"; // of the address 8 below rbp

TEST(UnwindRows, FlatRowsHaveWhatFunctionsSave) {
    const auto is_flat = [](const std::string& instructions) {
        const Entries made = function_of(instructions);
        djs_unwind_flat_row row{};
        return djs_unwind_flatten(&row, &made.image, &made.row);
    };
    EXPECT_TRUE(is_flat("\x0f\x03\x70\x78\x06"));                  // rax
    EXPECT_TRUE(is_flat("\x0f\x03\x80\x78\x06"));                  // the last one
    EXPECT_FALSE(is_flat("\x0f\x03\x81\x78\x06"));                 // behind that
    EXPECT_FALSE(is_flat("\x0f\x07\x76\x80\x80\x80\x80\x08\x06")); // 2 GB away
    EXPECT_FALSE(is_flat("\x0f\x03\x76\x78\x12"));                 // something else
    EXPECT_TRUE(is_flat(address_in_memory + "\x05\x03\x80\x20"));  // -0x8000
    EXPECT_FALSE(is_flat(address_in_memory + "\x05\x03\x81\x20")); // further away
    // rax and the last register, near the frame's address and near rbp.
    const Entries made = function_of(address_in_memory + "\x80\x02" + "\x10\x03\x02\x76\x70" +
                                     "\x10\x10\x02\x76\x68");
    djs_unwind_flat_row row{};
    ASSERT_TRUE(djs_unwind_flatten(&row, &made.image, &made.row));
    EXPECT_EQ(row.base, 6);
    EXPECT_EQ(row.address_at, -8);
    EXPECT_FALSE(row.is_signal);
    EXPECT_EQ(row.saved_by_frame, 1U);
    EXPECT_EQ(row.saved_by_base, 1U << 3 | 1U << 16);
    auto frame = frame_at(code_at, 0x6000);
    frame.values[6] = 0x7000;
    EXPECT_EQ(djs_unwind_step_flat(&frame, &row, Entries::read, nullptr), DJS_UNWIND_OK);
    EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x6ff9U); // what is in memory at 0x6ff8
    EXPECT_EQ(frame.saved_at[0], 0x6ff9U - 16);
    EXPECT_EQ(frame.saved_at[3], 0x7000U - 16);
    EXPECT_EQ(frame.values[DJS_DWARF_RETURN], 0x7000U - 24 + 1);
    // The register or the memory cannot be read.
    frame = frame_at(code_at, 0x6000);
    frame.saved_at[6] = 0x7001;
    EXPECT_EQ(djs_unwind_step_flat(&frame, &row, Entries::read, nullptr), DJS_UNWIND_UNREADABLE);
    frame = frame_at(code_at, 0x6000);
    frame.values[6] = 0x7001;
    EXPECT_EQ(djs_unwind_step_flat(&frame, &row, Entries::read, nullptr), DJS_UNWIND_UNREADABLE);
}

// Rows are made of what was checked, and are not trusted nevertheless.
TEST(UnwindRows, ExpressionsAreWithinTheFrames) {
    Entries made = function_of("");
    made.frames = "\x02\x77\x08"; // rsp + 8
    made.image.frames = reinterpret_cast<const u8*>(made.frames.data());
    made.image.frames_bytes = 3;
    made.row.base = DJS_UNWIND_NO_REGISTER;
    djs_unwind_flat_row flat{};
    const auto result = [&](s32 offset) {
        made.row.offset = offset;
        auto frame = frame_at(code_at, 0x8000);
        EXPECT_FALSE(djs_unwind_flatten(&flat, &made.image, &made.row));
        return made.step(frame);
    };
    EXPECT_EQ(result(0), DJS_UNWIND_OK);
    EXPECT_EQ(result(3), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result(std::numeric_limits<s32>::max()), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result(std::numeric_limits<s32>::min()), DJS_UNWIND_DAMAGED);
    made.image.frames_bytes = 2;
    EXPECT_EQ(result(0), DJS_UNWIND_DAMAGED);
}

TEST(UnwindRows, ExpressionsHaveLimits) {
    const auto result = [](const std::string& expression, u64 stack = 0x8000) {
        Entries made =
            function_of("\x0f" + std::string(1, static_cast<char>(expression.size())) + expression);
        auto frame = frame_at(code_at, stack);
        return made.step(frame);
    };
    const std::string address = "\x77\x08";
    EXPECT_EQ(result(address + std::string(DJS_UNWIND_STEPS - 1, '\x96')), DJS_UNWIND_OK);
    EXPECT_EQ(result(address + std::string(DJS_UNWIND_STEPS, '\x96')), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result(std::string(DJS_UNWIND_VALUES - 1, '\x30') + address), DJS_UNWIND_OK);
    EXPECT_EQ(result(std::string(DJS_UNWIND_VALUES, '\x30') + address), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result(address + "\x2f\1\0\x20"s), DJS_UNWIND_OK); // a jump to the end
    EXPECT_EQ(result(address + "\x2f\2\0\x20"s), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result("\x2f\xfc\xff" + address), DJS_UNWIND_DAMAGED); // before the begin
    EXPECT_EQ(result(address + "\x15\1"), DJS_UNWIND_DAMAGED);       // only one value is there
    EXPECT_EQ(result(address + "\x14"), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result("\x50", 0x10), DJS_UNWIND_DAMAGED);  // no operation of addresses
    EXPECT_EQ(result("\x81\x08", 0), DJS_UNWIND_DAMAGED); // no such register
    EXPECT_EQ(result("\x92\x11\x08", 0), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result(address + "\x94\x09"), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result(address + "\x94\0"s), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result("\x77\x01\x06"), DJS_UNWIND_UNREADABLE);
    // Of a word, as many bytes as it says: the address is above the stack either way.
    EXPECT_EQ(result("\x77\x08\x94\x08", 0x8000), DJS_UNWIND_UNREADABLE);         // 0x8009
    EXPECT_EQ(result("\x77\x08\x94\x01\x0a\xf7\x7f\x22", 0x7100), DJS_UNWIND_OK); // 9 + 0x7ff7
}

// A register that a function has saved where nothing can be read.
TEST(UnwindRows, RegistersMayBeUnreadable) {
    const auto result = [](const std::string& instructions) {
        Entries made = function_of(instructions);
        auto frame = frame_at(code_at, 0x8000);
        frame.values[6] = 0x8000;
        frame.saved_at[6] = 0x9001;
        return made.step(frame);
    };
    EXPECT_EQ(result(""), DJS_UNWIND_OK);
    EXPECT_EQ(result("\x0c\x06\x10"), DJS_UNWIND_UNREADABLE);
    EXPECT_EQ(result("\x0f\x02\x76\x10"), DJS_UNWIND_UNREADABLE);
    EXPECT_EQ(result("\x10\x10\x02\x77\x01"), DJS_UNWIND_UNREADABLE); // the return address
    EXPECT_EQ(result("\x10\x10\x01\x30"), DJS_UNWIND_UNREADABLE);     // at 0
    EXPECT_EQ(result("\x10\x07\x02\x77\x01"), DJS_UNWIND_UNREADABLE); // the stack
}

TEST(UnwindRows, StepsSetEachRegister) {
    // rax is saved, rbx is the frame's address - 16, r12 is rbp, r13 an expression's value.
    Entries made = function_of("\x80\x02\x14\x03\x02\x09\x0c\x06\x16\x0d\x02\x77\x18");
    auto frame = frame_at(code_at, 0x8000);
    frame.values[6] = 66;
    frame.saved_at[3] = frame.saved_at[12] = frame.saved_at[13] = 1;
    ASSERT_EQ(made.step(frame), DJS_UNWIND_OK);
    EXPECT_EQ(frame.saved_at[0], 0x8008U - 16);
    EXPECT_EQ(frame.values[3], 0x8008U - 16);
    EXPECT_EQ(frame.values[12], 66U);
    EXPECT_EQ(frame.values[13], 0x8018U);
    EXPECT_EQ(frame.saved_at[3] | frame.saved_at[12] | frame.saved_at[13], 0U);
    EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8008U);
    EXPECT_FALSE(frame.is_interrupted);
    // An expression finds the frame's address on its stack, and may begin again: 8 times, until it
    // is 0.
    made = function_of("\x16\x03\x06\x31\x1c\x12\x28\xfa\xff");
    frame = frame_at(code_at, 0);
    frame.values[3] = 77;
    ASSERT_EQ(made.step(frame), DJS_UNWIND_OK);
    EXPECT_EQ(frame.values[3], 0U);
    // A register that is none; a return address that nothing tells.
    made = function_of("\x09\x03\x11");
    frame = frame_at(code_at, 0x8000);
    EXPECT_EQ(made.step(frame), DJS_UNWIND_DAMAGED);
    Common common;
    common.instructions = "\x0c\x07\x08";
    made = function_of("", common);
    EXPECT_EQ(made.step(frame), DJS_UNWIND_DAMAGED);
}

// Without a rule for the frame's address there is none, whatever an expression at the beginning of
// the section would yield: there the length of the first entry, 0x87702, is one of 2 bytes, rsp
// + 8.
TEST(UnwindRows, StepsNeedTheFramesAddress) {
    Common common;
    common.instructions = "\x90\x01\x10\x20"; // an expression for a register that is none
    Entries made;
    made.add_common(common);
    const size_t bytes = 0x87702 + 4 - made.frames.size() - 3;
    common.instructions += {static_cast<char>(bytes | 0x80), static_cast<char>(bytes >> 7 | 0x80),
                            static_cast<char>(bytes >> 14)};
    common.instructions.append(bytes, '\0');
    made = function_of("", common);
    ASSERT_EQ(made.frames.substr(0, 4), "\x02\x77\x08\0"s);
    EXPECT_EQ(made.row.base, DJS_UNWIND_NO_REGISTER);
    auto frame = frame_at(code_at, 0x8000);
    EXPECT_EQ(made.step(frame), DJS_UNWIND_DAMAGED);
    made.row.offset = 0; // that would be it
    EXPECT_EQ(made.step(frame), DJS_UNWIND_OK);
    EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8008U);
}

// The frame of a signal: what it interrupted may have had a stack below.
TEST(UnwindRows, SignalsMayHaveAStackOfTheirOwn) {
    Common common;
    common.letters = "zRS";
    Entries made = function_of("\x0e\0"s, common);
    auto frame = frame_at(code_at, 0x8000);
    EXPECT_EQ(made.step(frame), DJS_UNWIND_OK);
    EXPECT_TRUE(frame.is_interrupted);
    EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8000U);
    made = function_of("\x14\x07\x02", common); // it is 16 below the frame's address
    frame = frame_at(code_at, 0x8000);
    EXPECT_EQ(made.step(frame), DJS_UNWIND_OK);
    EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8008U - 16);
    EXPECT_EQ(frame.saved_at[DJS_DWARF_STACK], 0U);
    made = function_of("\x16\x07\x02\x77\x70", common);
    frame = frame_at(code_at, 0x8000);
    EXPECT_EQ(made.step(frame), DJS_UNWIND_OK);
    EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8000U - 16);
}

} // namespace
