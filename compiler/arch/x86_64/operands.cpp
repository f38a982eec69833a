// SPDX-License-Identifier: GPL-2.0-or-later
// Operands in the assembler's (AT&T) syntax.
#include "arch/arch.h"

#include "arch/x86_64/registers.h"

#include <array>
#include <charconv>
#include <utility>

namespace djstap::arch {

namespace {

using namespace x86_64;
using Kind = LocationOperation::Kind;

struct NamedRegister {
    Register reg;
    uint8_t size;
    bool high = false; // bits 8 to 15
};

std::optional<NamedRegister> register_named(std::string_view name) {
    // With the names of their 8, 4, 2 and 1 byte.
    struct Old {
        Register reg;
        std::array<std::string_view, 4> names;
    };
    static constexpr Old old[] = {
        {Rax, {"rax", "eax", "ax", "al"}},  {Rbx, {"rbx", "ebx", "bx", "bl"}},
        {Rcx, {"rcx", "ecx", "cx", "cl"}},  {Rdx, {"rdx", "edx", "dx", "dl"}},
        {Rsi, {"rsi", "esi", "si", "sil"}}, {Rdi, {"rdi", "edi", "di", "dil"}},
        {Rbp, {"rbp", "ebp", "bp", "bpl"}}, {Rsp, {"rsp", "esp", "sp", "spl"}},
    };
    static constexpr std::pair<std::string_view, Register> high[] = {
        {"ah", Rax}, {"bh", Rbx}, {"ch", Rcx}, {"dh", Rdx}};
    static constexpr std::pair<std::string_view, Register> numbered[] = {
        {"r8", R8},   {"r9", R9},   {"r10", R10}, {"r11", R11},
        {"r12", R12}, {"r13", R13}, {"r14", R14}, {"r15", R15}};
    for (const Old& each : old)
        for (size_t i = 0; i < each.names.size(); i++)
            if (each.names[i] == name)
                return NamedRegister{each.reg, static_cast<uint8_t>(8 >> i)};
    for (const auto& [text, reg] : high)
        if (text == name)
            return NamedRegister{reg, 1, true};
    for (const auto& [text, reg] : numbered) {
        if (!name.starts_with(text))
            continue;
        const std::string_view suffix = name.substr(text.size());
        const size_t size = suffix.empty() ? 8 : suffix == "d" ? 4 : suffix == "w" ? 2 : 1;
        if (size == 1 && suffix != "b")
            continue;
        return NamedRegister{reg, static_cast<uint8_t>(size)};
    }
    return std::nullopt;
}

std::optional<uint64_t> number_of(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+'))
        text.remove_prefix(1);
    const bool is_hex = text.starts_with("0x");
    if (is_hex)
        text.remove_prefix(2);
    uint64_t number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, is_hex ? 16 : 10);
    if (error != std::errc() || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return negative ? 0 - number : number;
}

constexpr const char* not_understood = "its operand is not understood";

LocationOperation operation_of(Kind kind, uint64_t number = 0) {
    LocationOperation operation;
    operation.kind = kind;
    operation.number = number;
    return operation;
}
LocationOperation value_of(Register reg) {
    LocationOperation operation;
    operation.kind = Kind::Register;
    operation.reg = pt_reg(reg);
    return operation;
}

Location in_register(const NamedRegister& named) {
    Location location;
    location.kind = LocationKind::Register;
    location.reg = pt_reg(named.reg);
    if (named.high) {
        location.kind = LocationKind::Computed;
        location.operations.push_back(value_of(named.reg));
        location.operations.push_back(operation_of(Kind::Constant, 8));
        location.operations.push_back(operation_of(Kind::ShiftRight));
    }
    return location;
}

// "counter", "counter+8", "8+counter", "-16", "" (0).
struct Displacement {
    uint64_t number = 0;
    bool symbol = false; // the number includes a symbol's address
};
std::optional<Displacement> displacement_of(std::string_view text,
                                            const SymbolAddress& symbol_address) {
    Displacement sum;
    while (!text.empty()) {
        const size_t end = std::min(text.find_first_of("+-", 1), text.size());
        const std::string_view part = text.substr(0, end);
        const bool is_plus = part.starts_with('+');
        if (const auto number = number_of(part)) {
            sum.number += *number;
        } else if (const auto address = symbol_address(part.substr(is_plus ? 1 : 0));
                   address && !sum.symbol) {
            sum.number += *address;
            sum.symbol = true;
        } else {
            return std::nullopt;
        }
        text.remove_prefix(end);
    }
    return sum;
}

Location at_address(uint64_t address) {
    Location location;
    location.kind = LocationKind::Address;
    location.constant = address;
    return location;
}

// displacement(base, index, scale)
Location in_memory(std::string_view operand, const SymbolAddress& symbol_address) {
    const size_t open = operand.find('(');
    const auto displacement = displacement_of(operand.substr(0, open), symbol_address);
    if (!displacement)
        return nowhere("it names a symbol that the file does not have");
    if (open == std::string_view::npos)
        return displacement->symbol ? at_address(displacement->number) : nowhere(not_understood);
    if (!operand.ends_with(')'))
        return nowhere(not_understood);
    std::string_view inside = operand.substr(open + 1, operand.size() - open - 2);
    std::array<std::string_view, 3> parts; // base, index, scale
    for (size_t i = 0; i < parts.size() && !inside.empty(); i++) {
        const size_t comma = std::min(inside.find(','), inside.size());
        parts[i] = inside.substr(0, comma);
        inside.remove_prefix(std::min(comma + 1, inside.size()));
    }
    if (parts[0] == "%rip" && parts[1].empty())
        return displacement->symbol ? at_address(displacement->number) : nowhere(not_understood);
    auto address_register = [](std::string_view text) {
        const auto named = text.starts_with('%') ? register_named(text.substr(1)) : std::nullopt;
        return named && named->size == 8 ? named : std::nullopt;
    };
    const auto base = address_register(parts[0]), index = address_register(parts[1]);
    const auto scale = parts[2].empty() ? std::optional<uint64_t>(1) : number_of(parts[2]);
    if (!inside.empty() || (!parts[0].empty() && !base) || (!parts[1].empty() && !index) ||
        (!base && !index) || !scale || *scale > 8)
        return nowhere(not_understood);
    Location location;
    if (base && !index && !displacement->symbol) {
        location.kind = LocationKind::Memory;
        location.reg = pt_reg(base->reg);
        location.offset = static_cast<int64_t>(displacement->number);
        return location;
    }
    location.kind = LocationKind::ComputedMemory;
    std::vector<LocationOperation>& sum = location.operations;
    sum.push_back(
        operation_of(displacement->symbol ? Kind::Address : Kind::Constant, displacement->number));
    if (base) {
        sum.push_back(value_of(base->reg));
        sum.push_back(operation_of(Kind::Add));
    }
    if (index) {
        sum.push_back(value_of(index->reg));
        sum.push_back(operation_of(Kind::Constant, *scale));
        sum.push_back(operation_of(Kind::Multiply));
        sum.push_back(operation_of(Kind::Add));
    }
    return location;
}

} // namespace

Location location_of_operand(std::string_view operand, const SymbolAddress& symbol_address) {
    if (operand.starts_with('%') && operand.find('(') == std::string_view::npos &&
        operand.find(':') == std::string_view::npos) {
        const auto named = register_named(operand.substr(1));
        return named ? in_register(*named) : nowhere("in a register that a handler cannot access");
    }
    if (operand.starts_with('$')) {
        const auto number = number_of(operand.substr(1));
        return number ? constant_location(*number) : nowhere(not_understood);
    }
    if (operand.find(':') != std::string_view::npos)
        return nowhere("in a segment that a handler cannot access");
    return in_memory(operand, symbol_address);
}

} // namespace djstap::arch
