// SPDX-License-Identifier: GPL-2.0-or-later
// The table of functions that Go's runtime uses to unwind stacks (pclntab).
#pragma once
#include "image/elf_file.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace djstap::regions {

struct GoFunction {
    std::string_view name;
    uint64_t address = 0, size = 0;
    // Where the runtime continues in it, other than behind a call: after a panic, or in the
    // function that is at the bottom of every stack; 0: nowhere.
    uint64_t resumed = 0;
    bool compiled = false; // by Go's compiler; else it is written in assembler, or unknown
    // Tables of numbers by address, by their places among all of them; 0: there is none. How deep
    // the stack is, whether a goroutine may be preempted, and what is inlined.
    uint32_t stack = 0, unsafe = 0, inlined = 0;
};

struct GoTable {
    bool found = false;                // the program is Go's
    bool understood = false;           // else there are no functions
    std::vector<GoFunction> functions; // by address
    std::string_view numbers;          // all tables of numbers by address

    const GoFunction* at(uint64_t address) const;
};

// Reads the table of Go 1.18 and later.
GoTable read_go_table(const ElfFile& file);

} // namespace djstap::regions
