// SPDX-License-Identifier: GPL-2.0-or-later
// The symbols of addresses in user programs and libraries: what a module records of an address is
// the file, its build-id and the address for which the file was linked.
#pragma once
#include "session/elf_lines.h"
#include "session/elf_symbols.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace djstap {

class ProgramSymbols {
  public:
    // `known`: "0xADDRESS [PATH+0xLINKED]", a NUL and the build-id in hexadecimal. `returns`: the
    // address is one to which a call returns. Returns "name+0x1/0x20 [PATH]", with the name as the
    // source code has it; empty if there is no symbol. With `lines` the file and the line of the
    // source code follow, if they are known: "name+0x1/0x20 at FILE:LINE [PATH]".
    std::string symbol(std::string_view known, bool returns, bool lines = false);
    // Returns the file and the line of the source code.
    std::optional<ElfLines::Place> place(std::string_view known, bool returns);

  private:
    // Each kept while this exists: a session's addresses are in few files.
    const std::optional<ElfSymbols>& file(const std::string& path, const std::string& build_id);

    const std::optional<ElfLines>& lines_of(const std::string& path, const std::string& build_id);

    std::map<std::pair<std::string, std::string>, std::optional<ElfSymbols>> files_;
    std::map<std::pair<std::string, std::string>, std::optional<ElfLines>> lines_;
};

} // namespace djstap
