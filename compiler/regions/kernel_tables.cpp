// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/kernel_tables.h"

#include "arch/arch.h"
#include "arch/instructions.h"
#include "debuginfo/btf.h"
#include "regions/loader_writes.h"
#include "system/byte_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace djstap::regions {

namespace {

// A part of the image, between two symbols or of a section.
struct Table {
    std::string_view bytes;
    uint64_t address = 0;

    uint64_t end() const { return address + bytes.size(); }
};

// The symbols that bound tables and ranges of code.
class Bounds {
  public:
    explicit Bounds(const ElfFile& file) : file_(file) {
        for (const Elf64_Sym& symbol : file.symbols()) {
            const std::string_view name = file.symbol_name(symbol);
            if (name.starts_with("__"))
                symbols_.try_emplace(name, symbol.st_value);
        }
    }
    std::optional<uint64_t> at(std::string_view name) const {
        auto found = symbols_.find(name);
        return found == symbols_.end() ? std::nullopt : std::optional(found->second);
    }
    Table between(std::string_view first, std::string_view end) const {
        const auto low = at(first), high = at(end);
        if (!low || !high || *high <= *low)
            return {};
        return {file_.bytes_at(*low, *high - *low), *low};
    }

  private:
    const ElfFile& file_;
    std::map<std::string_view, uint64_t> symbols_;
};

Table section_table(const ElfFile& file, std::string_view name) {
    const ElfSection* section = file.section(name);
    return section ? Table{section->bytes, section->address} : Table{};
}

// A number in a table that is relative to its own address.
uint64_t relative(const Table& table, size_t at) {
    ByteReader reader(table.bytes.substr(std::min(at, table.bytes.size())));
    return table.address + at + static_cast<uint64_t>(int64_t{reader.fixed<int32_t>()});
}

template <class T> T number(const Table& table, size_t at) {
    return ByteReader(table.bytes.substr(std::min(at, table.bytes.size()))).fixed<T>();
}

size_t instruction_bytes(const Code& code, uint64_t address) {
    const std::optional<Index> at = code.instruction(address);
    return at ? code.lengths[*at] : arch::planted_jump_bytes();
}

// struct jump_entry: the code, its target, a key
void read_jump_labels(Code& code, const Table& table) {
    for (size_t at = 0; at + 16 <= table.bytes.size(); at += 16) {
        const uint64_t site = relative(table, at);
        code.write(site, instruction_bytes(code, site), AsJumpLabel);
        code.enter(relative(table, at + 4), ByJumpLabel);
    }
}

// struct static_call_site: the code, a key
void read_static_calls(Code& code, const Table& table) {
    for (size_t at = 0; at + 8 <= table.bytes.size(); at += 8)
        code.write(relative(table, at), arch::planted_jump_bytes(), AsStaticCall);
}

// struct exception_table_entry: the instruction, where a fault continues, how
void read_exception_table(Code& code, const Table& table) {
    for (size_t at = 0; at + 12 <= table.bytes.size(); at += 12) {
        if (const std::optional<Index> site = code.index(relative(table, at)))
            code.traits[*site] |= Faults;
        code.enter(relative(table, at + 4), ByFixup);
    }
}

bool is_code(const ElfFile& file, uint64_t address) {
    const auto sections = file.sections();
    return std::any_of(sections.begin(), sections.end(), [&](const ElfSection& each) {
        return (each.flags & SHF_EXECINSTR) && address - each.address < each.size;
    });
}

using Places = std::vector<std::pair<uint64_t, size_t>>;

// struct alt_instr: the code, its replacement, features, two lengths. The features grew.
void read_alternatives(const ElfFile& file, const Table& table, const Table& replacements,
                       Places& out) {
    auto fits = [&](size_t size) {
        if (table.bytes.size() % size)
            return false;
        for (size_t at = 0; at < table.bytes.size(); at += size) {
            const uint64_t replacement = relative(table, at + 4);
            const uint64_t length = number<uint8_t>(table, at + size - 1);
            if (!is_code(file, relative(table, at)) || replacement < replacements.address ||
                replacement + length > replacements.end())
                return false;
        }
        return true;
    };
    constexpr std::array<size_t, 3> sizes{12, 13, 14};
    auto size = std::find_if(sizes.begin(), sizes.end(), fits);
    if (size == sizes.end())
        return;
    for (size_t at = 0; at + *size <= table.bytes.size(); at += *size)
        out.emplace_back(relative(table, at), number<uint8_t>(table, at + *size - 2));
}

// struct paravirt_patch_site: the code, what it does, its length
void read_paravirt_sites(const Table& table, Places& out) {
    for (size_t at = 0; at + 16 <= table.bytes.size(); at += 16)
        out.emplace_back(number<uint64_t>(table, at), number<uint8_t>(table, at + 9));
}

void read_ftrace_sites(Code& code, const Table& table) {
    for (size_t at = 0; at + 8 <= table.bytes.size(); at += 8) {
        const auto site = number<uint64_t>(table, at);
        code.write(site, instruction_bytes(code, site), ByFtrace);
    }
}

// The end of what the kernel takes for the function with this address.
uint64_t symbol_end(const std::vector<Symbol>& symbols, uint64_t address) {
    auto after =
        std::upper_bound(symbols.begin(), symbols.end(), address,
                         [](uint64_t value, const Symbol& each) { return value < each.address; });
    return after == symbols.end() ? UINT64_MAX : after->address;
}

void forbid_probes(Code& code, const Bounds& bounds, const std::vector<Symbol>& symbols,
                   bool is_module) {
    auto forbid = [&](const char* first, const char* end) {
        const auto low = bounds.at(first), high = bounds.at(end);
        if (low && high && *high > *low)
            code.write(*low, *high - *low, NoProbes);
    };
    forbid("__entry_text_start", "__entry_text_end");
    forbid("__noinstr_text_start", "__noinstr_text_end");
    forbid("__kprobes_text_start", "__kprobes_text_end");
    const Table list = is_module
                           ? section_table(code.file(), "_kprobe_blacklist")
                           : bounds.between("__start_kprobe_blacklist", "__stop_kprobe_blacklist");
    for (size_t at = 0; at + 8 <= list.bytes.size(); at += 8) {
        const auto function = number<uint64_t>(list, at);
        code.write(function, symbol_end(symbols, function) - function, NoProbes);
    }
    auto forbid_section = [&](const char* name) {
        if (const ElfSection* section = code.file().section(name))
            code.write(section->address, section->size, NoProbes);
    };
    // What runs only once, before any probe, and what is only copied.
    for (const char* name : {".init.text", ".altinstr_aux", ".altinstr_replacement"})
        forbid_section(name);
    if (!is_module) {
        forbid_section(".exit.text"); // never runs
        return;
    }
    for (const char* name : {".noinstr.text", ".kprobes.text", ".entry.text"})
        forbid_section(name);
}

Table ftrace_sites(const Bounds& bounds) {
    return bounds.between("__start_mcount_loc", "__stop_mcount_loc");
}

bool has_symbol(const ElfFile& file, std::string_view name) {
    const auto symbols = file.symbols();
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](const Elf64_Sym& each) { return file.symbol_name(each) == name; });
}

// What the module's loader writes into the code.
void mark_relocations(Code& code) {
    each_loader_write(code.file(), [&](const ElfSection& in, uint64_t address, size_t bytes) {
        if (in.flags & SHF_EXECINSTR)
            code.write(address, bytes, ByLoader);
    });
}

} // namespace

ImageForm form_of(const ElfFile& file) {
    if (file.section(module_structure))
        return ImageForm::Module;
    return file.section("__ex_table") && has_symbol(file, "__start_mcount_loc")
               ? ImageForm::Kernel
               : ImageForm::Program;
}

KernelRule KernelRule::of(const ElfFile& vmlinux) {
    KernelRule rule;
    // Kernels whose compiler makes no jump tables stopped looking for them, which they did with
    // these bounds.
    const auto symbols = vmlinux.symbols();
    const bool has_thunks = std::any_of(symbols.begin(), symbols.end(), [&](const Elf64_Sym& each) {
        return arch::thunk_of(vmlinux.symbol_name(each)) == arch::Thunk::Indirect;
    });
    rule.refuses_indirect_jumps = !has_thunks || has_symbol(vmlinux, "__indirect_thunk_start");
    // The change that added instructions is that from which on can_boost() returns a bool.
    if (const ElfSection* section = vmlinux.section(".BTF")) {
        auto btf = Btf::parse(section->bytes);
        if (btf)
            if (const uint32_t function = btf->function("can_boost"))
                rule.newer = btf->type(btf->function_result(function)).name == "bool";
    }
    return rule;
}

AddressRanges patch_tables(const Code& code) {
    const Bounds bounds(code.file());
    AddressRanges ranges;
    for (const Table& table : {ftrace_sites(bounds), section_table(code.file(), "__mcount_loc"),
                               section_table(code.file(), ".parainstructions")})
        if (!table.bytes.empty())
            ranges.emplace_back(table.address, table.end());
    return ranges;
}

Places patched_places(const ElfFile& file) {
    Places places;
    read_alternatives(file, section_table(file, ".altinstructions"),
                      section_table(file, ".altinstr_replacement"), places);
    read_paravirt_sites(section_table(file, ".parainstructions"), places);
    return places;
}

void enter_by_kernel_tables(Code& code, const std::vector<Symbol>& symbols) {
    const ElfFile& file = code.file();
    const Bounds bounds(file);
    const bool is_module = form_of(file) == ImageForm::Module;
    // The linker bounds a kernel's tables by symbols; a module's loader finds sections.
    auto table = [&](const char* section, const char* first, const char* end) {
        return is_module ? section_table(file, section) : bounds.between(first, end);
    };
    read_jump_labels(code, table("__jump_table", "__start___jump_table", "__stop___jump_table"));
    read_static_calls(
        code, table(".static_call_sites", "__start_static_call_sites", "__stop_static_call_sites"));
    const Table trampolines =
        table(".static_call.text", "__static_call_text_start", "__static_call_text_end");
    code.write(trampolines.address, trampolines.bytes.size(), AsStaticCall);
    read_exception_table(code, section_table(file, "__ex_table"));
    for (const auto& [address, bytes] : patched_places(file))
        if (!code.is_live_at(address)) // else it has happened
            code.write(address, bytes, AsAlternative);
    read_ftrace_sites(code, is_module ? section_table(file, "__mcount_loc") : ftrace_sites(bounds));
    forbid_probes(code, bounds, symbols, is_module);
    if (is_module)
        mark_relocations(code);
}

} // namespace djstap::regions
