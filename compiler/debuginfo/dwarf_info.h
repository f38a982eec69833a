// SPDX-License-Identifier: GPL-2.0-or-later
// Debug information from DWARF: functions come from the index, types, lines and scopes from libdw.
#pragma once
#include "debuginfo/dwarf_types.h"

namespace djstap {

class DwarfInfo final : public DebugInfo {
  public:
    // `path`: the file that the index was built from.
    DwarfInfo(const Image& image, const std::string& path, DwarfIndex index);

    const DwarfIndex& index() const { return index_; }
    const Image& image() const override { return image_; }
    bool has_dwarf() const override { return true; }
    std::string_view source() const override { return "DWARF"; }
    std::vector<FunctionInfo> functions(const FunctionPattern& pattern,
                                        bool details) const override;
    void add_details(FunctionInfo& function) const override;
    std::vector<std::string> similar_functions(std::string_view name) const override;
    std::vector<std::string> similar_variables(std::string_view name) const override;
    bool only_inlined(std::string_view name) const override;
    std::vector<StatementAddress> inlined(const FunctionPattern& pattern,
                                          const PlaceFilter& wanted) const override;
    size_t inlined_count(const FunctionPattern& pattern) const override;
    std::vector<Variable> variables_of_inlined(const StatementAddress& inlined) const override;
    Result<StatementResult> statements(const FunctionPattern& pattern, bool nearest) const override;
    Result<StatementAddress> statement_at(uint64_t address) const override;
    std::optional<StatementAddress> inlined_at(uint64_t address) const override;
    std::vector<LabelAddress> labels(const FunctionPattern& pattern,
                                     std::string_view label) const override;
    CallSites calls(const CallerScope& caller) const override;
    std::vector<Variable> variables_at(uint64_t address) const override;
    std::optional<Variable> global(std::string_view name) const override;
    CType resolve(TypeId type) const override { return types_.resolve(type); }
    std::string type_name(TypeId type) const override;
    std::vector<CMember> members(TypeId type) const override { return types_.members(type); }
    std::optional<CMember> member(TypeId type, std::string_view name) const override;
    std::vector<CEnumerator> enumerators(TypeId type) const override {
        return types_.enumerators(type);
    }
    std::optional<int64_t> enumerator(std::string_view name) const override;
    std::vector<std::string> similar_enumerators(std::string_view name) const override;
    std::vector<std::string> similar_types(std::string_view name) const override;
    std::optional<TypeId> type_by_name(std::string_view name) const override {
        return types_.by_name(name);
    }

  private:
    FunctionInfo function_info(const FunctionRecord& record) const;
    FunctionInfo syscall_info(std::string_view name, const Symbol& wrapper) const;
    // Returns records whose name or symbol matches, in the file; each once.
    std::string qualified_name(const FunctionRecord& record) const;
    bool matches_without_inline(std::string_view pattern, const std::string& qualified,
                                uint64_t offset) const;
    std::string qualified_name(const InlineRecord& record) const;
    std::span<const FunctionRecord> records_by_last_name(std::string_view qualified) const;
    std::vector<const FunctionRecord*> matching_records(const FunctionPattern& pattern) const;
    std::vector<const FunctionRecord*> aliased_records(const FunctionPattern& pattern) const;
    std::vector<const InlineRecord*> matching_inlines(const FunctionPattern& pattern) const;
    bool is_replaced(const FunctionRecord& record) const;
    std::vector<Variable> parameters(uint32_t first, uint32_t count) const;
    // Returns the name of the compile unit that contains the entry at this offset; "" if it is
    // unreadable.
    std::string unit_of(uint32_t offset) const;
    // Sets the function that contains a place, and its symbol.
    void set_function(StatementAddress& place) const;
    // Returns the path of a source file of the unit that contains the entry, relative to the tree.
    std::string source_path(Dwarf_Die* die, const char* file) const;
    std::optional<FrameBase> frame_base_at(uint64_t address) const;
    std::optional<FrameBase> call_frame_at(uint64_t address) const;
    // Returns the inline instance that an entry describes; nothing if it has no code.
    std::optional<StatementAddress> inline_instance(Dwarf_Die* die) const;
    void add_calls(Dwarf_Die* scope, CallSites& out) const;
    void add_call(Dwarf_Die* site, CallSites& out) const;
    // Finds the callers' return addresses from the frame of the code at an address.
    void set_return_slot(CallSite& call, uint64_t address) const;
    void add_calls_by_instructions(const std::vector<CodeRange>& code,
                                   const std::vector<CodeRange>& inlined, CallSites& out) const;
    const FunctionRecord* called_function(Dwarf_Die* site, uint64_t end, bool jump,
                                          uint64_t& branch) const;

    const Image& image_;
    DwarfIndex index_;
    LazyDwarf dwarf_;
    LazyFrames frames_; // of a program
    DwarfTypes types_;
};

} // namespace djstap
