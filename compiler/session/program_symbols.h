// SPDX-License-Identifier: GPL-2.0-or-later
// The symbols of addresses in user programs and libraries: what a module records of an address is
// the file, its build-id and the address for which the file was linked.
#pragma once
#include "session/elf_lines.h"
#include "session/elf_symbols.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace djstap {

class ProgramSymbols {
  public:
    // Symbols, and lines, are kept until those of another file are read and they take as much
    // memory: of a damaged file, a few bytes may be much of it, and anybody may run many of these.
    explicit ProgramSymbols(size_t most_bytes = size_t{256} << 20) : most_bytes_(most_bytes) {}
    // `known`: "0xADDRESS [PATH+0xLINKED]", a NUL and the build-id in hexadecimal. `returns`: the
    // address is one to which a call returns. Returns "name+0x1/0x20 [PATH]", with the name as the
    // source code has it; empty if there is no symbol. With `lines` the file and the line of the
    // source code follow, if they are known: "name+0x1/0x20 at FILE:LINE [PATH]".
    std::string symbol(std::string_view known, bool returns, bool lines = false);
    // Returns the file and the line of the source code.
    std::optional<ElfLines::Place> place(std::string_view known, bool returns);
    // The memory of the lines that are kept.
    size_t bytes_of_lines() const { return lines_.bytes; }

  private:
    // What was read of files, by path and build-id, and its memory.
    template <class Content> struct Kept {
        std::map<std::pair<std::string, std::string>, std::optional<Content>> files;
        size_t bytes = 0;
    };
    // Returns what is kept of a file, or keeps what `read` returns.
    template <class Content, class Read>
    const std::optional<Content>& keep(Kept<Content>& kept, const std::string& path,
                                       const std::string& build_id, Read read) const;
    // What these return is valid until the next call.
    const std::optional<ElfSymbols>& file(const std::string& path, const std::string& build_id);
    const std::optional<ElfLines>& lines_of(const std::string& path, const std::string& build_id);

    Kept<ElfSymbols> symbols_;
    Kept<ElfLines> lines_;
    size_t most_bytes_;
};

} // namespace djstap
