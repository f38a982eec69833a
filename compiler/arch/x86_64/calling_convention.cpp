// SPDX-License-Identifier: GPL-2.0-or-later
// The System V calling convention for x86-64 (psABI 3.2.3).
#include "arch/arch.h"

namespace djstap::arch {

namespace {

constexpr uint64_t word_size = 8;
constexpr size_t vector_registers = 8; // that pass floating-point numbers

} // namespace

bool is_returned_in_memory(const ArgumentShape& result) {
    return result.by_reference || (result.aggregate && result.size > 2 * word_size);
}

std::vector<Location> argument_locations(const std::vector<ArgumentShape>& arguments,
                                         const ArgumentShape& result) {
    const std::span<const PtReg> registers = argument_registers();
    std::vector<Location> locations;
    // Such a result is returned through a pointer in the first register.
    size_t next = is_returned_in_memory(result) ? 1 : 0;
    uint64_t stack = return_address_bytes(); // the arguments on the stack are above it
    bool lost = false;
    // One of the x87 type is on the stack, and so are those for which no register is left: what
    // DWARF says of their types does not tell where the stack continues.
    size_t vectors = 0;
    bool stack_lost = false;
    for (const ArgumentShape& argument : arguments) {
        Location location;
        uint64_t words = (argument.size + word_size - 1) / word_size;
        if (lost || !argument.known || argument.floating) {
            // A floating-point argument takes no general register, but the kernel does not use its
            // value either.
            location = nowhere(argument.floating ? "floating-point argument"
                                                 : "its location is unknown without DWARF");
            lost = lost || !argument.known;
            stack_lost = stack_lost || argument.size > word_size || ++vectors > vector_registers;
        } else if (argument.by_reference) {
            if (next < registers.size()) {
                location.kind = LocationKind::Memory;
                location.reg = registers[next++];
            } else {
                location = nowhere("passed by a reference on the stack");
                stack += word_size;
            }
        } else if (argument.size == 0) {
            location = nowhere("empty type");
        } else if (words <= 2 && next + words <= registers.size()) {
            location.kind = LocationKind::Register;
            location.reg = registers[next];
            if (words == 2) {
                Location second = location;
                second.reg = registers[next + 1];
                const std::vector<LocationPiece> pieces{
                    {location, 0, word_size}, {second, word_size, argument.size - word_size}};
                location = Location();
                location.kind = LocationKind::Pieces;
                location.pieces = pieces;
            }
            next += words;
        } else if (stack_lost) {
            location = nowhere("behind a floating-point argument on the stack");
        } else {
            // __int128 is at a multiple of 16 bytes, as the return address ends at one.
            if (!argument.aggregate && words == 2 && (stack - return_address_bytes()) % 16 != 0)
                stack += word_size;
            location.kind = LocationKind::Memory;
            location.reg = stack_pointer();
            location.offset = stack;
            stack += words * word_size;
        }
        locations.push_back(location);
    }
    return locations;
}

} // namespace djstap::arch
