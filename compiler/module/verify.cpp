// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/verify.h"

#include "arch/arch.h"
#include "diagnostics/suggest.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace djstap::module {

namespace {

// By prefix if the entry ends in '*'. objtool or ld drop sections that are only tables for the
// tools; .init_array, .modinfo, __ksymtab and the like would make the kernel act on its own.
constexpr std::string_view script_sections[] = {"",
                                                ".text*",
                                                ".kprobes.text*",
                                                ".rodata*",
                                                ".data*",
                                                ".bss*",
                                                ".djstap.*",
                                                "_kprobe_blacklist",
                                                ".comment",
                                                ".note.GNU-stack",
                                                ".symtab",
                                                ".strtab",
                                                ".shstrtab",
                                                ".llvm_addrsig",
                                                ".note.gnu.property",
                                                ".debug_*",
                                                "__patchable_function_entries",
                                                "__ex_table"};

// Sections that the kernel's headers add to C code (module.lds and the loader handle all of them).
constexpr std::string_view embedded_sections[] = {".altinstructions",  ".altinstr_replacement",
                                                  ".altinstr_aux",     "__bug_table",
                                                  ".smp_locks",        "__jump_table",
                                                  ".static_call*",     ".discard*",
                                                  ".parainstructions", "__versions",
                                                  ".retpoline*",       ".note*",
                                                  ".call_sites",       ".return_sites",
                                                  ".unlikely*",        "__dyndbg*",
                                                  ".printk_index",     "alloc_tags"};

bool matches(std::string_view pattern, std::string_view name) {
    if (pattern.ends_with('*'))
        return name.starts_with(pattern.substr(0, pattern.size() - 1));
    return name == pattern;
}

bool allowed_in_script(std::string_view name, bool embedded) {
    auto fits = [&](std::string_view pattern) { return matches(pattern, name); };
    if (embedded && std::any_of(std::begin(embedded_sections), std::end(embedded_sections), fits))
        return true;
    return std::any_of(std::begin(script_sections), std::end(script_sections),
                       [&](std::string_view pattern) { return matches(pattern, name); });
}

Failure refused_relocation(const ObjectSection& section, uint32_t type, std::string_view symbol) {
    return {"the code cannot be loaded: " + arch::relocation_name(type) + " against '" +
                std::string(symbol) + "' in " + std::string(section.name),
            ""};
}

std::string quoted(std::string_view name) {
    return "'" + std::string(name) + "'";
}

bool listed(const std::vector<std::string>& sorted, std::string_view name) {
    return std::binary_search(sorted.begin(), sorted.end(), name, std::less<>());
}

// With KASAN or KCSAN, the compiler adds a constructor to C code that has variables.
bool registers_variables(const RuntimeKit& kit) {
    return kit.embedded_code && (listed(kit.versioned_symbols, "__asan_register_globals") ||
                                 listed(kit.versioned_symbols, "__tsan_init"));
}

Status check_script_symbols(const ElfObject& object, const RuntimeKit& kit) {
    bool has_entry = false;
    for (const ObjectSymbol& symbol : object.symbols()) {
        if (symbol.name.empty())
            continue;
        if (symbol.section == SHN_COMMON)
            return Failure{"the script's object has a common symbol " + quoted(symbol.name), ""};
        if (!symbol.undefined()) {
            if (!symbol.global())
                continue;
            if (kit.has_runtime_symbol(symbol.name) || kit.has_kernel_symbol(symbol.name))
                return Failure{"the script's object defines " + quoted(symbol.name) +
                                   ", which is the " +
                                   (kit.has_runtime_symbol(symbol.name) ? "runtime's" : "kernel's"),
                               ""};
            has_entry |= symbol.name == "djs_script";
            continue;
        }
        if (kit.has_runtime_symbol(symbol.name) || kit.has_kernel_symbol(symbol.name))
            continue;
        std::vector<std::string> offered = kit.runtime_symbols;
        offered.insert(offered.end(), kit.kernel_symbols.begin(), kit.kernel_symbols.end());
        bool exported = listed(kit.versioned_symbols, symbol.name);
        return Failure{"the script's code refers to " + quoted(symbol.name) + ", which " +
                           (exported ? "the kernel provides to the runtime but not to scripts"
                                     : "neither the runtime nor the kernel provides to scripts"),
                       did_you_mean(symbol.name, offered)};
    }
    if (!has_entry)
        return Failure{"the script's object does not define 'djs_script'", ""};
    return Done{};
}

// Returns the number of entries in a table of `entry`-sized records; 0 if there is no such section.
size_t entries(const ElfObject& module, std::string_view section, size_t entry) {
    const ObjectSection* found = module.section(section);
    return found ? found->size / entry : 0;
}

bool has_flag(const std::vector<std::string>& words, std::string_view flag) {
    return std::find(words.begin(), words.end(), flag) != words.end();
}

using Place = std::pair<size_t, uint64_t>; // section, offset

// Returns the places that a table of 32-bit self-relative addresses points to, sorted.
std::vector<Place> places_in(const ElfObject& module, std::string_view table) {
    std::vector<Place> places;
    for (const ObjectRelocation& relocation : module.relocations(module.section_index(table))) {
        const ObjectSymbol& symbol = module.symbols()[relocation.symbol];
        places.push_back({symbol.section, symbol.value + relocation.addend});
    }
    std::sort(places.begin(), places.end());
    return places;
}

// Thunk calls and jumps that no table lists would remain unpatched whatever mitigation the kernel
// selects: this would be unsound, and the kernel would not report it.
Status check_thunks(const ElfObject& module, const RuntimeKit& kit) {
    const bool returns = has_flag(kit.objtool, "--rethunk");
    const bool retpolines = has_flag(kit.objtool, "--retpoline");
    std::vector<Place> return_sites = places_in(module, ".return_sites");
    std::vector<Place> retpoline_sites = places_in(module, ".retpoline_sites");
    for (size_t i = 1; i < module.sections().size(); i++) {
        const ObjectSection& section = module.sections()[i];
        if (!section.executable())
            continue;
        for (const ObjectRelocation& relocation : module.relocations(i)) {
            std::string_view name = module.symbols()[relocation.symbol].name;
            const arch::Thunk thunk = arch::thunk_of(name);
            const bool is_return = returns && thunk == arch::Thunk::Return;
            const bool is_indirect = retpolines && thunk == arch::Thunk::Indirect;
            if (!is_return && !is_indirect)
                continue;
            const std::vector<Place>& sites = is_return ? return_sites : retpoline_sites;
            // The table points to the instruction, the relocation to the displacement in it.
            bool found = false;
            for (uint64_t back = 1; back <= arch::longest_branch_opcode() && !found; back++)
                found = relocation.offset >= back &&
                        std::binary_search(sites.begin(), sites.end(),
                                           Place(i, relocation.offset - back));
            if (!found)
                return Failure{"objtool did not list the use of " + quoted(name) + " in " +
                                   std::string(section.name),
                               ""};
        }
    }
    return Done{};
}

} // namespace

Result<ScriptFacts> check_script_object(const ElfObject& object, const RuntimeKit& kit) {
    ScriptFacts facts;
    for (const ObjectSection& section : object.sections()) {
        if (section.type == SHT_RELA)
            continue;
        const bool acts = section.type == SHT_INIT_ARRAY || section.type == SHT_FINI_ARRAY ||
                          section.type == SHT_PREINIT_ARRAY;
        if (acts ? !registers_variables(kit) : !allowed_in_script(section.name, kit.embedded_code))
            return Failure{"the script's object has a section " + quoted(section.name) +
                               ", which is not allowed in scripts",
                           ""};
        if (section.executable() && (section.flags & SHF_WRITE))
            return Failure{"the section " + quoted(section.name) +
                               " of the script's object is writable and executable",
                           ""};
    }
    const ObjectSection* meta = object.section(".djstap.meta");
    if (!meta || meta->size == 0)
        return Failure{"the script's object lacks the section .djstap.meta", ""};
    if (Status ok = check_script_symbols(object, kit); !ok)
        return ok.failure();
    for (size_t i = 1; i < object.sections().size(); i++) {
        const ObjectSection& section = object.sections()[i];
        if (!section.allocated())
            continue;
        for (const ObjectRelocation& relocation : object.relocations(i)) {
            const ObjectSymbol& symbol = object.symbols()[relocation.symbol];
            if (!arch::is_loadable_relocation(relocation.type))
                return refused_relocation(section, relocation.type, symbol.name);
            if (symbol.undefined() && !arch::is_branch_relocation(relocation.type) &&
                listed(kit.runtime_functions, symbol.name))
                facts.takes_runtime_addresses = true;
        }
    }
    return facts;
}

Status check_module(const ElfObject& module, const RuntimeKit& kit) {
    for (const ObjectSymbol& symbol : module.symbols()) {
        if (symbol.undefined() && !symbol.name.empty() &&
            !listed(kit.versioned_symbols, symbol.name))
            return Failure{"the module needs " + quoted(symbol.name) +
                               ", which has no version in the kernel's table",
                           did_you_mean(symbol.name, kit.versioned_symbols)};
    }
    for (size_t i = 1; i < module.sections().size(); i++) {
        const ObjectSection& section = module.sections()[i];
        if (!section.allocated())
            continue;
        if (section.executable() && (section.flags & SHF_WRITE))
            return Failure{
                "the module's section " + quoted(section.name) + " is writable and executable", ""};
        for (const ObjectRelocation& relocation : module.relocations(i)) {
            if (!arch::is_loadable_relocation(relocation.type))
                return refused_relocation(section, relocation.type,
                                          module.symbols()[relocation.symbol].name);
        }
    }
    for (std::string_view needed : {".djstap.meta", ".modinfo", ".gnu.linkonce.this_module"}) {
        if (!module.section(needed))
            return Failure{"the module lacks the section " + std::string(needed), ""};
    }
    if (has_flag(kit.objtool, "--orc")) {
        size_t rows = entries(module, ".orc_unwind", 6), ips = entries(module, ".orc_unwind_ip", 4);
        if (rows == 0 || rows != ips)
            return Failure{"the module's unwind tables do not match: " + std::to_string(rows) +
                               " rows for " + std::to_string(ips) + " addresses",
                           ""};
    }
    return check_thunks(module, kit);
}

Result<std::vector<std::string>> read_versions(const ElfObject& object) {
    // struct modversion_info: an unsigned long CRC, then the name in the rest of its 64 bytes.
    constexpr size_t entry = 64, crc = 8;
    std::vector<std::string> names;
    const ObjectSection* table = object.section("__versions");
    if (!table || table->bytes.size() % entry)
        return Failure{"the runtime was built without a table of symbol versions",
                       "a kernel with CONFIG_MODVERSIONS and its Module.symvers are required"};
    for (size_t at = 0; at < table->bytes.size(); at += entry) {
        std::string_view name = table->bytes.substr(at + crc, entry - crc);
        names.emplace_back(name.substr(0, name.find('\0')));
    }
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace djstap::module
