// SPDX-License-Identifier: GPL-2.0-or-later
// The DWARF index: built once per build-id, then mapped.
#pragma once
#include "debuginfo/debuginfo.h"
#include "debuginfo/index_format.h"
#include "image/image.h"

#include <optional>
#include <span>
#include <vector>

namespace djstap {

// Reads all of an image's DWARF, from the file at `path`, with two threads. Fails if there is none.
// If `wanted` is not empty: only the units at these offsets.
Result<std::string> build_index(const Image& image, const std::string& path,
                                const std::vector<uint64_t>& wanted = {});

class DwarfIndex {
  public:
    // Maps the cached index of an image's DWARF, which is in the file at `path`, or builds it (and
    // tries to cache it).
    static Result<DwarfIndex> open(const Image& image, const std::string& path,
                                   void (*progress)(const std::string&));

    // Returns where the index is cached; "" if it cannot be cached.
    static Result<std::string> path_in_cache(const Image& image, const std::string& path);
    // Returns an index of some units, which is not cached.
    static Result<DwarfIndex> of_units(const Image& image, const std::string& path,
                                       const std::vector<uint64_t>& units);

    // Returns an index without records.
    static DwarfIndex empty() { return DwarfIndex(); }

    std::span<const FunctionRecord> functions() const { return functions_; }
    std::span<const FunctionRecord> functions_named(std::string_view name) const;
    std::vector<const FunctionRecord*> functions_of_symbol(std::string_view symbol) const;
    // Returns the function with this entry, or whose code covers the address.
    const FunctionRecord* function_at(uint64_t address) const;
    std::span<const ParameterRecord> parameters(uint32_t first, uint32_t count) const;
    const SyscallRecord* syscall(std::string_view name) const;
    std::span<const InlineRecord> inlines() const { return inlines_; }
    std::span<const InlineRecord> inlines_named(std::string_view name) const;
    std::span<const InstanceRecord> instances(const InlineRecord& record) const;
    // Returns those of them that have code.
    std::span<const InstanceRecord> placed_instances(const InlineRecord& record) const;
    std::span<const TypeRecord> types() const { return types_; }
    std::span<const TypeRecord> types_named(std::string_view name) const;
    std::span<const VariableRecord> variables_named(std::string_view name) const;
    std::span<const VariableRecord> variables() const { return variables_; }
    const EnumeratorRecord* enumerator(std::string_view name) const;
    std::span<const EnumeratorRecord> enumerators() const { return enumerators_; }
    std::string_view text(uint32_t offset) const { return pool_string(strings_, offset); }
    // Return every record whose name begins with `prefix`.
    std::span<const FunctionRecord> functions_with_prefix(std::string_view prefix) const;
    std::span<const InlineRecord> inlines_with_prefix(std::string_view prefix) const;

  private:
    DwarfIndex() = default;
    explicit DwarfIndex(TableView view);
    std::optional<TableView> view_;
    std::span<const FunctionRecord> functions_;
    std::span<const uint32_t> by_symbol_;
    std::span<const RangeRecord> ranges_;
    std::span<const ParameterRecord> parameters_;
    std::span<const SyscallRecord> syscalls_;
    std::span<const InlineRecord> inlines_;
    std::span<const InstanceRecord> instances_;
    std::span<const TypeRecord> types_;
    std::span<const VariableRecord> variables_;
    std::span<const EnumeratorRecord> enumerators_;
    std::string_view strings_;
};

} // namespace djstap
