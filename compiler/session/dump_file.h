// SPDX-License-Identifier: GPL-2.0-or-later
// Rings in the memory of a kernel that has crashed (runtime/include/recorder.h: djs_dump_page).
#pragma once
#include "diagnostics/result.h"
#include "include/recorder.h"

#include <cstdint>
#include <string>
#include <vector>

namespace djstap {

struct DumpedRing {
    uint32_t cpu = 0;
    bool overwrite = false;
    djs_ring_page page{};
    djs_clock clock{}; // when the module was loaded
    std::vector<char> data;
    uint64_t missing_pages = 0; // not in the dump: read as zeros
};

struct Dump {
    std::vector<DumpedRing> rings;     // by CPU
    std::vector<char> symbols;         // the table of symbols; empty: the module has none
    uint64_t missing_symbol_pages = 0; // not in the dump: read as zeros
};

// Returns the memory of the script with this `identity` (ModuleFile::identity). `path`: a
// core file of a machine's physical memory, 64-bit ELF: /proc/vmcore and its copies, QEMU's
// dump-guest-memory. Fails if it is something else, or contains no such ring.
Result<Dump> find_rings(const std::string& path, uint64_t identity);

} // namespace djstap
