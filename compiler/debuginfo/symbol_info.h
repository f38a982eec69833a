// SPDX-License-Identifier: GPL-2.0-or-later
// What is known of a program without debug information: the functions in its symbol tables.
#pragma once
#include "debuginfo/without_dwarf.h"

namespace djstap {

class SymbolInfo final : public WithoutDwarf {
  public:
    using WithoutDwarf::WithoutDwarf;

    std::string_view source() const override { return "a symbol table"; }
    std::vector<FunctionInfo> functions(const FunctionPattern& pattern,
                                        bool details) const override;
    void add_details(FunctionInfo& function) const override;
    std::vector<std::string> similar_functions(std::string_view name) const override;
    Result<StatementResult> statements(const FunctionPattern&, bool) const override;
    Result<StatementAddress> statement_at(uint64_t address) const override;
    std::vector<Variable> variables_at(uint64_t) const override { return {}; }
    std::optional<Variable> global(std::string_view) const override { return std::nullopt; }
    CType resolve(TypeId) const override { return {}; }
    std::string type_name(TypeId) const override { return {}; }
    std::vector<CMember> members(TypeId) const override { return {}; }
    std::optional<CMember> member(TypeId, std::string_view) const override { return std::nullopt; }
    std::vector<CEnumerator> enumerators(TypeId) const override { return {}; }
    std::optional<int64_t> enumerator(std::string_view) const override { return std::nullopt; }
    std::vector<std::string> similar_enumerators(std::string_view) const override { return {}; }
    std::vector<std::string> similar_types(std::string_view) const override { return {}; }
    std::optional<TypeId> type_by_name(std::string_view) const override { return std::nullopt; }
};

} // namespace djstap
