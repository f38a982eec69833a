// SPDX-License-Identifier: GPL-2.0-or-later
// DWARF location expressions, as compilers write them.
#include "debuginfo/location.h"

#include "arch/arch.h"

#include "kernels.h"

#include <dwarf.h>
#include <gtest/gtest.h>

namespace djstap {
namespace {

using Operations = std::vector<Dwarf_Op>;

// Of x86-64: what DWARF calls registers 0, 1, 2, 3 and 5.
constexpr uint8_t rax = 0, rdx = 1, rcx = 2, rbx = 3, rdi = 5;

Dwarf_Op reg(uint8_t number) {
    return {static_cast<uint8_t>(DW_OP_reg0 + number), 0, 0, 0};
}
Dwarf_Op breg(uint8_t number, int64_t offset = 0) {
    return {static_cast<uint8_t>(DW_OP_breg0 + number), static_cast<Dwarf_Word>(offset), 0, 0};
}
Dwarf_Op op(uint8_t atom, uint64_t number = 0) {
    return {atom, number, 0, 0};
}

Location translate(const Operations& operations, bool with_frame = false) {
    LocationContext context;
    if (with_frame)
        context.frame_base = [] {
            return std::optional(FrameBase{*arch::register_of_dwarf(rbx), 16, std::nullopt});
        };
    return location_of_expression(operations.data(), operations.size(), context, nullptr);
}

std::string shown(const Operations& operations, bool with_frame = false) {
    const Location location = translate(operations, with_frame);
    return location.kind == LocationKind::None ? "? " + location.why : shown_location(location);
}

// What finds no room on the stack is not left out: the result would be another one.
TEST(Location, StackIsFull) {
    for (const Dwarf_Op& last : {breg(rdi), breg(rdi, 8), op(DW_OP_lit5)}) {
        Operations operations(48, op(DW_OP_lit7));
        operations.push_back(last);
        operations.insert(operations.end(), 47, op(DW_OP_drop));
        EXPECT_EQ(shown(operations), "? computed by an expression");
    }
}

// What stands behind the last operation is not read.
TEST(Location, EndsWithItsLastOperation) {
    for (const Dwarf_Op& behind :
         {op(DW_OP_bit_piece, 3), op(DW_OP_neg), op(DW_OP_piece, 4), reg(rdx)}) {
        const Operations operations{breg(rdi), behind};
        EXPECT_EQ(shown_location(location_of_expression(operations.data(), 1, {}, nullptr)),
                  "[rdi+0]");
    }
}

TEST(Location, Simple) {
    EXPECT_EQ(shown({}), "? optimized away here");
    EXPECT_EQ(shown({reg(rax)}), "rax");
    EXPECT_EQ(shown({op(DW_OP_regx, rdx)}), "rdx");
    EXPECT_EQ(shown({reg(17)}), "? in a register that a handler cannot access");
    EXPECT_EQ(shown({breg(rdi, -8)}), "[rdi+-8]");
    EXPECT_EQ(shown({breg(rdi)}), "[rdi+0]");
    EXPECT_EQ(shown({breg(rdi), op(DW_OP_stack_value)}), "rdi");
    EXPECT_EQ(shown({breg(rcx, -1), op(DW_OP_stack_value)}), "rcx+-1");
    EXPECT_EQ(shown({breg(rcx), op(DW_OP_plus_uconst, 4)}), "[rcx+4]");
    EXPECT_EQ(shown({breg(rcx), op(DW_OP_lit5), op(DW_OP_plus), op(DW_OP_stack_value)}), "rcx+5");
    EXPECT_EQ(shown({op(DW_OP_lit7), op(DW_OP_stack_value)}), "7");
    EXPECT_EQ(shown({op(DW_OP_const1s, static_cast<uint64_t>(-3)), op(DW_OP_stack_value)}),
              std::to_string(static_cast<uint64_t>(-3)));
    EXPECT_EQ(shown({op(DW_OP_addr, 4096)}), "@4096");
    EXPECT_EQ(shown({op(DW_OP_fbreg, static_cast<uint64_t>(-24))}, true), "[rbx+-8]");
    EXPECT_EQ(shown({op(DW_OP_call_frame_cfa)}, true), "[rbx+16]");
    EXPECT_EQ(shown({op(DW_OP_fbreg, 8)}), "? relative to a frame that is not known here");
}

TEST(Location, Computed) {
    // An int in memory plus a register: gcc's description of a loop's temporary.
    EXPECT_EQ(shown({breg(rdi), op(DW_OP_deref_size, 4), breg(rcx), op(DW_OP_plus),
                     op(DW_OP_stack_value)}),
              "(rdi 4@ rcx +)");
    EXPECT_EQ(shown({breg(rbx), op(DW_OP_neg), op(DW_OP_stack_value)}), "(rbx neg)");
    EXPECT_EQ(shown({breg(rax), op(DW_OP_const4u, 0xffffffff), op(DW_OP_and), op(DW_OP_lit3),
                     op(DW_OP_shl), op(DW_OP_stack_value)}),
              "(rax 4294967295 & 3 <<)");
    EXPECT_EQ(shown({breg(rax, 8), op(DW_OP_deref), op(DW_OP_plus_uconst, 16)}),
              "[(rax 8 + 8@ 16 +)]");
    EXPECT_EQ(shown({op(DW_OP_addr, 4096), op(DW_OP_stack_value)}), "(&4096)");
    EXPECT_EQ(shown({breg(rax), op(DW_OP_lit0), op(DW_OP_ne), op(DW_OP_stack_value)}),
              "(rax 0 !=)");
    EXPECT_EQ(shown({breg(rax), op(DW_OP_not), breg(rdx), op(DW_OP_xor), op(DW_OP_lit1),
                     op(DW_OP_shra), op(DW_OP_stack_value)}),
              "(rax ~ rdx ^ 1 >>s)");
    EXPECT_EQ(shown({breg(rax), breg(rdx), op(DW_OP_minus), op(DW_OP_stack_value)}), "(rax rdx -)");
}

TEST(Location, Stack) {
    EXPECT_EQ(shown({breg(rax), op(DW_OP_dup), op(DW_OP_mul), op(DW_OP_stack_value)}),
              "(rax rax *)");
    EXPECT_EQ(shown({breg(rax), breg(rdx), op(DW_OP_swap), op(DW_OP_minus), op(DW_OP_stack_value)}),
              "(rdx rax -)");
    EXPECT_EQ(shown({breg(rax), breg(rdx), op(DW_OP_over), op(DW_OP_plus), op(DW_OP_or),
                     op(DW_OP_stack_value)}),
              "(rax rdx rax + |)");
    EXPECT_EQ(shown({breg(rax), breg(rdx), op(DW_OP_drop), op(DW_OP_stack_value)}), "rax");
    EXPECT_EQ(shown({breg(rax), breg(rdx), breg(rcx), op(DW_OP_pick, 2), op(DW_OP_plus),
                     op(DW_OP_plus), op(DW_OP_plus), op(DW_OP_stack_value)}),
              "(rax rdx rcx rax + + +)");
    // rot moves the top below the next two.
    EXPECT_EQ(shown({breg(rax), breg(rdx), breg(rcx), op(DW_OP_rot), op(DW_OP_minus), op(DW_OP_shl),
                     op(DW_OP_stack_value)}),
              "(rcx rax rdx - <<)");
    for (const Operations& wrong :
         {Operations{op(DW_OP_plus)}, Operations{breg(rax), op(DW_OP_plus)},
          Operations{op(DW_OP_dup)}, Operations{breg(rax), op(DW_OP_swap)},
          Operations{breg(rax), breg(rdx), op(DW_OP_rot)}, Operations{breg(rax), breg(rdx)},
          Operations{op(DW_OP_neg)}, Operations{op(DW_OP_deref)},
          Operations{breg(rax), op(DW_OP_deref_size, 3)}, Operations{op(DW_OP_pick, ~uint64_t{0})},
          Operations{breg(rax), op(DW_OP_stack_value), op(DW_OP_neg)},
          Operations{breg(rax), op(DW_OP_div)}, Operations{op(DW_OP_push_object_address)}})
        EXPECT_EQ(shown(wrong), "? computed by an expression");
}

TEST(Location, Bounded) {
    Operations many{breg(rax)};
    for (int i = 0; i < 100; i++)
        many.push_back(op(DW_OP_neg));
    many.push_back(op(DW_OP_stack_value));
    EXPECT_EQ(shown(many), "? computed by an expression");
    Operations doubled{breg(rax)};
    for (int i = 0; i < 100; i++) {
        doubled.push_back(op(DW_OP_dup));
        doubled.push_back(op(DW_OP_plus));
    }
    EXPECT_EQ(shown(doubled), "? computed by an expression");
}

// The longest is 48 operations, and as many numbers are on the stack at most.
TEST(Location, LongestOnes) {
    const auto negated = [](size_t times, Operations operations = {breg(rax)}) {
        operations.insert(operations.end(), times, op(DW_OP_neg));
        return operations;
    };
    const auto with = [](Operations operations, const Operations& more) {
        operations.insert(operations.end(), more.begin(), more.end());
        return operations;
    };
    const std::string complex = "? computed by an expression";
    const Operations value{op(DW_OP_stack_value)};
    EXPECT_NE(shown(with(negated(47), value)), complex);
    EXPECT_EQ(shown(with(negated(48), value)), complex);
    const Operations sum{op(DW_OP_lit1), op(DW_OP_plus), op(DW_OP_stack_value)};
    EXPECT_NE(shown(with(negated(45), sum)), complex);
    EXPECT_EQ(shown(with(negated(46), sum)), complex);
    // What is not used may be longer by one.
    const Operations dropped{op(DW_OP_lit1), op(DW_OP_plus), op(DW_OP_drop), op(DW_OP_stack_value)};
    EXPECT_EQ(shown(with(negated(46, {op(DW_OP_lit7), breg(rax)}), dropped)), "7");
    EXPECT_EQ(shown(with(negated(47, {op(DW_OP_lit7), breg(rax)}), dropped)), complex);
    Operations full(48, op(DW_OP_lit7));
    full.insert(full.end(), 47, op(DW_OP_drop));
    EXPECT_EQ(shown(with(full, value)), "7");
    Operations copied(47, op(DW_OP_lit7));
    copied.push_back(op(DW_OP_dup));
    copied.insert(copied.end(), 47, op(DW_OP_drop));
    EXPECT_EQ(shown(with(copied, value)), "7");
    copied.insert(copied.begin(), op(DW_OP_lit7));
    copied.push_back(op(DW_OP_drop));
    EXPECT_EQ(shown(with(copied, value)), complex);
}

TEST(Location, EachOperationOfTwoNumbers) {
    const std::pair<uint8_t, const char*> words[] = {
        {DW_OP_plus, "+"},   {DW_OP_minus, "-"}, {DW_OP_mul, "*"},  {DW_OP_and, "&"},
        {DW_OP_or, "|"},     {DW_OP_xor, "^"},   {DW_OP_shl, "<<"}, {DW_OP_shr, ">>"},
        {DW_OP_shra, ">>s"}, {DW_OP_eq, "=="},   {DW_OP_ne, "!="},  {DW_OP_lt, "<"},
        {DW_OP_le, "<="},    {DW_OP_gt, ">"},    {DW_OP_ge, ">="}};
    for (const auto& [atom, word] : words)
        EXPECT_EQ(shown({breg(rax), breg(rdx), op(atom), op(DW_OP_stack_value)}),
                  std::string("(rax rdx ") + word + ")");
}

TEST(Location, EachWayToNameANumberOrARegister) {
    EXPECT_EQ(shown({op(DW_OP_lit0), op(DW_OP_stack_value)}), "0");
    EXPECT_EQ(shown({op(DW_OP_lit31), op(DW_OP_stack_value)}), "31");
    for (const uint8_t atom :
         {DW_OP_const1u, DW_OP_const2u, DW_OP_const4u, DW_OP_const8u, DW_OP_constu, DW_OP_const2s,
          DW_OP_const4s, DW_OP_const8s, DW_OP_consts})
        EXPECT_EQ(shown({op(atom, 77), op(DW_OP_nop), op(DW_OP_stack_value)}), "77");
    EXPECT_EQ(shown({reg(31)}), "? in a register that a handler cannot access");
    EXPECT_EQ(shown({breg(31, 8)}), "? in a register that a handler cannot access");
    EXPECT_EQ(shown({{DW_OP_bregx, rcx, 24, 0}}), "[rcx+24]");
    EXPECT_EQ(shown({{DW_OP_bregx, rcx, 0, 0}, op(DW_OP_stack_value)}), "rcx");
    EXPECT_EQ(shown({op(DW_OP_lit7)}), "@7"); // it is in memory, at a fixed address
    EXPECT_EQ(shown({breg(rax), op(DW_OP_lit4), op(DW_OP_minus)}), "[(rax 4 -)]");
    EXPECT_EQ(shown({op(DW_OP_lit4), breg(rax), op(DW_OP_plus)}), "[(4 rax +)]");
    EXPECT_EQ(shown({breg(rax), breg(rdx), op(DW_OP_plus)}), "[(rax rdx +)]");
    EXPECT_EQ(shown({breg(rax), op(DW_OP_neg)}), "[(rax neg)]");
    for (const uint64_t size : {1, 2, 4, 8})
        EXPECT_EQ(shown({breg(rax), op(DW_OP_deref_size, size), op(DW_OP_stack_value)}),
                  "(rax " + std::to_string(size) + "@)");
    EXPECT_EQ(shown({op(DW_OP_lit5), op(DW_OP_stack_value), op(DW_OP_piece, 2), breg(rax, 8),
                     op(DW_OP_piece, 4)}),
              "{2:5 4:[rax+8]}");
}

// These need what only the debug information of a variable tells.
TEST(Location, WithoutDebugInformation) {
    const std::string complex = "? computed by an expression";
    EXPECT_EQ(shown({op(DW_OP_implicit_value)}), "? a constant wider than 8 bytes");
    for (const Operations& wrong :
         {Operations{op(DW_OP_addrx, 1)}, Operations{op(DW_OP_const_type, 1)},
          Operations{breg(rax), op(DW_OP_deref_type, 4)}, Operations{op(DW_OP_regval_type, rax)},
          Operations{op(DW_OP_convert, 1)}, Operations{breg(rax), op(DW_OP_convert, 1)},
          Operations{reg(rax), op(DW_OP_lit1)}, Operations{op(DW_OP_plus_uconst, 1)},
          Operations{op(DW_OP_drop)}, Operations{breg(rax), op(DW_OP_over)},
          Operations{op(DW_OP_swap)}, Operations{op(DW_OP_rot)},
          Operations{breg(rax), op(DW_OP_deref_size, 0)},
          Operations{breg(rax), op(DW_OP_deref_size, 16)}, Operations{breg(rax), op(DW_OP_drop)}})
        EXPECT_EQ(shown(wrong), complex);
    // A conversion to the generic type changes nothing.
    EXPECT_EQ(shown({breg(rax), op(DW_OP_convert, 0), op(DW_OP_stack_value)}), "rax");
}

TEST(Location, Pieces) {
    EXPECT_EQ(shown({reg(rax), op(DW_OP_piece, 8), reg(rdx), op(DW_OP_piece, 8)}), "{8:rax 8:rdx}");
    EXPECT_EQ(shown({op(DW_OP_piece, 4), breg(rdi, 4), op(DW_OP_piece, 4)}), "{4:? 4:[rdi+4]}");
    EXPECT_EQ(shown({op(DW_OP_lit5), op(DW_OP_stack_value), op(DW_OP_piece, 2), breg(rax),
                     op(DW_OP_neg), op(DW_OP_stack_value), op(DW_OP_piece, 4)}),
              "{2:5 4:(rax neg)}");
    EXPECT_EQ(shown({reg(rax), op(DW_OP_piece, 8), reg(rdx)}), "? computed by an expression");
    EXPECT_EQ(shown({reg(rax), op(DW_OP_bit_piece, 3)}),
              "? split into parts that are not whole bytes");
    const Location location =
        translate({reg(rax), op(DW_OP_piece, 4), reg(rdx), op(DW_OP_piece, 2)});
    ASSERT_EQ(location.pieces.size(), 2U);
    EXPECT_EQ(location.pieces[1].offset, 4U);
    EXPECT_EQ(location.pieces[1].size, 2U);
}

TEST(Location, NotHere) {
    EXPECT_EQ(shown({op(DW_OP_entry_value), op(DW_OP_stack_value)}),
              "? only its value at the function's entry is known here");
    EXPECT_EQ(shown({op(DW_OP_implicit_pointer)}), "? points to an object that was optimized away");
}

} // namespace
} // namespace djstap
