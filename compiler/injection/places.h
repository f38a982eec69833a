// SPDX-License-Identifier: GPL-2.0-or-later
// Where a script's sites are in a program, and which of them may be patched.
#pragma once
#include "diagnostics/result.h"
#include "injection/memory_map.h"

#include "include/script.h"

#include <cstdint>
#include <string>
#include <vector>

namespace djstap::injection {

// An instruction that a jump replaces, and those behind it that the jump needs as well.
struct Moved {
    uint64_t address = 0; // link-time
    std::string bytes;
    bool leaves = false; // what follows it is not executed from here
};

// One place in a file, with all of the script's sites there.
struct SitePlace {
    uint32_t site = 0;    // the first one
    uint64_t address = 0; // link-time; behind a landing pad
    std::vector<Moved> moved;
    std::string refusal; // why it cannot be patched; empty: it can
};

// A file with sites, as the program maps it.
struct PlacedImage {
    std::string path;
    uint64_t bias = 0; // what is added to link-time addresses
    Range code;        // where it is mapped
    std::vector<SitePlace> places;
};

// Returns the files with the sites of a linked script. Fails if the program does not map one of
// them, or if one cannot be analyzed.
Result<std::vector<PlacedImage>> find_places(const struct ::djs_script& script,
                                             const MemoryMap& program);

} // namespace djstap::injection
