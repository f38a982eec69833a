// SPDX-License-Identifier: GPL-2.0-or-later
// The debug information of an image that has no index yet, for its first script.
#pragma once
#include "debuginfo/dwarf_info.h"
#include "debuginfo/name_search.h"

#include <map>

namespace djstap {

// Answers what concerns only functions of one name, their statements and their variables from the
// units that mention the name: they are found and read in a tenth of the time that the index takes.
// A type is read where it is, unless only other units define it. Any other question builds the
// index.
class FirstInfo final : public DebugInfo {
  public:
    FirstInfo(const Image& image, const std::string& path, NameSearch search,
              void (*progress)(const std::string&));

    const Image& image() const override { return image_; }
    bool has_dwarf() const override { return true; }
    std::string_view source() const override { return "DWARF"; }
    std::vector<FunctionInfo> functions(const FunctionPattern& pattern,
                                        bool details) const override;
    void add_details(FunctionInfo& function) const override;
    bool only_inlined(std::string_view name) const override;
    std::vector<StatementAddress> inlined(const FunctionPattern& pattern,
                                          const PlaceFilter& wanted) const override;
    size_t inlined_count(const FunctionPattern& pattern) const override;
    std::vector<Variable> variables_of_inlined(const StatementAddress& inlined) const override;
    Result<StatementResult> statements(const FunctionPattern& pattern, bool nearest) const override;
    std::vector<Variable> variables_at(uint64_t address) const override;
    CType resolve(TypeId type) const override { return types_.resolve(type); }
    std::string type_name(TypeId type) const override;
    std::vector<CMember> members(TypeId type) const override { return types_.members(type); }
    std::optional<CMember> member(TypeId type, std::string_view name) const override;
    std::vector<CEnumerator> enumerators(TypeId type) const override {
        return types_.enumerators(type);
    }

    std::vector<std::string> similar_functions(std::string_view name) const override {
        return all().similar_functions(name);
    }
    std::vector<std::string> similar_variables(std::string_view name) const override {
        return all().similar_variables(name);
    }
    Result<StatementAddress> statement_at(uint64_t address) const override {
        return all().statement_at(address);
    }
    std::optional<StatementAddress> inlined_at(uint64_t address) const override {
        return all().inlined_at(address);
    }
    std::vector<LabelAddress> labels(const FunctionPattern& pattern,
                                     std::string_view label) const override {
        return all().labels(pattern, label);
    }
    CallSites calls(const CallerScope& caller) const override { return all().calls(caller); }
    std::optional<Variable> global(std::string_view name) const override {
        return all().global(name);
    }
    std::optional<int64_t> enumerator(std::string_view name) const override {
        return all().enumerator(name);
    }
    std::vector<std::string> similar_enumerators(std::string_view name) const override {
        return all().similar_enumerators(name);
    }
    std::vector<std::string> similar_types(std::string_view name) const override {
        return all().similar_types(name);
    }
    std::optional<TypeId> type_by_name(std::string_view name) const override {
        return all().type_by_name(name);
    }

  private:
    // What the units that mention a name tell; no info: no unit does.
    struct Excerpt {
        std::unique_ptr<DwarfInfo> info;
        std::vector<uint64_t> entries; // of the functions of that name
    };
    // Returns null if the name can only be looked up in the index.
    const Excerpt* excerpt(const std::string& name) const;
    // Returns what the unit that contains the code at an address tells; the whole index if that
    // unit was not read.
    const DwarfInfo& around(uint64_t address) const;
    // Returns the information with the whole index.
    const DwarfInfo& all() const;

    const Image& image_;
    std::string path_;
    NameSearch search_;
    void (*progress_)(const std::string&);
    mutable std::map<std::string, Excerpt> excerpts_;
    mutable std::unique_ptr<DwarfInfo> all_;
    LazyDwarf dwarf_;
    DwarfTypes types_;
};

} // namespace djstap
