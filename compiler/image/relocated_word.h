// SPDX-License-Identifier: GPL-2.0-or-later
// Addresses that the linker has left to the loader: where a file may be loaded anywhere, it has
// zeros in their places.
#pragma once
#include "image/elf_file.h"

#include <cstdint>

namespace djstap {

// Returns the link-time address that a word of a file has when it is loaded. `value`: what the file
// has at the word's link-time address.
uint64_t relocated_word(const ElfFile& file, uint64_t address, uint64_t value);

} // namespace djstap
