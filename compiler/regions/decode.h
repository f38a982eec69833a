// SPDX-License-Identifier: GPL-2.0-or-later
// Decodes all code of a file.
#pragma once
#include "arch/instructions.h"
#include "regions/functions.h"

#include <functional>
#include <vector>

namespace djstap::regions {

// An instruction names an address in code or data.
struct Naming {
    Index at = 0;
    arch::NamedAddress::Use use{};
    uint64_t address = 0;
};

struct DecodeOptions {
    bool newer_kernel = false; // it copies more instructions
    bool is_program = false;   // it looks up nothing by the addresses of its traps
    unsigned threads = 1;
    std::function<void(double)> progress; // receives the share that is done
};

// Decodes functions and what is between them. Sets the lengths and traits of `code`, its jumps and
// the entries that they and calls are. Returns the addresses that instructions name, in the order
// of the code.
Result<std::vector<Naming>> decode(Code& code, const std::vector<FunctionRange>& functions,
                                   const std::vector<Symbol>& symbols,
                                   const DecodeOptions& options);

} // namespace djstap::regions
