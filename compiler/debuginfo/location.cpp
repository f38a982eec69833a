// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/location.h"

#include "arch/arch.h"

#include <cstring>
#include <dwarf.h>

namespace djstap {

namespace {

Location constant(uint64_t value) {
    Location location;
    location.kind = LocationKind::Constant;
    location.constant = value;
    return location;
}

// The intermediate value of an expression: a number, or a register plus a number.
struct Computed {
    bool has_register = false;
    bool register_itself = false; // DW_OP_regN: the variable is the register
    PtReg reg{};
    uint64_t offset = 0;
    bool is_address = false; // came from DW_OP_addr
};

bool is_literal(uint8_t op) {
    return op >= DW_OP_lit0 && op <= DW_OP_lit31;
}

} // namespace

Location location_of_expression(const Dwarf_Op* operations, size_t count,
                                const LocationContext& context, Dwarf_Attribute* attribute) {
    if (count == 0)
        return nowhere("optimized away here");
    std::vector<Computed> stack;
    bool is_value = false;
    for (size_t i = 0; i < count; i++) {
        const Dwarf_Op& operation = operations[i];
        uint8_t op = operation.atom;
        if (is_value)
            return nowhere("split over several locations");
        auto push_register = [&](uint64_t number, uint64_t offset, bool itself) {
            auto reg = arch::register_of_dwarf(number);
            if (reg)
                stack.push_back({true, itself, *reg, offset, false});
            return reg.has_value();
        };
        bool ok = true;
        if (op >= DW_OP_reg0 && op <= DW_OP_reg31) {
            ok = push_register(op - DW_OP_reg0, 0, true);
        } else if (op == DW_OP_regx) {
            ok = push_register(operation.number, 0, true);
        } else if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
            ok = push_register(op - DW_OP_breg0, operation.number, false);
        } else if (op == DW_OP_bregx) {
            ok = push_register(operation.number, operation.number2, false);
        } else if (op == DW_OP_fbreg || op == DW_OP_call_frame_cfa) {
            auto base = context.frame_base ? context.frame_base() : std::nullopt;
            if (!base)
                return nowhere("relative to a frame that is not known here");
            uint64_t extra = op == DW_OP_fbreg ? operation.number : 0;
            stack.push_back({true, false, base->reg, uint64_t(base->offset) + extra, false});
        } else if (op == DW_OP_addr) {
            stack.push_back({false, false, PtReg{}, operation.number, true});
        } else if (is_literal(op)) {
            stack.push_back({false, false, PtReg{}, uint64_t(op - DW_OP_lit0), false});
        } else if (op == DW_OP_const1u || op == DW_OP_const2u || op == DW_OP_const4u ||
                   op == DW_OP_const8u || op == DW_OP_constu || op == DW_OP_const1s ||
                   op == DW_OP_const2s || op == DW_OP_const4s || op == DW_OP_const8s ||
                   op == DW_OP_consts) {
            stack.push_back({false, false, PtReg{}, operation.number, false});
        } else if (op == DW_OP_plus_uconst && !stack.empty() && !stack.back().register_itself) {
            stack.back().offset += operation.number;
        } else if ((op == DW_OP_plus || op == DW_OP_minus) && stack.size() >= 2) {
            Computed right = stack.back();
            stack.pop_back();
            if (right.has_register && !stack.back().has_register && op == DW_OP_plus)
                std::swap(right, stack.back());
            if (right.has_register)
                return nowhere("computed by an expression");
            stack.back().offset += op == DW_OP_plus ? right.offset : -right.offset;
        } else if (op == DW_OP_implicit_value) {
            Dwarf_Block block;
            if (count != 1 || !attribute ||
                dwarf_getlocation_implicit_value(attribute, &operation, &block) != 0 ||
                block.length > sizeof(uint64_t))
                return nowhere("a constant wider than 8 bytes");
            uint64_t value = 0;
            std::memcpy(&value, block.data, block.length);
            return constant(value);
        } else if (op == DW_OP_entry_value || op == DW_OP_GNU_entry_value) {
            if (!context.at_entry)
                return nowhere("only its value at the function's entry is known here");
            Dwarf_Attribute inner;
            Dwarf_Op* inner_operations = nullptr;
            size_t inner_count = 0;
            if (!attribute || dwarf_getlocation_attr(attribute, &operation, &inner) != 0 ||
                dwarf_getlocation(&inner, &inner_operations, &inner_count) != 0 || inner_count != 1)
                return nowhere("computed by an expression");
            Location entry = location_of_expression(inner_operations, 1, context, &inner);
            if (entry.kind != LocationKind::Register)
                return nowhere("computed by an expression");
            stack.push_back({true, false, entry.reg, 0, false});
        } else if (op == DW_OP_stack_value) {
            is_value = true;
        } else if (op == DW_OP_piece || op == DW_OP_bit_piece) {
            return nowhere("split over several locations");
        } else if (op == DW_OP_implicit_pointer || op == DW_OP_GNU_implicit_pointer) {
            return nowhere("points to an object that was optimized away");
        } else if (op != DW_OP_nop) {
            return nowhere("computed by an expression");
        }
        if (!ok)
            return nowhere("in a register that a handler cannot access");
    }
    if (stack.size() != 1)
        return nowhere("computed by an expression");
    const Computed& result = stack.back();
    Location location;
    location.reg = result.reg;
    if (result.register_itself) {
        location.kind = LocationKind::Register;
    } else if (result.has_register) {
        location.offset = result.offset;
        bool plain = is_value && result.offset == 0;
        location.kind = plain      ? LocationKind::Register
                        : is_value ? LocationKind::Value
                                   : LocationKind::Memory;
    } else if (is_value) {
        // An address: a constant that is relocated with the kernel cannot be expressed.
        if (result.is_address)
            return nowhere("the computed address of a variable");
        return constant(result.offset);
    } else {
        location.kind = LocationKind::Address;
        location.constant = result.offset;
    }
    return location;
}

std::optional<int64_t> constant_of(Dwarf_Attribute* attribute) {
    unsigned form = dwarf_whatform(attribute);
    if (form == DW_FORM_sdata || form == DW_FORM_implicit_const) {
        Dwarf_Sword number = 0;
        return dwarf_formsdata(attribute, &number) == 0 ? std::optional<int64_t>(number)
                                                        : std::nullopt;
    }
    Dwarf_Word number = 0;
    return dwarf_formudata(attribute, &number) == 0 ? std::optional<int64_t>(number) : std::nullopt;
}

Location location_of(Dwarf_Die* variable, const LocationContext& context) {
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(variable, DW_AT_location, &attribute)) {
        Dwarf_Op* operations = nullptr;
        size_t count = 0;
        int found = dwarf_getlocation_addr(&attribute, context.address, &operations, &count, 1);
        if (found < 0)
            return nowhere("its location cannot be decoded");
        if (found == 0)
            return nowhere("optimized away here");
        return location_of_expression(operations, count, context, &attribute);
    }
    if (dwarf_attr_integrate(variable, DW_AT_const_value, &attribute)) {
        if (auto number = constant_of(&attribute))
            return constant(*number);
        Dwarf_Block block;
        if (dwarf_formblock(&attribute, &block) == 0 && block.length <= sizeof(uint64_t)) {
            uint64_t value = 0;
            std::memcpy(&value, block.data, block.length);
            return constant(value);
        }
        return nowhere("a constant wider than 8 bytes");
    }
    return nowhere("optimized away");
}

} // namespace djstap
