// SPDX-License-Identifier: GPL-2.0-or-later
// The source lines of an ELF file's addresses, from its .debug_line (DWARF 2 to 5). The file may
// contain anything, and may change while it is read.
#pragma once
#include "session/elf_symbols.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace djstap {

class ElfLines {
  public:
    struct Place {
        std::string file;
        uint32_t line = 0;
    };

    // Reads the line programs of a file of `bytes` bytes. Returns nothing if it has none.
    static std::optional<ElfLines> read(const ElfSymbols::Read& read, uint64_t bytes);

    // Finds the line to which the code at an address belongs, for which the file was linked.
    std::optional<Place> at(uint64_t address) const;
    // About how much memory this takes.
    size_t memory() const { return path_bytes_ + rows_.capacity() * sizeof(Row); }

  private:
    // `file`: an index of files_; `line` 0: no line; `end`: the first address behind a sequence.
    struct Row {
        uint64_t address;
        uint32_t file, line : 31, end : 1;
    };
    friend class LineProgram;

    std::vector<std::string> files_;
    size_t path_bytes_ = 0; // of what the paths in files_ were made of
    std::vector<Row> rows_; // by address
};

} // namespace djstap
