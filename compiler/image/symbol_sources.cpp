// SPDX-License-Identifier: GPL-2.0-or-later
// Reads symbols from vmlinux or from a text dump.
#include "image/symbol_table.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <unordered_set>

namespace djstap {

namespace {

using Addresses = std::unordered_map<std::string_view, uint64_t>;

// The symbols with which the kernel's linker script delimits code that kprobes must not touch.
constexpr std::pair<std::string_view, std::string_view> forbidden_marks[] = {
    {"__entry_text_start", "__entry_text_end"},
    {"__noinstr_text_start", "__noinstr_text_end"},
    {"__kprobes_text_start", "__kprobes_text_end"},
    // The trampolines of static calls, which the kernel patches while it runs. It stops if one of
    // them has a breakpoint, but does not refuse the breakpoint.
    {"__static_call_text_start", "__static_call_text_end"},
};
// The same of a module.
constexpr std::string_view forbidden_sections[] = {".noinstr.text", ".kprobes.text",
                                                   ".static_call.text"};

void add_marked_ranges(const Addresses& marks, SymbolSource& source) {
    auto address = [&](std::string_view name) {
        auto found = marks.find(name);
        return found == marks.end() ? 0 : found->second;
    };
    for (auto [begin, end] : forbidden_marks)
        source.forbidden.push_back({address(begin), address(end)});
    source.text = {address("_stext"), address("_etext")};
}

// Returns the 64-bit values between two symbols, from the file, or from relocations if the file
// contains zeros.
std::vector<uint64_t> values_between(const ElfFile& elf, uint64_t begin, uint64_t end) {
    std::vector<uint64_t> values;
    if (begin == 0 || end <= begin)
        return values;
    std::string_view bytes = elf.bytes_at(begin, end - begin);
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes.size(); i += sizeof(uint64_t)) {
        uint64_t value;
        std::memcpy(&value, bytes.data() + i, sizeof value);
        if (value != 0)
            values.push_back(value);
    }
    if (!values.empty())
        return values;
    for (const ElfSection& section : elf.sections()) {
        if (section.type != SHT_RELA || section.info >= elf.sections().size())
            continue;
        const ElfSection& target = elf.sections()[section.info];
        if (begin < target.address || begin >= target.address + target.bytes.size())
            continue;
        for (size_t i = 0; i + sizeof(Elf64_Rela) <= section.bytes.size();
             i += sizeof(Elf64_Rela)) {
            Elf64_Rela relocation;
            std::memcpy(&relocation, section.bytes.data() + i, sizeof relocation);
            if (relocation.r_offset < begin || relocation.r_offset >= end)
                continue;
            uint64_t symbol = ELF64_R_SYM(relocation.r_info);
            uint64_t base = symbol < elf.symbols().size() ? elf.symbols()[symbol].st_value : 0;
            values.push_back(base + relocation.r_addend);
        }
    }
    return values;
}

template <class Line> void each_line(std::string_view text, Line line) {
    while (!text.empty()) {
        size_t end = text.find('\n');
        line(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
}

bool parse_hex(std::string_view& text, uint64_t& value) {
    if (text.starts_with("0x"))
        text.remove_prefix(2);
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc())
        return false;
    text.remove_prefix(end - text.data());
    return true;
}

} // namespace

namespace {

// Symbols, section marks and the sizes of functions.
struct FileSymbols {
    SymbolSource source;
    Addresses marks;
    std::unordered_map<uint64_t, uint64_t> sizes;
};

FileSymbols read_symbols(const ElfFile& elf) {
    FileSymbols read;
    auto& [source, marks, sizes] = read;
    source.symbols.reserve(elf.symbols().size());
    for (const Elf64_Sym& symbol : elf.symbols()) {
        int type = ELF64_ST_TYPE(symbol.st_info);
        std::string_view name = elf.symbol_name(symbol);
        if (symbol.st_shndx == SHN_UNDEF || type == STT_SECTION || type == STT_FILE || name.empty())
            continue;
        uint32_t flags = ELF64_ST_BIND(symbol.st_info) != STB_LOCAL ? symbol_global : 0;
        bool executable = symbol.st_shndx < elf.sections().size() &&
                          (elf.sections()[symbol.st_shndx].flags & SHF_EXECINSTR);
        if (type == STT_FUNC || (executable && type == STT_NOTYPE))
            flags |= symbol_text;
        if (type == STT_FUNC) {
            flags |= symbol_function;
            // The linker's aliases have no size: ftrace_ops_list_func.
            uint64_t& size = sizes[symbol.st_value];
            size = std::max<uint64_t>(size, symbol.st_size);
        }
        source.symbols.push_back({name, symbol.st_value, symbol.st_size, flags});
        if (name.starts_with('_'))
            marks.emplace(name, symbol.st_value);
    }
    return read;
}

void forbid_functions(const std::vector<uint64_t>& entries, FileSymbols& read) {
    for (uint64_t entry : entries) {
        auto size = read.sizes.find(entry);
        uint64_t bytes = std::max<uint64_t>(size == read.sizes.end() ? 0 : size->second, 1);
        read.source.forbidden.push_back({entry, entry + bytes});
    }
}

// The kernel refuses kprobes at instructions that it patches itself: static branches and static
// calls. An entry of their tables begins with the distance from itself to the instruction (struct
// jump_entry with CONFIG_HAVE_ARCH_JUMP_LABEL_RELATIVE, struct static_call_site).
struct PatchTable {
    std::string_view section;    // of a module
    std::string_view begin, end; // in the kernel
    size_t entry_bytes;
};
constexpr PatchTable patch_tables[] = {
    {"__jump_table", "__start___jump_table", "__stop___jump_table", 16},
    {".static_call_sites", "__start_static_call_sites", "__stop_static_call_sites", 8},
};
constexpr uint64_t shortest_patch = 2; // bytes

void forbid_patched(uint64_t instruction, SymbolSource& source) {
    if (instruction >= source.text.begin && instruction < source.text.end)
        source.forbidden.push_back({instruction, instruction + shortest_patch});
}

void forbid_patched_by_kernel(const ElfFile& elf, Addresses& marks, SymbolSource& source) {
    for (const PatchTable& table : patch_tables) {
        const uint64_t begin = marks[table.begin], end = marks[table.end];
        if (begin == 0 || end <= begin)
            continue;
        const std::string_view bytes = elf.bytes_at(begin, end - begin);
        for (size_t i = 0; i + table.entry_bytes <= bytes.size(); i += table.entry_bytes) {
            int32_t distance;
            std::memcpy(&distance, bytes.data() + i, sizeof distance);
            forbid_patched(begin + i + static_cast<uint64_t>(int64_t{distance}), source);
        }
    }
}

// In a module, relocations have the addresses.
void forbid_patched_in_module(const ElfFile& elf, SymbolSource& source) {
    for (const ElfSection& section : elf.sections()) {
        if (section.type != SHT_RELA || section.info >= elf.sections().size())
            continue;
        const std::string_view target = elf.sections()[section.info].name;
        const auto* table =
            std::find_if(std::begin(patch_tables), std::end(patch_tables),
                         [&](const PatchTable& each) { return each.section == target; });
        if (table == std::end(patch_tables))
            continue;
        for (size_t i = 0; i + sizeof(Elf64_Rela) <= section.bytes.size();
             i += sizeof(Elf64_Rela)) {
            Elf64_Rela relocation;
            std::memcpy(&relocation, section.bytes.data() + i, sizeof relocation);
            const uint64_t symbol = ELF64_R_SYM(relocation.r_info);
            if (relocation.r_offset % table->entry_bytes == 0 && symbol < elf.symbols().size())
                forbid_patched(elf.symbols()[symbol].st_value +
                                   static_cast<uint64_t>(relocation.r_addend),
                               source);
        }
    }
}

// Returns all 64-bit values in a section.
std::vector<uint64_t> values_of(const ElfFile& elf, std::string_view name) {
    const ElfSection* section = elf.section(name);
    std::vector<uint64_t> values;
    for (size_t i = 0; section && i + sizeof(uint64_t) <= section->bytes.size();
         i += sizeof(uint64_t)) {
        uint64_t value;
        std::memcpy(&value, section->bytes.data() + i, sizeof value);
        values.push_back(value);
    }
    return values;
}

} // namespace

SymbolSource symbols_of_module(const ElfFile& elf) {
    FileSymbols read = read_symbols(elf);
    SymbolSource& source = read.source;
    source.text = {UINT64_MAX, 0};
    for (const ElfSection& section : elf.sections()) {
        if (!(section.flags & SHF_ALLOC) || !(section.flags & SHF_EXECINSTR) ||
            section.bytes.empty() || section.name.starts_with(".init"))
            continue;
        AddressRange range{section.address, section.address + section.bytes.size()};
        source.text = {std::min(source.text.begin, range.begin),
                       std::max(source.text.end, range.end)};
        if (std::find(std::begin(forbidden_sections), std::end(forbidden_sections), section.name) !=
            std::end(forbidden_sections))
            source.forbidden.push_back(range);
    }
    source.fentry_sites = values_of(elf, "__mcount_loc");
    forbid_functions(values_of(elf, "_kprobe_blacklist"), read);
    forbid_patched_in_module(elf, source);
    return std::move(source);
}

SymbolSource symbols_of_program(const ElfFile& elf, const ElfFile* separate) {
    SymbolSource source;
    std::set<std::pair<std::string_view, uint64_t>> known;
    auto add = [&](const ElfFile& file, const Elf64_Sym& symbol, std::string_view name) {
        const unsigned type = ELF64_ST_TYPE(symbol.st_info);
        // "memcpy@@GLIBC_2.14"
        name = name.substr(0, name.find('@'));
        if (name.empty() || symbol.st_shndx == SHN_UNDEF ||
            symbol.st_shndx >= file.sections().size() || type > STT_FUNC ||
            !known.insert({name, symbol.st_value}).second)
            return;
        uint32_t flags = ELF64_ST_BIND(symbol.st_info) != STB_LOCAL ? symbol_global : 0;
        if (type != STT_OBJECT && (file.sections()[symbol.st_shndx].flags & SHF_EXECINSTR))
            flags |= symbol_text;
        if (type == STT_FUNC)
            flags |= symbol_function;
        source.symbols.push_back({name, symbol.st_value, symbol.st_size, flags});
    };
    for (const ElfFile* file : {&elf, separate}) {
        if (!file)
            continue;
        for (const Elf64_Sym& symbol : file->symbols())
            add(*file, symbol, file->symbol_name(symbol));
        for (const ElfSection& section : file->sections()) {
            if (section.type != SHT_DYNSYM || section.link >= file->sections().size())
                continue;
            const std::string_view names = file->sections()[section.link].bytes;
            for (size_t at = 0; at + sizeof(Elf64_Sym) <= section.bytes.size();
                 at += sizeof(Elf64_Sym)) {
                Elf64_Sym symbol;
                std::memcpy(&symbol, section.bytes.data() + at, sizeof symbol);
                add(*file, symbol, pool_string(names, symbol.st_name));
            }
        }
    }
    source.text = {UINT64_MAX, 0};
    for (const Elf64_Phdr& header : elf.program_headers())
        if (header.p_type == PT_LOAD && (header.p_flags & PF_X) &&
            header.p_filesz <= UINT64_MAX - header.p_vaddr)
            source.text = {std::min(source.text.begin, header.p_vaddr),
                           std::max(source.text.end, header.p_vaddr + header.p_filesz)};
    return source;
}

SymbolSource symbols_of_kernel(const ElfFile& elf, const ElfFile& with_symbols) {
    FileSymbols read = read_symbols(with_symbols);
    auto& [source, marks, sizes] = read;
    add_marked_ranges(marks, source);
    // For the linker, these marks are text symbols, but they are not code: they would hide the code
    // at their addresses.
    std::erase_if(source.symbols, [](const SymbolSource::Entry& entry) {
        return (entry.flags & symbol_text) && !(entry.flags & symbol_function) && entry.size == 0 &&
               (entry.name.ends_with("_text_start") || entry.name.ends_with("_text_end"));
    });
    source.fentry_sites =
        values_between(elf, marks["__start_mcount_loc"], marks["__stop_mcount_loc"]);
    forbid_functions(
        values_between(elf, marks["__start_kprobe_blacklist"], marks["__stop_kprobe_blacklist"]),
        read);
    forbid_patched_by_kernel(elf, marks, source);
    return std::move(source);
}

Result<SymbolSource> symbols_of_dump(std::string_view dump, std::string_view fentry_functions,
                                     std::string_view kprobe_blacklist, const std::string& path) {
    SymbolSource source;
    Addresses marks;
    bool any_address = false;
    each_line(dump, [&](std::string_view line) {
        uint64_t address = 0;
        if (!parse_hex(line, address) || line.size() < 4 || line[0] != ' ' || line[2] != ' ')
            return;
        char type = line[1];
        std::string_view name = line.substr(3);
        // undefined, absolute (per-CPU offsets), or a module's
        if (type == 'U' || type == 'A' || name.find('\t') != std::string_view::npos)
            return;
        uint32_t flags = (type >= 'A' && type <= 'Z') ? symbol_global : 0;
        if (type == 't' || type == 'T' || type == 'w' || type == 'W')
            flags |= symbol_text | symbol_function;
        any_address = any_address || address != 0;
        source.symbols.push_back({name, address, 0, flags});
        if (name.starts_with('_'))
            marks.emplace(name, address);
    });
    if (source.symbols.empty())
        return Failure{path + ": has no symbols", ""};
    if (any_address)
        add_marked_ranges(marks, source);
    std::unordered_map<std::string_view, uint64_t> text_names;
    std::vector<uint64_t> starts;
    for (const auto& entry : source.symbols) {
        if (entry.flags & symbol_text) {
            text_names.emplace(entry.name, entry.address);
            starts.push_back(entry.address);
        }
    }
    std::sort(starts.begin(), starts.end());
    for (auto& entry : source.symbols) {
        auto next = std::upper_bound(starts.begin(), starts.end(), entry.address);
        if ((entry.flags & symbol_text) && any_address && next != starts.end())
            entry.size = *next - entry.address;
    }
    // "name", "name [module]", or with addresses (available_filter_functions_addrs) "address name".
    each_line(fentry_functions, [&](std::string_view line) {
        uint64_t site = 0;
        std::string_view rest = line;
        if (parse_hex(rest, site) && line.size() - rest.size() == 16 && rest.starts_with(' ')) {
            if (rest.find(" [") == std::string_view::npos)
                source.fentry_sites.push_back(site);
            return;
        }
        if (auto found = text_names.find(line); found != text_names.end() && found->second != 0)
            source.fentry_sites.push_back(found->second);
    });
    // "0xbegin-0xend\tname"
    each_line(kprobe_blacklist, [&](std::string_view line) {
        AddressRange range{0, 0};
        if (parse_hex(line, range.begin) && line.starts_with('-')) {
            line.remove_prefix(1);
            if (parse_hex(line, range.end))
                source.forbidden.push_back(range);
        }
    });
    return source;
}

} // namespace djstap
