// SPDX-License-Identifier: GPL-2.0-or-later
// The types in a kernel's DWARF, read on demand.
#pragma once
#include "debuginfo/dwarf_scan.h"
#include "debuginfo/index.h"
#include "debuginfo/type_names.h"

#include <span>

namespace djstap {

// Opens vmlinux through libdw on first use.
class LazyDwarf {
  public:
    explicit LazyDwarf(std::string path) : path_(std::move(path)) {}
    // Null if it cannot be opened.
    Dwarf* get() const;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
    mutable bool tried_ = false;
    mutable std::unique_ptr<DwarfFile> file_;
};

// Reads a program's .eh_frame through libdw on first use.
class LazyFrames {
  public:
    explicit LazyFrames(std::string path) : path_(std::move(path)) {}
    ~LazyFrames();
    LazyFrames(const LazyFrames&) = delete;
    LazyFrames& operator=(const LazyFrames&) = delete;
    // Null if it cannot be read.
    Dwarf_CFI* get() const;

  private:
    std::string path_;
    mutable bool tried_ = false;
    mutable FileDescriptor file_;
    mutable Elf* elf_ = nullptr;
    mutable Dwarf_CFI* table_ = nullptr;
};

// A TypeId is the offset of the type's entry in .debug_info; its upper 16 bits count the dimensions
// of a multidimensional array that have been removed.
class DwarfTypes {
  public:
    // Returns the index of types by name; called only if a name is looked up.
    using TypeIndex = std::function<const DwarfIndex&()>;

    DwarfTypes(const LazyDwarf& dwarf, TypeIndex index) : dwarf_(dwarf), index_(std::move(index)) {}
    CType resolve(TypeId type) const;
    std::vector<CMember> members(TypeId type) const;
    std::vector<CEnumerator> enumerators(TypeId type) const;
    std::optional<TypeId> by_name(std::string_view name) const;
    TypeStep step(TypeId type) const;

  private:
    bool die_of(TypeId type, Dwarf_Die* die) const;
    // Strips typedefs and qualifiers, and replaces a declaration by the definition elsewhere.
    bool bare(TypeId type, Dwarf_Die* die, TypeId* id = nullptr) const;
    std::optional<TypeId> tagged(std::string_view name, int tag) const;
    std::optional<TypeId> scoped(std::string_view name, std::span<const int> tags) const;
    std::optional<TypeId> defined(Dwarf_Die* declaration, int tag) const;

    const LazyDwarf& dwarf_;
    TypeIndex index_;
};

} // namespace djstap
