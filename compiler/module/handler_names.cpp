// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/handler_names.h"

#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

namespace djstap::module {

namespace {

template <class Value> void put(std::string& file, size_t place, Value value) {
    std::memcpy(file.data() + place, &value, sizeof value);
}

// Puts a string table that also has `name` at the end of the file; the former one stays unused.
// Returns the place of the name in it.
uint32_t add_string(std::string& file, size_t table, const ObjectSection& old,
                    std::string_view name) {
    Elf64_Ehdr header;
    std::memcpy(&header, file.data(), sizeof header);
    std::string strings(old.bytes);
    const auto place = static_cast<uint32_t>(strings.size());
    strings.append(name).push_back('\0');
    const size_t section = header.e_shoff + table * sizeof(Elf64_Shdr);
    put<Elf64_Off>(file, section + offsetof(Elf64_Shdr, sh_offset), file.size());
    put<Elf64_Xword>(file, section + offsetof(Elf64_Shdr, sh_size), strings.size());
    file += strings;
    return place;
}

} // namespace

void name_handlers_as_one(std::string& file, const ElfObject& module,
                          const std::set<std::string, std::less<>>& kept) {
    const size_t section = module.section_index(handler_section);
    const ObjectSection* table = module.section(".symtab");
    std::optional<size_t> whole; // the section's own symbol
    std::vector<size_t> others;
    for (size_t i = 0; section && table && i < module.symbols().size(); i++) {
        const ObjectSymbol& symbol = module.symbols()[i];
        if (symbol.section != section)
            continue;
        if (symbol.type == STT_SECTION)
            whole = i;
        else if (!kept.contains(symbol.name))
            others.push_back(i);
    }
    // Without a name for it, the code would seem to belong to what is before it.
    if (!whole || others.empty())
        return;
    const size_t symbols = table->offset, strings = table->link;
    const auto place = [&](size_t index) {
        return symbols + index * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_name);
    };
    const uint32_t name = add_string(file, strings, module.sections()[strings], handler_code_name);
    put<Elf64_Word>(file, place(*whole), name);
    for (const size_t index : others)
        put<Elf64_Word>(file, place(index), 0);
}

} // namespace djstap::module
