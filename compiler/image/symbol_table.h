// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel's symbols, fentry sites and kprobe blacklist, as sorted tables that can be mapped.
#pragma once
#include "cache/cache.h"
#include "image/elf_file.h"
#include "image/kernel.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace djstap {

struct SymbolRecord {
    uint64_t address;
    uint32_t name; // in the string pool
    uint32_t size;
    uint32_t flags; // symbol_text …
    uint32_t padding;
};
inline constexpr uint32_t symbol_text = 1, symbol_global = 2, symbol_function = 4;

struct AddressRange {
    uint64_t begin;
    uint64_t end;
};

// The input of SymbolTable.
struct SymbolSource {
    struct Entry {
        std::string_view name;
        uint64_t address;
        uint64_t size;
        uint32_t flags;
    };
    std::vector<Entry> symbols;
    std::vector<uint64_t> fentry_sites;
    std::vector<AddressRange> forbidden; // for kprobes
    AddressRange text{0, 0};             // the part that stays executable after boot
};

// Reads symbols, __mcount_loc and the kprobe blacklist from the kernel's file; the symbols from the
// file that has them, which is another one if the kernel was stripped.
SymbolSource symbols_of_kernel(const ElfFile& elf, const ElfFile& with_symbols);
// The same from a module's file, as written by linked_module().
SymbolSource symbols_of_module(const ElfFile& elf);
// The same from a program's file, and from the file with its debug information (may be null).
SymbolSource symbols_of_program(const ElfFile& elf, const ElfFile* separate);
// Reads a dump in the format of /proc/kallsyms or System.map; symbols of modules are skipped. The
// names remain in `dump`. `fentry_functions` and `kprobe_blacklist` are the lists of tracefs and
// debugfs, or empty.
Result<SymbolSource> symbols_of_dump(std::string_view dump, std::string_view fentry_functions,
                                     std::string_view kprobe_blacklist, const std::string& path);

class SymbolTable {
  public:
    static std::string serialize(const SymbolSource& source);
    static std::optional<SymbolTable> map(const std::string& path);
    static std::optional<SymbolTable> hold(std::string bytes);

    size_t size() const { return records_.size(); }
    bool has_addresses() const { return text_.end != 0; }
    std::vector<Symbol> named(std::string_view name, bool first_only) const;
    std::vector<Symbol> matching(std::string_view pattern) const;
    std::optional<Symbol> at(uint64_t address) const;
    std::span<const uint64_t> fentry_sites() const { return fentry_sites_; }
    bool forbidden(uint64_t address) const;
    bool in_text(uint64_t address) const { return address >= text_.begin && address < text_.end; }

  private:
    explicit SymbolTable(TableView view);
    Symbol symbol(const SymbolRecord& record) const;
    bool in_forbidden_range(uint64_t address) const;
    TableView view_;
    std::span<const SymbolRecord> records_; // sorted by name, then address
    // indexes of text symbols; the best name is the last one for an address
    std::span<const uint32_t> by_address_;
    std::span<const uint64_t> fentry_sites_;
    std::span<const AddressRange> forbidden_; // sorted, disjoint
    std::string_view strings_;
    AddressRange text_{0, 0};
};

} // namespace djstap
