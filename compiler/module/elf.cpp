// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/elf.h"

#include "arch/arch.h"

#include <cstring>
#include <iterator>
#include <optional>

namespace djstap::module {

namespace {

// Copies the T at `offset`, which need not be aligned; returns nothing if it is out of bounds.
template <class T> std::optional<T> get(std::string_view bytes, uint64_t offset) {
    if (offset > bytes.size() || sizeof(T) > bytes.size() - offset)
        return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::optional<std::string_view> get_string(std::string_view table, uint64_t offset) {
    if (table.empty() && offset == 0)
        return std::string_view{};
    if (offset >= table.size())
        return std::nullopt;
    size_t end = table.find('\0', offset);
    if (end == std::string_view::npos)
        return std::nullopt;
    return table.substr(offset, end - offset);
}

struct Reader {
    std::string_view bytes;
    const std::string& what;
    Elf64_Ehdr header{};

    Failure broken(const std::string& how) const {
        return {what + ": is not a complete object file: " + how, ""};
    }

    Status check_header() {
        auto read = get<Elf64_Ehdr>(bytes, 0);
        if (!read || std::memcmp(read->e_ident, ELFMAG, SELFMAG) != 0)
            return broken("it has no ELF header");
        header = *read;
        if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
            header.e_machine != arch::elf_machine() || header.e_type != ET_REL)
            return Failure{what + ": is not an " + arch::names().title + " relocatable object", ""};
        if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0)
            return broken("it has no section headers");
        if (header.e_shoff > bytes.size() ||
            header.e_shnum > (bytes.size() - header.e_shoff) / sizeof(Elf64_Shdr))
            return broken("the section headers are truncated");
        if (header.e_shstrndx >= header.e_shnum)
            return broken("the section names are missing");
        return Done{};
    }

    Status read_sections(std::vector<ObjectSection>& sections) {
        std::vector<Elf64_Shdr> raw(header.e_shnum);
        std::memcpy(raw.data(), bytes.data() + header.e_shoff, raw.size() * sizeof(Elf64_Shdr));
        for (size_t i = 0; i < raw.size(); i++) {
            ObjectSection section;
            section.type = raw[i].sh_type;
            section.flags = raw[i].sh_flags;
            section.size = raw[i].sh_size;
            section.offset = raw[i].sh_offset;
            section.info = raw[i].sh_info;
            section.link = raw[i].sh_link;
            if (section.type != SHT_NOBITS && section.type != SHT_NULL) {
                if (section.offset > bytes.size() || section.size > bytes.size() - section.offset)
                    return broken("section " + std::to_string(i) + " is truncated");
                section.bytes = bytes.substr(section.offset, section.size);
            }
            sections.push_back(section);
        }
        std::string_view names = sections[header.e_shstrndx].bytes;
        for (size_t i = 0; i < raw.size(); i++) {
            auto name = get_string(names, raw[i].sh_name);
            if (!name)
                return broken("the name of section " + std::to_string(i) + " is outside its table");
            sections[i].name = *name;
        }
        return Done{};
    }

    Status read_symbols(const std::vector<ObjectSection>& sections,
                        std::vector<ObjectSymbol>& symbols, size_t& table) {
        table = 0;
        for (size_t i = 1; i < sections.size(); i++) {
            if (sections[i].type == SHT_SYMTAB_SHNDX)
                return broken("it has more sections than a module can have");
            if (sections[i].type != SHT_SYMTAB)
                continue;
            if (table)
                return broken("it has two symbol tables");
            table = i;
        }
        if (!table)
            return Done{};
        if (sections[table].link >= sections.size())
            return broken("the symbol names are missing");
        std::string_view names = sections[sections[table].link].bytes;
        std::string_view entries = sections[table].bytes;
        if (entries.size() % sizeof(Elf64_Sym))
            return broken("the symbol table is truncated");
        for (size_t at = 0; at < entries.size(); at += sizeof(Elf64_Sym)) {
            Elf64_Sym raw = *get<Elf64_Sym>(entries, at);
            auto name = get_string(names, raw.st_name);
            if (!name)
                return broken("a symbol name is outside the string table");
            if (raw.st_shndx >= sections.size() && raw.st_shndx < SHN_LORESERVE)
                return broken("symbol '" + std::string(*name) + "' is not in any section");
            symbols.push_back(
                {*name, raw.st_shndx, static_cast<uint8_t>(ELF64_ST_TYPE(raw.st_info)),
                 static_cast<uint8_t>(ELF64_ST_BIND(raw.st_info)), raw.st_value, raw.st_size});
        }
        return Done{};
    }

    Status read_relocations(const std::vector<ObjectSection>& sections, size_t symbol_count,
                            size_t symbol_table,
                            std::vector<std::vector<ObjectRelocation>>& relocations) {
        relocations.resize(sections.size());
        for (const ObjectSection& section : sections) {
            std::string name(section.name);
            if (section.type == SHT_REL)
                return broken("relocations without addends in " + name);
            if (section.type != SHT_RELA)
                continue;
            if (section.info == 0 || section.info >= sections.size() ||
                section.link != symbol_table || section.bytes.size() % sizeof(Elf64_Rela))
                return broken("the relocations in " + name + " do not belong to any section");
            const ObjectSection& patched = sections[section.info];
            auto& list = relocations[section.info];
            for (size_t at = 0; at < section.bytes.size(); at += sizeof(Elf64_Rela)) {
                Elf64_Rela raw = *get<Elf64_Rela>(section.bytes, at);
                uint32_t symbol = ELF64_R_SYM(raw.r_info);
                if (symbol >= symbol_count)
                    return broken("a relocation in " + name + " does not refer to a symbol");
                if (raw.r_offset >= patched.bytes.size())
                    return broken("a relocation in " + name + " is outside its section");
                list.push_back({raw.r_offset, static_cast<uint32_t>(ELF64_R_TYPE(raw.r_info)),
                                symbol, raw.r_addend});
            }
        }
        return Done{};
    }
};

} // namespace

Result<ElfObject> ElfObject::read(std::string_view bytes, const std::string& what) {
    Reader reader{bytes, what};
    ElfObject object;
    size_t symbol_table = 0;
    if (Status ok = reader.check_header(); !ok)
        return ok.failure();
    if (Status ok = reader.read_sections(object.sections_); !ok)
        return ok.failure();
    if (Status ok = reader.read_symbols(object.sections_, object.symbols_, symbol_table); !ok)
        return ok.failure();
    if (Status ok = reader.read_relocations(object.sections_, object.symbols_.size(), symbol_table,
                                            object.relocations_);
        !ok)
        return ok.failure();
    return object;
}

const ObjectSection* ElfObject::section(std::string_view name) const {
    size_t index = section_index(name);
    return index ? &sections_[index] : nullptr;
}

size_t ElfObject::section_index(std::string_view name) const {
    for (size_t i = 1; i < sections_.size(); i++) {
        if (sections_[i].name == name)
            return i;
    }
    return 0;
}

const ObjectSymbol* ElfObject::defined_symbol(std::string_view name) const {
    for (const ObjectSymbol& symbol : symbols_) {
        if (!symbol.undefined() && symbol.name == name)
            return &symbol;
    }
    return nullptr;
}

const ObjectSection* ElfObject::section_of(const ObjectSymbol& symbol) const {
    if (symbol.undefined() || symbol.section >= sections_.size())
        return nullptr;
    return &sections_[symbol.section];
}

} // namespace djstap::module
