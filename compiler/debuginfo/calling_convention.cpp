#include "debuginfo/calling_convention.h"

#include "debuginfo/location.h"

namespace djstap {

namespace {

constexpr PtReg argument_registers[] = {PtReg::Rdi, PtReg::Rsi, PtReg::Rdx,
                                        PtReg::Rcx, PtReg::R8,  PtReg::R9};
constexpr size_t register_count = std::size(argument_registers);
constexpr uint64_t word_size = 8;

} // namespace

std::vector<Location> argument_locations(const std::vector<ArgumentShape>& arguments,
                                         const ArgumentShape& result) {
    std::vector<Location> locations;
    size_t next = result.aggregate && result.size > 2 * word_size ? 1 : 0;
    uint64_t stack = word_size; // above the return address
    bool lost = false;
    for (const ArgumentShape& argument : arguments) {
        Location location;
        uint64_t words = (argument.size + word_size - 1) / word_size;
        if (lost || !argument.known || argument.floating) {
            // A floating argument takes no general register, but the kernel has no business with it
            // either.
            location = nowhere(argument.floating ? "floating-point argument"
                                                 : "its place is not known without DWARF");
            lost = lost || !argument.known;
        } else if (argument.size == 0) {
            location = nowhere("empty type");
        } else if (words <= 2 && next + words <= register_count) {
            if (argument.aggregate && words > 1) {
                location = nowhere("passed in two registers");
            } else {
                location.kind = words == 1 ? LocationKind::Register : LocationKind::None;
                location.reg = argument_registers[next];
                if (words == 2)
                    location.why = "passed in two registers";
            }
            next += words;
        } else {
            location.kind = LocationKind::Memory;
            location.reg = PtReg::Rsp;
            location.offset = stack;
            stack += words * word_size;
        }
        locations.push_back(location);
    }
    return locations;
}

} // namespace djstap
