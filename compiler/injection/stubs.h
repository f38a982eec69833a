// SPDX-License-Identifier: GPL-2.0-or-later
// The code that a program's patched places lead to.
#pragma once
#include "diagnostics/result.h"
#include "injected/injected.h"
#include "injection/places.h"

#include <string>
#include <vector>

namespace djstap::injection {

// What stubs call.
struct Callees {
    uint64_t owner = 0, claim = 0, hit = 0; // hit: djs_hit_entry
    const struct ::djs_script* script = nullptr;
};

struct Patch {
    uint64_t address = 0; // at run time
    std::string bytes;
    std::string before; // what is there without it
};

// An instruction that a jump replaces, behind its beginning, and what runs in its place.
struct Relocation {
    uint64_t from = 0, to = 0; // at run time
};

// The stubs of one file.
struct Stubs {
    std::string code;
    std::vector<Patch> patches;
    std::vector<Relocation> relocations;
    std::vector<djs_place> places; // in the order of their return addresses
};

// Returns how much memory the stubs of a file take at most.
uint64_t room_for_stubs(const PlacedImage& image);
// Writes them for memory at `at`; notes in the image what cannot run there.
Stubs make_stubs(PlacedImage& image, const Callees& callees, uint64_t at);

} // namespace djstap::injection
