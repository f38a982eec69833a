// Where the System V x86-64 calling convention (psABI 3.2.3) puts a function's arguments at its
// entry.
#pragma once
#include "debuginfo/debuginfo.h"

namespace djstap {

struct ArgumentShape {
    uint64_t size = 0;
    bool aggregate = false; // struct, union or array by value
    bool floating = false;
    bool known = true; // false: the type is not complete
};

// One location an argument. From the first argument whose place depends on what is not known on,
// nothing. A result too large for two registers is returned through a pointer in the first one.
std::vector<Location> argument_locations(const std::vector<ArgumentShape>& arguments,
                                         const ArgumentShape& result);

} // namespace djstap
