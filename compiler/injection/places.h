// SPDX-License-Identifier: GPL-2.0-or-later
// Where a script's sites are in a program, and which of them may be patched.
#pragma once
#include "diagnostics/result.h"
#include "image/elf_file.h"
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
    // The function that returns here, of which handlers are called; DJS_NO_INDEX: none.
    uint32_t returns = DJS_NO_INDEX;
};

// One place in a file that is patched, with all of the script's sites there.
struct PatchedPlace {
    uint32_t site = DJS_NO_INDEX; // the first one of an entry; DJS_NO_INDEX: there is none
    // The function whose return handlers keep something of the entry here; DJS_NO_INDEX: none.
    uint32_t enters = DJS_NO_INDEX;
    bool is_of_loader = false; // the dynamic loader tells that it has mapped something
    uint64_t address = 0;      // link-time; behind a landing pad
    std::vector<Moved> moved;
    std::string original; // what the file has where the jump is written
    std::string refusal;  // why it cannot be patched; empty: it can
};

// A function whose returns are probed.
struct ReturningFunction {
    uint64_t address = 0; // of its entry, link-time
    std::vector<uint32_t> sites;
    uint32_t number = 0; // among those of all files
    std::string refusal; // why its returns cannot be patched; empty: they can
};

// A part of a file that is mapped as code, by its program headers.
struct ExecutableSegment {
    uint64_t offset = 0, bytes = 0; // in the file
    uint64_t address = 0;           // link-time
};

// Where a program has a copy of a file's code.
struct MappedCopy {
    uint64_t bias = 0;
    FileIdentity file;
};

// A file with sites, as the program maps it.
struct PlacedImage {
    std::string path;
    std::vector<ExecutableSegment> executable;
    Range extent;            // of all segments, link-time
    uint64_t headers_at = 0; // where the file's beginning is mapped, link-time
    std::string headers;     // what tells the file from another one of this name
    uint64_t bias = 0;       // what is added to link-time addresses
    Range code;              // where it is mapped; empty: nowhere
    FileIdentity file;       // what is mapped there
    void describe(const ElfFile& file);
    // Returns where the program has the code of the file with this name, one for each copy. What
    // it has mapped of the file only to read it is none.
    std::vector<MappedCopy> copies(const MemoryMap& program) const;
    // Returns whether there is a copy of the file with this identity, whatever its name is now.
    bool is_mapped_at(uint64_t bias, const FileIdentity& file, const MemoryMap& program) const;
    void take(const MappedCopy& copy);
    bool is_mapped() const { return code.end != 0; }
    std::vector<PatchedPlace> places;
    std::vector<ReturningFunction> returning;
};

// Returns the files with the sites of a linked script. Fails if one cannot be analyzed, or if the
// program does not map it, unless it is a library and `may_be_mapped_later`.
Result<std::vector<PlacedImage>> place_sites(const struct ::djs_script& script,
                                             const MemoryMap& program, bool may_be_mapped_later);

} // namespace djstap::injection
