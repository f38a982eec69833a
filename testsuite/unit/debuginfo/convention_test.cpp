// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels.h"

#include "arch/arch.h"
#include "arch/x86_64/registers.h"
#include "debuginfo/location.h"

#include <dwarf.h>
#include <gtest/gtest.h>

using namespace djstap;
using arch::argument_locations;
using arch::ArgumentShape;

namespace {

std::string places(const std::vector<ArgumentShape>& shapes,
                   const ArgumentShape& result = {8, false, false, true}) {
    std::string shown;
    for (const Location& location : argument_locations(shapes, result))
        shown += (shown.empty() ? "" : " ") + shown_location(location);
    return shown;
}

constexpr ArgumentShape integer{8, false, false, true};
constexpr ArgumentShape pair{16, true, false, true};
constexpr ArgumentShape large{24, true, false, true};

std::string expression(std::initializer_list<Dwarf_Op> operations, bool at_entry = false) {
    LocationContext context;
    context.at_entry = at_entry;
    context.frame_base = [] { return FrameBase{arch::stack_pointer(), 32, std::nullopt}; };
    return shown_location(
        location_of_expression(std::data(operations), operations.size(), context, nullptr));
}

} // namespace

TEST(CallingConvention, Arguments) {
    EXPECT_EQ(places({}), "");
    EXPECT_EQ(places({integer, integer, integer, integer, integer, integer, integer, integer}),
              "rdi rsi rdx rcx r8 r9 [rsp+8] [rsp+16]");
    EXPECT_EQ(places({pair, integer}), "{8:rdi 8:rsi} rdx");
    EXPECT_EQ(places({{12, true, false, true}, integer}), "{8:rdi 4:rsi} rdx");
    EXPECT_EQ(places({large, integer, large, integer}), "[rsp+8] rdi [rsp+32] rsi");
    EXPECT_EQ(places({integer, integer, integer, integer, integer, pair, integer}),
              "rdi rsi rdx rcx r8 [rsp+8] r9");
    EXPECT_EQ(places({integer, {0, true, false, false}, integer}), "rdi ? ?");
    EXPECT_EQ(places({integer, integer}, large), "rsi rdx"); // rdi points to the result
    EXPECT_EQ(places({integer}, pair), "rdi");
}

// What has a constructor is passed by its address, and what is in vector registers takes no other.
TEST(CallingConvention, OtherArguments) {
    constexpr ArgumentShape object{8, true, false, true, true};
    constexpr ArgumentShape number{8, false, true, true};
    constexpr ArgumentShape empty{0, true, false, true};
    EXPECT_EQ(places({object, integer}), "[rdi+0] rsi");
    EXPECT_EQ(places({integer, integer, integer, integer, integer, integer, object, integer}),
              "rdi rsi rdx rcx r8 r9 ? [rsp+16]");
    EXPECT_EQ(places({number, integer}), "? rdi");
    EXPECT_EQ(places({empty, integer}), "? rdi");
    EXPECT_EQ(places({{16, false, false, true}, integer}), "{8:rdi 8:rsi} rdx"); // __int128
    EXPECT_EQ(places({{17, true, false, true}, integer}), "[rsp+8] rdi");
    EXPECT_EQ(places({integer,
                      integer,
                      integer,
                      integer,
                      integer,
                      integer,
                      {17, true, false, true},
                      integer}),
              "rdi rsi rdx rcx r8 r9 [rsp+8] [rsp+32]");
    // An object of 17 bytes is returned in memory, one of 16 is not, and neither is a number.
    EXPECT_EQ(places({integer}, {17, true, false, true}), "rsi");
    EXPECT_EQ(places({integer}, {16, true, false, true}), "rdi");
    EXPECT_EQ(places({integer}, {32, false, false, true}), "rdi");
    EXPECT_EQ(places({integer}, object), "rsi");
    const std::vector<Location> all = argument_locations({{12, true, false, true}}, integer);
    EXPECT_EQ(all[0].pieces[0].offset, 0U);
    EXPECT_EQ(all[0].pieces[1].offset, 8U);
}

// The ninth floating-point number is on the stack, and one of the x87 unit always is: it is not
// known how much of the stack they take. __int128 is at a multiple of 16 bytes (psABI, 3.2.3).
TEST(CallingConvention, ArgumentsBehindOthersOnTheStack) {
    constexpr ArgumentShape number{8, false, true, true}, x87{16, false, true, true},
        wide{16, false, false, true};
    const auto behind = [](std::vector<ArgumentShape> others) {
        std::vector<ArgumentShape> all(6, integer);
        all.insert(all.end(), others.begin(), others.end());
        const std::string shown = places(all), registers = "rdi rsi rdx rcx r8 r9 ";
        EXPECT_TRUE(shown.starts_with(registers)) << shown;
        return shown.substr(std::min(shown.size(), registers.size()));
    };
    EXPECT_EQ(behind({number, integer}), "? [rsp+8]");
    std::vector<ArgumentShape> numbers(8, number);
    numbers.push_back(integer);
    EXPECT_EQ(behind(numbers), "? ? ? ? ? ? ? ? [rsp+8]");
    numbers.insert(numbers.begin(), number);
    EXPECT_EQ(behind(numbers), "? ? ? ? ? ? ? ? ? ?");
    EXPECT_EQ(behind({integer, x87, integer}), "[rsp+8] ? ?");
    EXPECT_EQ(places({x87, integer, pair}), "? rdi {8:rsi 8:rdx}"); // registers go on
    EXPECT_EQ(behind({wide, integer}), "[rsp+8] [rsp+24]");
    EXPECT_EQ(behind({integer, wide, integer}), "[rsp+8] [rsp+24] [rsp+40]");
    EXPECT_EQ(behind({integer, pair, integer}), "[rsp+8] [rsp+16] [rsp+32]");
}

TEST(Location, Expressions) {
    EXPECT_EQ(expression({}), "?");
    EXPECT_EQ(expression({{DW_OP_reg5, 0, 0, 0}}), "rdi");
    EXPECT_EQ(expression({{DW_OP_breg7, 16, 0, 0}}), "[rsp+16]");
    EXPECT_EQ(expression({{DW_OP_breg5, 8, 0, 0}, {DW_OP_stack_value, 0, 0, 2}}), "rdi+8");
    EXPECT_EQ(expression({{DW_OP_fbreg, Dwarf_Word(-24), 0, 0}}), "[rsp+8]");
    EXPECT_EQ(expression({{DW_OP_addr, 4096, 0, 0}}), "@4096");
    EXPECT_EQ(expression({{DW_OP_lit7, 0, 0, 0}, {DW_OP_stack_value, 0, 0, 1}}), "7");
    EXPECT_EQ(expression({{DW_OP_breg0, 0, 0, 0}, {DW_OP_lit3, 0, 0, 2}, {DW_OP_plus, 0, 0, 3}}),
              "[rax+3]");
    EXPECT_EQ(expression({{DW_OP_reg5, 0, 0, 0}, {DW_OP_piece, 8, 0, 1}, {DW_OP_reg4, 0, 0, 3}}),
              "?");
    EXPECT_EQ(expression({{DW_OP_breg0, 0, 0, 0}, {DW_OP_deref, 0, 0, 2}}), "[(rax 8@)]");
    EXPECT_EQ(expression({{DW_OP_plus, 0, 0, 0}}), "?");
    EXPECT_EQ(expression({{DW_OP_reg17, 0, 0, 0}}), "?"); // xmm0
    EXPECT_EQ(expression({{DW_OP_reg5, 0, 0, 0}, {DW_OP_plus_uconst, 8, 0, 0}}), "?");
}
