// SPDX-License-Identifier: GPL-2.0-or-later
// Finds what describes a variable's place at an address.
#include "debuginfo/location.h"

#include "arch/arch.h"

#include <cstring>
#include <dwarf.h>

namespace djstap {

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

namespace {

// A parameter that the function's first statements change without an instruction has its location
// at the call in an entry for no instruction at all: between two of gcc's views of the entry
// address, before the location that is valid after these statements. Returns 1 if there is one.
int location_of_call(Dwarf_Attribute* attribute, uint64_t entry, Dwarf_Op** operations,
                     size_t* count) {
    ptrdiff_t at = 0;
    Dwarf_Addr base = 0, begin = 0, end = 0;
    while ((at = dwarf_getlocations(attribute, at, &base, &begin, &end, operations, count)) > 0)
        if (begin == entry && end == entry)
            return 1;
    return 0;
}

} // namespace

std::optional<FrameBase> frame_base_at_entry(Dwarf_Die* function) {
    Dwarf_Attribute attribute;
    Dwarf_Op* operations = nullptr;
    size_t count = 0;
    if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) ||
        dwarf_getlocation(&attribute, &operations, &count) != 0 || count != 1)
        return std::nullopt;
    FrameBase base{arch::stack_pointer(), 0, std::nullopt};
    if (operations[0].atom == DW_OP_call_frame_cfa)
        base.offset = static_cast<int64_t>(arch::return_address_bytes());
    else if (operations[0].atom == DW_OP_reg0 + arch::frame_pointer_in_dwarf())
        base.offset = arch::frame_pointer_from_entry();
    else
        return std::nullopt;
    return base;
}

Location location_of(Dwarf_Die* variable, const LocationContext& context) {
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(variable, DW_AT_location, &attribute)) {
        Dwarf_Op* operations = nullptr;
        size_t count = 0;
        int found =
            context.at_entry ? location_of_call(&attribute, context.entry, &operations, &count) : 0;
        if (found == 0)
            found = dwarf_getlocation_addr(&attribute, context.address, &operations, &count, 1);
        if (found < 0)
            return nowhere("its location cannot be decoded");
        if (found == 0)
            return nowhere("optimized away here");
        return location_of_expression(operations, count, context, &attribute);
    }
    if (dwarf_attr_integrate(variable, DW_AT_const_value, &attribute)) {
        if (auto number = constant_of(&attribute))
            return constant_location(*number);
        Dwarf_Block block;
        if (dwarf_formblock(&attribute, &block) == 0 && block.length <= sizeof(uint64_t)) {
            uint64_t value = 0;
            std::memcpy(&value, block.data, block.length);
            return constant_location(value);
        }
        return nowhere("a constant wider than 8 bytes");
    }
    return nowhere("optimized away");
}

} // namespace djstap
