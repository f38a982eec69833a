// SPDX-License-Identifier: GPL-2.0-or-later
// Reads units of .debug_info into records. One object per thread: each has its own libdw handle.
#pragma once
#include "debuginfo/index_format.h"
#include "debuginfo/location.h"
#include "debuginfo/source_files.h"
#include "image/image.h"

#include <atomic>
#include <elfutils/libdw.h>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace djstap {

// A file opened through libdw.
class DwarfFile {
  public:
    static Result<std::unique_ptr<DwarfFile>> open(const std::string& path);
    ~DwarfFile();
    DwarfFile(const DwarfFile&) = delete;
    DwarfFile& operator=(const DwarfFile&) = delete;
    Dwarf* get() const { return dwarf_; }

  private:
    DwarfFile(FileDescriptor file, Dwarf* dwarf) : file_(std::move(file)), dwarf_(dwarf) {}
    FileDescriptor file_;
    Dwarf* dwarf_;
};

// Numbers strings, each once: hundreds of thousands, so it keeps them in large blocks.
class StringSet {
  public:
    StringSet();
    uint32_t add(std::string_view text);
    const std::vector<std::string_view>& all() const { return strings_; }

  private:
    struct Slot {
        uint32_t hash = 0, number = 0;
    };
    void grow();
    std::string_view keep(std::string_view text);

    std::vector<Slot> slots_; // open addressing; number 0: free
    std::vector<std::string_view> strings_;
    std::vector<std::unique_ptr<char[]>> blocks_;
    char* free_ = nullptr; // in the last block
    size_t free_bytes_ = 0;
};

// Returns the offsets of the units' entries in .debug_info.
std::vector<Dwarf_Off> unit_offsets(Dwarf* dwarf);

// Records in which strings are numbers of `strings`.
struct ScanResult {
    StringSet strings;
    std::vector<FunctionRecord> functions;
    std::vector<RangeRecord> ranges; // `function` is an index of `functions`
    std::vector<ParameterRecord> parameters;
    std::vector<SyscallRecord> syscalls;
    struct Inline {
        uint32_t name, file, line, die;
        uint64_t address; // 0: no code
    };
    std::vector<Inline> inlines; // one per instance
    std::vector<TypeRecord> types;
    std::vector<VariableRecord> variables;
    std::vector<EnumeratorRecord> enumerators;
};

class DwarfScanner {
  public:
    DwarfScanner(Dwarf* dwarf, const Image& image);
    void scan_unit(Dwarf_Off unit);
    ScanResult take() { return std::move(result_); }

  private:
    struct Origin { // of an inlined instance
        uint32_t name, file, line;
    };
    // The namespaces and classes around entries: "shop::order::".
    struct Scope {
        std::string prefix;
        size_t hash = 0;
        int depth = 0;
        Scope inside(const char* name) const;
    };
    void scan_scope(Dwarf_Die* parent, const Scope& scope);
    void scan_types_inside(Dwarf_Die* type, const Scope& scope);
    // Returns whether it is seen for the first time, and has a name.
    bool scan_type(Dwarf_Die* die, int tag, const Scope& scope);
    void scan_enumerators(Dwarf_Die* die);
    void scan_variable(Dwarf_Die* die);
    void scan_subprogram(Dwarf_Die* die);
    void scan_syscall(Dwarf_Die* die, std::string_view name);
    void scan_parameters(Dwarf_Die* die, FunctionRecord& function);
    bool is_own_symbol(Dwarf_Die* die, const FunctionRecord& function);
    void use_calling_convention(Dwarf_Die* die, FunctionRecord& function,
                                const std::vector<bool>& by_reference);
    void scan_inlined(Dwarf_Die* scope);
    void scan_local(Dwarf_Die* die, int tag, int depth);
    std::vector<RangeRecord> code_ranges(Dwarf_Die* die, uint64_t& entry);
    uint32_t symbol_number(std::string_view name, uint64_t entry, uint32_t& size);
    uint32_t file_number(Dwarf_Die* die);
    uint32_t line_number(Dwarf_Die* die);
    ParameterRecord parameter_record(Dwarf_Die* die, const Location* location);

    Dwarf* dwarf_;
    const Image& image_;
    LineSections sections_;
    ScanResult result_;
    Dwarf_Die unit_ = {};
    bool unit_is_c_ = false;
    bool unit_has_scopes_ = false; // classes may contain types
    int nesting_ = 0;              // of functions in functions
    bool files_read_ = false;
    std::vector<uint32_t> files_; // of the unit, as string numbers
    std::unordered_map<Dwarf_Off, Origin> origins_;
    // Open addressing: (offset of the name in the file, tag) of recorded types.
    std::vector<uintptr_t> seen_names_;
    size_t seen_count_ = 0;
    std::unordered_set<uint64_t> recorded_types_; // (string number, tag)
    bool first_sight(const char* name, int tag, size_t scope = 0);
    void grow_seen();
};

// Returns the entry offset of the type in DW_AT_type; 0 (void) if there is none.
uint32_t type_offset(Dwarf_Die* die);

} // namespace djstap
