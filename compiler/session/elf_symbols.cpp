// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/elf_symbols.h"

#include "system/elf_notes.h"

#include <algorithm>
#include <cstring>
#include <elf.h>

namespace djstap {

namespace {

// Of all that is read of a file: sections may overlap.
constexpr uint64_t most_sections = 1U << 16, most_bytes = 1U << 28;
constexpr size_t longest_name = 4096; // names of templates are long

} // namespace

struct ElfSymbols::Reader {
    const Read& read;
    uint64_t bytes;
    std::vector<Elf64_Shdr> sections;
    mutable uint64_t left = most_bytes;

    bool may_read(uint64_t size) const {
        if (size > left)
            return false;
        left -= size;
        return true;
    }
    template <class Item> bool items(uint64_t offset, uint64_t count, std::vector<Item>& to) const {
        if (offset > bytes || count > (bytes - offset) / sizeof(Item) ||
            !may_read(count * sizeof(Item)))
            return false;
        to.resize(count);
        return !count || read(offset, to.data(), count * sizeof(Item));
    }
    std::optional<std::string> content(const Elf64_Shdr& section) const {
        std::string text;
        if (section.sh_type == SHT_NOBITS || section.sh_offset > bytes ||
            section.sh_size > bytes - section.sh_offset || !may_read(section.sh_size))
            return std::nullopt;
        text.resize(section.sh_size);
        if (!text.empty() && !read(section.sh_offset, text.data(), text.size()))
            return std::nullopt;
        return text;
    }
    bool open() {
        Elf64_Ehdr header;
        constexpr char order = ELFDATA2LSB;
        if (bytes < sizeof header || !read(0, &header, sizeof header) ||
            std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
            header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != order ||
            header.e_shentsize != sizeof(Elf64_Shdr))
            return false;
        uint64_t count = header.e_shnum;
        if (!count && header.e_shoff) {
            std::vector<Elf64_Shdr> first;
            if (!items(header.e_shoff, 1, first))
                return false;
            count = first[0].sh_size;
        }
        return count <= most_sections && items(header.e_shoff, count, sections);
    }
    void symbols(const Elf64_Shdr& table, ElfSymbols& to) const {
        std::vector<Elf64_Sym> symbols;
        if (table.sh_link >= sections.size() ||
            !items(table.sh_offset, table.sh_size / sizeof(Elf64_Sym), symbols))
            return;
        auto strings = content(sections[table.sh_link]);
        if (!strings)
            return;
        const auto index = static_cast<uint32_t>(to.strings_.size());
        to.strings_.push_back(std::move(*strings));
        for (const Elf64_Sym& symbol : symbols)
            add(symbol, index, to);
    }
    void add(const Elf64_Sym& symbol, uint32_t strings, ElfSymbols& to) const {
        const uint8_t type = ELF64_ST_TYPE(symbol.st_info), bind = ELF64_ST_BIND(symbol.st_info);
        const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE ||
            (!is_function && type != STT_NOTYPE))
            return;
        // Marks in code that is written in assembly language.
        if (!is_function && (symbol.st_shndx >= sections.size() ||
                             !(sections[symbol.st_shndx].sh_flags & SHF_EXECINSTR)))
            return;
        const Entry entry{symbol.st_value, symbol.st_size, strings, symbol.st_name,
                          static_cast<uint8_t>((is_function ? 0 : 4) + (bind == STB_GLOBAL ? 0
                                                                        : bind == STB_WEAK ? 1
                                                                                           : 2))};
        if (!to.name_of(entry).empty())
            to.entries_.push_back(entry);
    }
};

std::string_view ElfSymbols::name_of(const Entry& entry) const {
    const std::string& strings = strings_[entry.strings];
    if (entry.name >= strings.size())
        return {};
    const std::string_view rest = std::string_view(strings).substr(entry.name, longest_name);
    return rest.substr(0, std::min(rest.find('\0'), rest.find('@')));
}

// Drops entries that a better one at the same address hides: at() looks at all that an address has.
void ElfSymbols::drop_hidden(std::vector<Entry>& sorted) {
    constexpr size_t most_at_address = 8;
    size_t kept = 0, first = 0; // the number of entries, and the first one at the current address
    uint64_t longest = 0;
    bool has_mark = false; // one without a size
    for (const Entry& entry : sorted) {
        if (kept == first || sorted[first].address != entry.address) {
            first = kept;
            longest = 0;
            has_mark = false;
        }
        if (entry.size ? entry.size <= longest || kept - first >= most_at_address : has_mark)
            continue;
        longest = std::max(longest, entry.size);
        has_mark |= !entry.size;
        sorted[kept++] = entry;
    }
    sorted.resize(kept);
    sorted.shrink_to_fit();
}

std::optional<ElfSymbols> ElfSymbols::read(const Read& read, uint64_t bytes,
                                           const std::string* build_id) {
    Reader reader{read, bytes, {}};
    if (!reader.open())
        return std::nullopt;
    ElfSymbols out;
    const Elf64_Shdr* tables[2] = {}; // the first of each kind
    for (const Elf64_Shdr& section : reader.sections) {
        if (section.sh_type == SHT_NOTE && out.build_id_.empty()) {
            if (const auto notes = reader.content(section))
                out.build_id_ = hexadecimal(gnu_build_id(*notes).value_or(""));
        } else if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) {
            const Elf64_Shdr*& table = tables[section.sh_type == SHT_SYMTAB];
            table = table ? table : &section;
        }
    }
    if (build_id && *build_id != out.build_id_)
        return std::nullopt;
    out.has_table_ = tables[1];
    for (const Elf64_Shdr* table : tables)
        if (table)
            reader.symbols(*table, out);
    auto& entries = out.entries_;
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return a.address != b.address ? a.address < b.address : a.rank < b.rank;
    });
    drop_hidden(entries);
    uint64_t reach = 0;
    for (const Entry& entry : entries) {
        reach = std::max(reach, entry.address + entry.size);
        out.reaches_.push_back(reach);
    }
    return out;
}

size_t ElfSymbols::memory() const {
    size_t bytes = entries_.capacity() * sizeof(Entry) + reaches_.capacity() * sizeof(uint64_t);
    for (const std::string& strings : strings_)
        bytes += strings.capacity();
    return bytes;
}

std::optional<ElfSymbols::Symbol> ElfSymbols::at(uint64_t address) const {
    const auto behind =
        std::upper_bound(entries_.begin(), entries_.end(), address,
                         [](uint64_t at, const Entry& entry) { return at < entry.address; });
    const Entry* found = nullptr;
    constexpr int tried = 64; // symbols in each other
    auto left = tried;
    for (auto at = behind; at != entries_.begin() && left--;) {
        --at;
        if (reaches_[static_cast<size_t>(at - entries_.begin())] <= address)
            break;
        if (address - at->address >= at->size)
            continue;
        // Of those at the same address, the first one is the best.
        if (found && found->address != at->address)
            break;
        found = &*at;
    }
    if (!found && behind != entries_.begin()) {
        // A symbol without a size reaches as far as the next one.
        const uint64_t begin = (behind - 1)->address;
        const auto first =
            std::lower_bound(entries_.begin(), behind, begin,
                             [](const Entry& entry, uint64_t at) { return entry.address < at; });
        for (auto at = first; at != behind && !found; ++at)
            if (!at->size)
                found = &*at;
    }
    if (!found)
        return std::nullopt;
    return Symbol{found->address, found->size, name_of(*found)};
}

} // namespace djstap
