// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the units of a file's DWARF that mention a name, without reading them.
#pragma once
#include "debuginfo/dwarf_scan.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

class NameSearch {
  public:
    // Opens the file at `path`. Returns nothing if a unit of it may describe code with names that
    // are only in other units, or in other files: after dwz, link-time optimization or split DWARF.
    static std::optional<NameSearch> open(const std::string& path);

    // Returns the offsets of the entries of all units in which a name, of an entry of any kind, may
    // be `name`. Returns nothing if that takes as long as reading all of them.
    std::optional<std::vector<uint64_t>> units_with(std::string_view name) const;

  private:
    NameSearch() = default;
    std::vector<uint32_t> places_of(std::string_view name) const;

    std::unique_ptr<DwarfFile> file_;
    std::string_view info_, strings_; // sections
    std::vector<Dwarf_Off> units_;
};

} // namespace djstap
