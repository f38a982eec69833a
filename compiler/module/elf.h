// SPDX-License-Identifier: GPL-2.0-or-later
// Reads relocatable objects in memory, checking every offset: script objects, the runtime, finished
// modules. Malformed input is a Failure, never a crash.
#pragma once
#include "diagnostics/result.h"

#include <cstdint>
#include <elf.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::module {

struct ObjectSection {
    std::string_view name;
    std::string_view bytes; // empty for NOBITS
    uint32_t type = 0;
    uint64_t flags = 0;
    uint64_t size = 0;   // in memory, including NOBITS
    uint64_t offset = 0; // in the file
    uint32_t info = 0;   // RELA: index of the section that is relocated
    uint32_t link = 0;

    bool allocated() const { return flags & SHF_ALLOC; }
    bool executable() const { return flags & SHF_EXECINSTR; }
};

struct ObjectSymbol {
    std::string_view name;
    uint16_t section = SHN_UNDEF; // index, or SHN_UNDEF, SHN_ABS, SHN_COMMON
    uint8_t type = STT_NOTYPE;
    uint8_t binding = STB_LOCAL;
    uint64_t value = 0;
    uint64_t size = 0;

    bool undefined() const { return section == SHN_UNDEF; }
    bool global() const { return binding != STB_LOCAL; }
};

struct ObjectRelocation {
    uint64_t offset = 0; // in the section that is relocated
    uint32_t type = 0;   // R_*
    uint32_t symbol = 0; // index, always valid
    int64_t addend = 0;
};

class ElfObject {
  public:
    // Holds views into `bytes`, which must outlive the object. `what` names the input in messages.
    // Fails if it is not a relocatable object for the architecture, or if any header, string,
    // symbol or relocation lies outside its table.
    static Result<ElfObject> read(std::string_view bytes, const std::string& what);

    std::span<const ObjectSection> sections() const { return sections_; }
    std::span<const ObjectSymbol> symbols() const { return symbols_; }
    // Returns the relocations that apply to `section` (an index), in file order.
    std::span<const ObjectRelocation> relocations(size_t section) const {
        return relocations_[section];
    }
    // Returns the first section of that name; null if there is none.
    const ObjectSection* section(std::string_view name) const;
    size_t section_index(std::string_view name) const; // 0 (the null section) if there is none
    // Returns the first defined symbol of that name; null if there is none.
    const ObjectSymbol* defined_symbol(std::string_view name) const;
    // Returns a symbol's section; null for undefined, absolute and common symbols.
    const ObjectSection* section_of(const ObjectSymbol& symbol) const;

  private:
    std::vector<ObjectSection> sections_;
    std::vector<ObjectSymbol> symbols_;
    std::vector<std::vector<ObjectRelocation>> relocations_;
};

} // namespace djstap::module
