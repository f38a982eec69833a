// SPDX-License-Identifier: GPL-2.0-or-later
// Addresses that the linker has left to the loader: where a file may be loaded anywhere, it has
// zeros in their places.
#pragma once
#include "image/elf_file.h"

#include <cstdint>
#include <unordered_map>

namespace djstap {

// Returns the link-time address that a word of a file has when it is loaded. `value`: what the file
// has at the word's link-time address.
uint64_t relocated_word(const ElfFile& file, uint64_t address, uint64_t value);

// The same of many words of a section: the file's relocations are read once.
class RelocatedWords {
  public:
    RelocatedWords(const ElfFile& file, const ElfSection& section);

    uint64_t at(uint64_t address, uint64_t value) const;

  private:
    std::unordered_map<uint64_t, uint64_t> relocated_; // by the word's link-time address
};

} // namespace djstap
