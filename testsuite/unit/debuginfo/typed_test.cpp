// SPDX-License-Identifier: GPL-2.0-or-later
// Expressions that refer to types or to the function's entry, as DWARF 5 (2.5) encodes them: the
// debug information is written by hand.
#include "made_kernel.h"

#include "kernels.h"

#include <dwarf.h>

namespace djstap {
namespace {

// An operation's code, and a type's place in its unit, as the assembler reads them.
std::string code(unsigned operation) {
    return ".byte " + std::to_string(operation) + "\n";
}
std::string number(unsigned long value) {
    return ".uleb128 " + std::to_string(value) + "\n";
}
std::string type(const std::string& name) {
    return ".uleb128 .Ltype_" + name + " - .Linfo\n";
}
std::string bytes(const std::string& list) {
    return ".byte " + list + "\n";
}

const std::string value = code(DW_OP_stack_value);

std::string in_register(unsigned reg, const std::string& name) {
    return code(DW_OP_regval_type) + number(reg) + type(name);
}
std::string constant(const std::string& name, const std::string& size, const std::string& list) {
    return code(DW_OP_const_type) + type(name) + bytes(size) + bytes(list);
}
std::string at_entry(const std::string& expression) {
    static int count;
    const std::string label = ".Lentry" + std::to_string(count++);
    return code(DW_OP_entry_value) + ".uleb128 " + label + "_end - " + label + "\n" + label +
           ":\n" + expression + label + "_end:\n";
}

constexpr unsigned rsi_number = 4, rdi_number = 5; // of x86-64

std::string base_type(const std::string& name, unsigned encoding, unsigned size) {
    return ".Ltype_" + name + ":\n.uleb128 2\n.asciz \"" + name + "\"\n.byte " +
           std::to_string(encoding) + ", " + std::to_string(size) + "\n";
}

// A function of some bytes, with a variable for each expression: v0, v1 and so on.
std::string program_with(const std::vector<std::string>& expressions) {
    std::string text = R"(
    .text
    .globl f
    .type f, @function
f:  .fill 16, 1, 0x90
.Lf_end:
    .size f, .-f
    .section .debug_abbrev, "", @progbits
.Labbrev:
    .uleb128 1, 0x11, 1, 0x03, 0x08, 0x13, 0x0b, 0x11, 0x01, 0x12, 0x06, 0, 0   # unit
    .uleb128 2, 0x24, 0, 0x03, 0x08, 0x3e, 0x0b, 0x0b, 0x0b, 0, 0               # base type
    .uleb128 3, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0               # function
    .uleb128 4, 0x34, 0, 0x03, 0x08, 0x49, 0x13, 0x02, 0x18, 0, 0               # variable
    .uleb128 0
    .section .debug_info, "", @progbits
.Linfo:
    .long .Linfo_end - .Lversion
.Lversion:
    .short 5
    .byte 1, 8
    .long .Labbrev
    .uleb128 1
    .asciz "a.c"
    .byte 0x0c
    .quad f
    .long .Lf_end - f
)";
    text += base_type("int", DW_ATE_signed, 4) + base_type("uint", DW_ATE_unsigned, 4) +
            base_type("char", DW_ATE_signed_char, 1) + base_type("uchar", DW_ATE_unsigned_char, 1) +
            base_type("bool", DW_ATE_boolean, 1) + base_type("short", DW_ATE_signed, 2) +
            base_type("long", DW_ATE_signed, 8) + base_type("ulong", DW_ATE_unsigned, 8) +
            base_type("address", DW_ATE_address, 8) + base_type("float", DW_ATE_float, 4) +
            base_type("odd", DW_ATE_signed, 3) + base_type("wide", DW_ATE_signed, 16);
    text += ".uleb128 3\n.asciz \"f\"\n.quad f\n.long .Lf_end - f\n";
    for (size_t i = 0; i < expressions.size(); i++) {
        const std::string name = "v" + std::to_string(i);
        text += ".uleb128 4\n.asciz \"" + name + "\"\n.long .Ltype_long - .Linfo\n.uleb128 .L" +
                name + "_end - .L" + name + "\n.L" + name + ":\n" + expressions[i] + ".L" + name +
                "_end:\n";
    }
    return text + ".byte 0, 0\n.Linfo_end:\n";
}

struct Expected {
    std::string expression, location;
};

// Behind the entry, or at it.
void expect_locations(const std::vector<Expected>& expected, uint64_t behind_entry) {
    std::vector<std::string> expressions;
    for (const Expected& each : expected)
        expressions.push_back(each.expression);
    const MadeKernel made({{"a.s", program_with(expressions)}});
    std::vector<Variable> found = made.info->variables_at(made.address("f") + behind_entry);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < expected.size(); i++) {
        EXPECT_EQ(found[i].name, "v" + std::to_string(i));
        const Location& location = found[i].location;
        EXPECT_EQ(location.kind == LocationKind::None ? "? " + location.why
                                                      : shown_location(location),
                  expected[i].location)
            << expected[i].expression;
    }
}

const std::string complex = "? computed by an expression";

TEST(TypedExpressions, NumbersHaveTheirSizeAndSign) {
    expect_locations(
        {{in_register(rdi_number, "int") + value, "(rdi s4x)"},
         {in_register(rdi_number, "uint") + value, "(rdi 4x)"},
         {in_register(rdi_number, "char") + value, "(rdi s1x)"},
         {in_register(rdi_number, "uchar") + value, "(rdi 1x)"},
         {in_register(rdi_number, "bool") + value, "(rdi 1x)"},
         {in_register(rdi_number, "short") + value, "(rdi s2x)"},
         {in_register(rdi_number, "long") + value, "rdi"},
         {in_register(rdi_number, "ulong") + value, "rdi"},
         {in_register(rdi_number, "address") + value, "rdi"},
         {in_register(rdi_number, "float") + value, complex},
         {in_register(rdi_number, "odd") + value, complex},
         {in_register(rdi_number, "wide") + value, complex},
         {in_register(17, "int") + value, "? in a register that a handler cannot access"}},
        4);
}

TEST(TypedExpressions, ConstantsAndConversions) {
    const std::string rax = code(DW_OP_breg0) + ".sleb128 0\n";
    const std::string load = code(DW_OP_deref_type);
    expect_locations({{constant("int", "4", "0xff, 0xff, 0xff, 0xff") + value, "(4294967295 s4x)"},
                      {constant("ulong", "8", "1, 0, 0, 0, 0, 0, 0, 0") + value, "1"},
                      {constant("float", "4", "0, 0, 0, 0") + value, complex},
                      {rax + code(DW_OP_convert) + type("uint") + value, "(rax 4x)"},
                      {rax + code(DW_OP_convert) + type("float") + value, complex},
                      {rax + code(DW_OP_convert) + number(0) + value, "rax"},
                      {rax + load + bytes("4") + type("int") + value, "(rax s4@)"},
                      {rax + load + bytes("2") + type("uint") + value, "(rax 2@)"},
                      {rax + load + bytes("4") + type("float") + value, complex},
                      {rax + load + bytes("3") + type("int") + value, complex},
                      // Converted to the generic type, it is not narrowed any more.
                      {in_register(rdi_number, "int") + code(DW_OP_convert) + number(0) +
                           code(DW_OP_neg) + value,
                       "(rdi s4x neg)"}},
                     4);
}

// What is calculated wraps around in its type, but a comparison yields a number.
TEST(TypedExpressions, CalculateInTheirType) {
    const auto both = [](const std::string& name, unsigned operation) {
        return in_register(rdi_number, name) + in_register(rsi_number, name) + code(operation) +
               value;
    };
    expect_locations(
        {{both("int", DW_OP_plus), "(rdi s4x rsi s4x + s4x)"},
         {both("uchar", DW_OP_shl), "(rdi 1x rsi 1x << 1x)"},
         {both("ulong", DW_OP_plus), "(rdi rsi +)"},
         {both("uint", DW_OP_lt), "(rdi 4x rsi 4x <)"},
         {both("int", DW_OP_ge), "(rdi s4x rsi s4x >=)"},
         {both("long", DW_OP_lt), "(rdi rsi <)"},
         {both("long", DW_OP_ge), "(rdi rsi >=)"},
         // There is no comparison of such without a sign.
         {both("ulong", DW_OP_lt), complex},
         {both("ulong", DW_OP_le), complex},
         {both("ulong", DW_OP_gt), complex},
         {both("ulong", DW_OP_ge), complex},
         {both("ulong", DW_OP_eq), "(rdi rsi ==)"},
         {both("ulong", DW_OP_ne), "(rdi rsi !=)"},
         {in_register(rdi_number, "int") + code(DW_OP_neg) + value, "(rdi s4x neg s4x)"},
         {in_register(rdi_number, "uint") + code(DW_OP_not) + value, "(rdi 4x ~ 4x)"},
         {in_register(rdi_number, "int") + in_register(rsi_number, "int") + code(DW_OP_eq) +
              code(DW_OP_neg) + value,
          "(rdi s4x rsi s4x == neg)"}},
        4);
}

TEST(TypedExpressions, ImplicitValuesAreAtMostEightBytes) {
    const std::string implicit = code(DW_OP_implicit_value);
    expect_locations(
        {{implicit + number(4) + bytes("5, 1, 0, 0"), "261"},
         {implicit + number(8) + bytes("0, 0, 0, 0, 1, 0, 0, 0"), "4294967296"},
         {implicit + number(9) + bytes("0, 0, 0, 0, 0, 0, 0, 0, 0"),
          "? a constant wider than 8 bytes"},
         {code(DW_OP_lit1) + implicit + number(1) + bytes("5"), "? a constant wider than 8 bytes"},
         {implicit + number(1) + bytes("5") + code(DW_OP_lit1), complex},
         {implicit + number(2) + bytes("7, 0") + code(DW_OP_piece) + number(2) + code(DW_OP_reg5) +
              code(DW_OP_piece) + number(8),
          "{2:7 8:rdi}"}},
        4);
}

const std::vector<std::string>& entry_values() {
    static const std::vector<std::string> all{at_entry(code(DW_OP_reg5)) + value,
                                              at_entry(code(DW_OP_reg5)) + code(DW_OP_plus_uconst) +
                                                  number(8) + value,
                                              at_entry(code(DW_OP_breg5) + ".sleb128 0\n") + value,
                                              at_entry(code(DW_OP_reg5) + code(DW_OP_nop)) + value,
                                              at_entry(at_entry(code(DW_OP_reg5))) + value};
    return all;
}

TEST(TypedExpressions, EntryValuesAreKnownAtTheEntry) {
    const std::vector<std::string>& all = entry_values();
    expect_locations({{all[0], "rdi"},
                      {all[1], "rdi+8"},
                      {all[2], complex},
                      {all[3], complex},
                      {all[4], complex}},
                     0);
    const std::string later = "? only its value at the function's entry is known here";
    expect_locations({{all[0], later}, {all[1], later}, {all[2], later}}, 4);
}

} // namespace
} // namespace djstap
