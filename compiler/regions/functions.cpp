// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/functions.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace djstap::regions {

namespace {

void add_symbols(const Code& code, const ElfSection& table, std::string_view names,
                 std::vector<Symbol>& out) {
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= table.bytes.size(); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, table.bytes.data() + at, sizeof symbol);
        const unsigned type = ELF64_ST_TYPE(symbol.st_info);
        const std::string_view name = pool_string(names, symbol.st_name);
        // Space before a kernel's function, for code that is written there.
        const bool padding = name.starts_with("__pfx_") || name.starts_with("__cfi_");
        const bool function = (type == STT_FUNC && !padding) || type == STT_GNU_IFUNC;
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS ||
            (!function && !padding && type != STT_NOTYPE) || !code.index(symbol.st_value))
            continue;
        out.push_back({name, symbol.st_value, symbol.st_size, function,
                       ELF64_ST_BIND(symbol.st_info) != STB_LOCAL});
    }
}

} // namespace

std::vector<Symbol> code_symbols(const Code& code) {
    std::vector<Symbol> symbols;
    const auto sections = code.file().sections();
    for (const ElfSection& section : sections)
        if ((section.type == SHT_SYMTAB || section.type == SHT_DYNSYM) &&
            section.link < sections.size())
            add_symbols(code, section, sections[section.link].bytes, symbols);
    // Of several at an address, the first one names the function.
    auto rank = [](const Symbol& each) {
        return std::tuple(each.address, !each.function, ~each.size, !each.global, each.name.size(),
                          each.name);
    };
    std::sort(symbols.begin(), symbols.end(),
              [&](const Symbol& a, const Symbol& b) { return rank(a) < rank(b); });
    return symbols;
}

std::vector<FunctionRange> find_functions(const Code& code, const std::vector<Symbol>& symbols,
                                          const Frames& frames, const GoTable& go) {
    std::vector<FunctionRange> functions;
    auto add = [&](std::string_view name, uint64_t address, uint64_t size) {
        const std::optional<Index> first = code.index(address);
        if (!first)
            return;
        const Index rest = code.section_at(*first).end() - *first;
        functions.push_back(
            {name, *first, *first + static_cast<Index>(std::min<uint64_t>(size, rest)), 0});
    };
    for (size_t i = 0; i < symbols.size(); i++) {
        const Symbol& symbol = symbols[i];
        if (!symbol.function || (i && symbols[i - 1].address == symbol.address))
            continue;
        uint64_t size = symbol.size;
        if (size == 0) { // written in assembler: up to the next symbol
            size_t next = i + 1;
            while (next < symbols.size() && symbols[next].address == symbol.address)
                next++;
            size = next < symbols.size() ? symbols[next].address - symbol.address : UINT32_MAX;
        }
        add(symbol.name, symbol.address, size);
    }
    const size_t named = functions.size();
    auto add_unnamed = [&](std::string_view name, uint64_t address, uint64_t size) {
        const std::optional<Index> first = code.index(address);
        if (!first || size == 0)
            return;
        auto after = std::upper_bound(
            functions.begin(), functions.begin() + static_cast<ptrdiff_t>(named), *first,
            [](Index value, const FunctionRange& each) { return value < each.first; });
        if (after == functions.begin() || (after - 1)->end <= *first)
            add(name, address, size);
    };
    for (const GoFunction& function : go.functions)
        add_unnamed(function.name, function.address, function.size);
    for (const Frame& frame : frames.all())
        if (!go.at(frame.address))
            add_unnamed({}, frame.address, frame.size);
    std::stable_sort(functions.begin(), functions.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    functions.erase(std::unique(functions.begin(), functions.end(),
                                [](const auto& a, const auto& b) { return a.first == b.first; }),
                    functions.end());
    for (size_t i = 0; i < functions.size(); i++) {
        if (i + 1 < functions.size())
            functions[i].end = std::min(functions[i].end, functions[i + 1].first);
        functions[i].filled_end = functions[i].end;
    }
    return functions;
}

} // namespace djstap::regions
