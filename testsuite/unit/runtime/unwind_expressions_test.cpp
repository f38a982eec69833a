// SPDX-License-Identifier: GPL-2.0-or-later
// Expressions of DWARF in call frame information.
#include "made_up_frames.h"

#include <gtest/gtest.h>
#include <string>

namespace {

using djstap::test::append;
using djstap::test::code_at;
using djstap::test::frame_at;
using djstap::test::MadeUp;

TEST(Unwind, TheExpressionOfProcedureLinkageTables) {
    // rsp + 8 + ((rip & 15) >= 11) * 8
    MadeUp file(std::string("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 13));
    ASSERT_EQ(file.find(code_at + 0x20), DJS_UNWIND_OK);
    djs_unwind_short_row short_row;
    EXPECT_FALSE(djs_unwind_shorten(&short_row, &file.row));
    auto frame = frame_at(code_at + 0x20, 0x8000);
    EXPECT_EQ(file.step(frame), DJS_UNWIND_OK);
    EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8008U);
    EXPECT_EQ(frame.values[DJS_DWARF_RETURN], 0x8001U);
    frame = frame_at(code_at + 0x2b, 0x8000);
    EXPECT_EQ(file.step(frame), DJS_UNWIND_OK);
    EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8010U);
}

// DWARF 5, section 2.5: what an expression leaves on its stack.
TEST(Unwind, ExpressionsAreEvaluatedAsDwarfDefines) {
    using namespace std::string_literals;
    const struct {
        std::string operations;
        u64 value;
    } expressions[] = {
        {"\x30"s, 0},                                    // lit0
        {"\x4f"s, 31},                                   // lit31
        {"\x08\xfe"s, 254},                              // const1u
        {"\x09\xfe"s, u64{0} - 2},                       // const1s
        {"\x0a\x01\xff"s, 0xff01},                       // const2u
        {"\x0b\x01\xff"s, u64{0} - 0xff},                // const2s
        {"\x0c\x01\0\0\x80"s, 0x80000001},               // const4u
        {"\x0d\x01\0\0\x80"s, u64{0} - 0x7fffffff},      // const4s
        {"\x0e\1\2\3\4\5\6\7\x88"s, 0x8807060504030201}, // const8u
        {"\x0f\1\2\3\4\5\6\7\x88"s, 0x8807060504030201}, // const8s
        {"\x10\xff\x01"s, 255},                          // constu
        {"\x11\xff\x7e"s, u64{0} - 129},                 // consts
        {"\x35\x33\x12\x22"s, 6},                        // dup: 3 + 3
        {"\x35\x33\x13"s, 5},                            // drop
        {"\x35\x33\x14\x1c"s, u64{0} - 2},               // over: 3 - 5
        {"\x35\x33\x31\x15\2\x1c"s, u64{0} - 4},         // pick: 1 - 5
        {"\x35\x33\x16\x1c"s, u64{0} - 2},               // swap: 3 - 5
        {"\x3c\x3a\x1a"s, 8},                            // and
        {"\x3c\x3a\x1c"s, 2},                            // minus
        {"\x3c\x3a\x1e"s, 120},                          // mul
        {"\x35\x1f"s, u64{0} - 5},                       // neg
        {"\x35\x20"s, ~u64{5}},                          // not
        {"\x3c\x3a\x21"s, 14},                           // or
        {"\x3c\x3a\x22"s, 22},                           // plus
        {"\x35\x23\x80\1"s, 133},                        // plus_uconst
        {"\x33\x08\x3f\x24"s, u64{1} << 63},             // shl
        {"\x33\x08\x40\x24"s, 0},                        // by more than there are
        {"\x09\x80\x34\x25"s, 0x0ffffffffffffff8},       // shr
        {"\x09\x80\x08\x3f\x25"s, 1},                    //
        {"\x09\x80\x08\x40\x25"s, 0},                    //
        {"\x09\x80\x34\x26"s, u64{0} - 8},               // shra
        {"\x09\x80\x08\x40\x26"s, u64{0} - 1},           //
        {"\x3c\x3a\x27"s, 6},                            // xor
        {"\x09\xff\x31\x2d"s, 1},                        // lt: -1 < 1
        {"\x31\x31\x2d"s, 0},                            //
        {"\x31\x31\x2c"s, 1},                            // le
        {"\x31\x09\xff\x2c"s, 0},                        //
        {"\x31\x09\xff\x2b"s, 1},                        // gt
        {"\x31\x31\x2b"s, 0},                            //
        {"\x31\x31\x2a"s, 1},                            // ge
        {"\x09\xff\x31\x2a"s, 0},                        //
        {"\x31\x31\x29"s, 1},                            // eq
        {"\x31\x32\x29"s, 0},                            //
        {"\x31\x32\x2e"s, 1},                            // ne
        {"\x31\x31\x2e"s, 0},                            //
        {"\x2f\2\0\x35\x96\x34"s, 4},                    // skip: lit5 is not executed
        {"\x35\x31\x28\1\0\x20"s, 5},                    // bra, taken
        {"\x35\x30\x28\1\0\x20"s, ~u64{5}},              // not taken
        // 5 times around: back to the addition as long as the counter is not 0
        {"\x30\x35\x16\x33\x22\x16\x31\x1c\x12\x28\xf6\xff\x13"s, 15},
        {"\x77\x78"s, 0x7ff8},     // breg7 -8
        {"\x92\x07\x08"s, 0x8008}, // bregx 7, 8
        {"\x77\x08\x06"s, 0x8009}, // deref
    };
    for (const auto& [operations, value] : expressions) {
        // The difference from the value, times 8, is added to the stack's register + 8.
        std::string whole = operations + "\x0e";
        append(whole, value, sizeof value);
        whole += "\x27\x33\x24\x77\x08\x22";
        MadeUp file("\x0f" + std::string(1, static_cast<char>(whole.size())) + whole);
        ASSERT_EQ(file.find(code_at), DJS_UNWIND_OK);
        auto frame = frame_at(code_at, 0x8000);
        EXPECT_EQ(file.step(frame), DJS_UNWIND_OK) << testing::PrintToString(operations);
        EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8008U) << testing::PrintToString(operations);
    }
}

} // namespace
