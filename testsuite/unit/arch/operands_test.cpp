// SPDX-License-Identifier: GPL-2.0-or-later
// Operands in the assembler's syntax, and where they are.
#include "arch/arch.h"
#include "arch/x86_64/registers.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace djstap::arch {
namespace {

// struct user_regs_struct and pt_regs have this order.
std::string shown(PtReg reg) {
    static const char* names[] = {"r15", "r14",      "r13", "r12", "rbp",    "rbx", "r11",
                                  "r10", "r9",       "r8",  "rax", "rcx",    "rdx", "rsi",
                                  "rdi", "orig_rax", "rip", "cs",  "eflags", "rsp", "ss"};
    return names[static_cast<size_t>(reg)];
}

// "rax"; "5"; "@4096"; "[rax-8]"; what a computation pushes and does, in order; "? why".
std::string place(std::string_view operand) {
    const Location location =
        location_of_operand(operand, [](std::string_view symbol) -> std::optional<uint64_t> {
            if (symbol == "counter")
                return 4096;
            return symbol == ".data.rel" ? std::optional<uint64_t>(8192) : std::nullopt;
        });
    std::string computed;
    for (const LocationOperation& operation : location.operations) {
        using Kind = LocationOperation::Kind;
        computed += computed.empty() ? "" : " ";
        computed += operation.kind == Kind::Register     ? shown(operation.reg)
                    : operation.kind == Kind::Constant   ? std::to_string(operation.number)
                    : operation.kind == Kind::Address    ? "@" + std::to_string(operation.number)
                    : operation.kind == Kind::Add        ? "+"
                    : operation.kind == Kind::Multiply   ? "*"
                    : operation.kind == Kind::ShiftRight ? ">>"
                                                         : "?";
    }
    switch (location.kind) {
    case LocationKind::None:
        return "? " + location.why;
    case LocationKind::Register:
        return shown(location.reg);
    case LocationKind::Constant:
        return std::to_string(static_cast<int64_t>(location.constant));
    case LocationKind::Address:
        return "@" + std::to_string(location.constant);
    case LocationKind::Memory:
        return "[" + shown(location.reg) + (location.offset < 0 ? "" : "+") +
               std::to_string(location.offset) + "]";
    case LocationKind::Computed:
        return computed;
    case LocationKind::ComputedMemory:
        return "[" + computed + "]";
    default:
        return "another kind";
    }
}

TEST(Operands, EachNameOfARegister) {
    static constexpr std::array<std::array<const char*, 4>, 16> names = {{
        {"rax", "eax", "ax", "al"},
        {"rbx", "ebx", "bx", "bl"},
        {"rcx", "ecx", "cx", "cl"},
        {"rdx", "edx", "dx", "dl"},
        {"rsi", "esi", "si", "sil"},
        {"rdi", "edi", "di", "dil"},
        {"rbp", "ebp", "bp", "bpl"},
        {"rsp", "esp", "sp", "spl"},
        {"r8", "r8d", "r8w", "r8b"},
        {"r9", "r9d", "r9w", "r9b"},
        {"r10", "r10d", "r10w", "r10b"},
        {"r11", "r11d", "r11w", "r11b"},
        {"r12", "r12d", "r12w", "r12b"},
        {"r13", "r13d", "r13w", "r13b"},
        {"r14", "r14d", "r14w", "r14b"},
        {"r15", "r15d", "r15w", "r15b"},
    }};
    for (const auto& each : names)
        for (size_t i = 0; i < each.size(); i++) {
            EXPECT_EQ(place(std::string("%") + each[i]), each[0]);
            // Only a whole register addresses memory.
            EXPECT_EQ(place(std::string("(%") + each[i] + ")"),
                      i ? "? its operand is not understood" : "[" + std::string(each[0]) + "+0]");
        }
    for (const char* const other : {"%ah", "%bh", "%ch", "%dh"})
        EXPECT_EQ(place(other), std::string("r") + other[1] + "x 8 >>");
    EXPECT_EQ(place("(%ah)"), "? its operand is not understood");
    for (const char* const none : {"%xmm0", "%r16", "%r8x", "%r8dd", "%r1", "%r", "%", "%rax8"})
        EXPECT_EQ(place(none), "? in a register that a handler cannot access") << none;
}

TEST(Operands, Numbers) {
    EXPECT_EQ(place("$0"), "0");
    EXPECT_EQ(place("$42"), "42");
    EXPECT_EQ(place("$+42"), "42");
    EXPECT_EQ(place("$-1"), "-1");
    EXPECT_EQ(place("$0x1f"), "31");
    EXPECT_EQ(place("$-0x10"), "-16");
    EXPECT_EQ(place("$18446744073709551615"), "-1");
    for (const char* const none : {"$", "$-", "$0x", "$1x", "$--1", "$18446744073709551616", "$a"})
        EXPECT_EQ(place(none), "? its operand is not understood") << none;
}

TEST(Operands, MemoryAtARegister) {
    EXPECT_EQ(place("(%rax)"), "[rax+0]");
    EXPECT_EQ(place("8(%rbp)"), "[rbp+8]");
    EXPECT_EQ(place("-8(%r12)"), "[r12-8]");
    EXPECT_EQ(place("-0x10(%rsp)"), "[rsp-16]");
    EXPECT_EQ(place("8-4+1(%rsp)"), "[rsp+5]");
}

TEST(Operands, MemoryAtASum) {
    EXPECT_EQ(place("(%rax,%rbx)"), "[0 rax + rbx 1 * +]");
    EXPECT_EQ(place("16(%rax,%rbx,8)"), "[16 rax + rbx 8 * +]");
    EXPECT_EQ(place("(,%rbx,4)"), "[0 rbx 4 * +]");
    EXPECT_EQ(place("counter(%rax)"), "[@4096 rax +]");
    EXPECT_EQ(place("counter+8(,%rcx,2)"), "[@4104 rcx 2 * +]");
}

TEST(Operands, MemoryOfASymbol) {
    EXPECT_EQ(place("counter"), "@4096");
    EXPECT_EQ(place("counter(%rip)"), "@4096");
    EXPECT_EQ(place("counter+8(%rip)"), "@4104");
    EXPECT_EQ(place("8+counter(%rip)"), "@4104");
    EXPECT_EQ(place("-8+counter"), "@4088");
    EXPECT_EQ(place("counter-0x10(%rip)"), "@4080");
    EXPECT_EQ(place(".data.rel+1"), "@8193");
}

TEST(Operands, WhatIsNotUnderstood) {
    for (const char* const none :
         {"8", "8(%rip)", "counter(%rip,%rax)", "8(%rax", "8(%rax]", "8(%rax)x", "8(%rax,%rbx,16)",
          "8(%rax,%rbx,9)", "8(%rax,%rbx,x)", "8(%rax,%rbx,1,2)", "8()", "8(,)", "8(rax)",
          "8(%rax,rbx)", "8(%xmm0)", "8(%rax,%xmm0)", "8(%rax,%ebx)"})
        EXPECT_EQ(place(none), "? its operand is not understood") << none;
    for (const char* const unknown :
         {"other", "other(%rip)", "counter+other", "counter+counter", "-counter", "counter+"})
        EXPECT_EQ(place(unknown), "? it names a symbol that the file does not have") << unknown;
    for (const char* const segment : {"%fs:16", "%fs:(%rax)", "%gs:counter", "%ds:8(%rax)"})
        EXPECT_EQ(place(segment), "? in a segment that a handler cannot access") << segment;
}

} // namespace
} // namespace djstap::arch
