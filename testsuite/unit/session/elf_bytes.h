// SPDX-License-Identifier: GPL-2.0-or-later
// Files in memory, for readers that ask for parts of a file.
#pragma once
#include "session/elf_symbols.h"

#include <cstring>
#include <string>

namespace djstap {

// `file` must live as long as what it is passed to.
inline ElfSymbols::Read reader_of(const std::string& file) {
    return [&file](uint64_t offset, void* to, size_t size) {
        if (offset > file.size() || size > file.size() - offset)
            return false;
        std::memcpy(to, file.data() + offset, size);
        return true;
    };
}

} // namespace djstap
