// SPDX-License-Identifier: GPL-2.0-or-later
// Types in C's notation, and type names as users write them; the same for DWARF and BTF.
#pragma once
#include "debuginfo/debuginfo.h"

#include <functional>

namespace djstap {

// One step of a type, from which its notation is built.
struct TypeStep {
    enum class Form : uint8_t { Named, Qualified, Pointer, Array, Function } form = Form::Named;
    std::string text;               // Named: "struct file"; Qualified: "const"
    TypeId base_type = 0;           // what it qualifies, points to, consists of, or returns
    uint64_t count = 0;             // of an array
    std::vector<TypeId> parameters; // of a function
    bool varargs = false;
};

// Formats a type by means of `step`, which returns one step of a type: "char *const", "int
// (*)(struct file *)".
std::string write_type(TypeId type, const std::function<TypeStep(TypeId)>& step);

// Finds the member `name`, including those of anonymous members, whose offsets are added.
std::optional<CMember> find_member(const DebugInfo& info, TypeId type, std::string_view name);

// Sets a bit-field's offset and bit_offset: the storage unit of its type's size (in bytes) that
// contains it, or for a packed one across two units the byte in which it begins. `bits` count from
// the struct's beginning.
void place_bit_field(CMember& member, uint64_t bits, uint64_t storage);

enum class NamedTypeKind : uint8_t { Struct, Union, Enum, Plain };
struct NamedType {
    NamedTypeKind kind = NamedTypeKind::Plain;
    std::string name; // base types in gcc's spelling: "long unsigned int"
};
// "struct  foo" → {Struct, "foo"}, "unsigned long" → {Plain, "long unsigned int"}.
NamedType parse_type_name(std::string_view text);

// Collects the names that one or two edits turn into `name`, nearest first, each once.
class SimilarNames {
  public:
    explicit SimilarNames(std::string_view name);
    void consider(std::string_view candidate);
    std::vector<std::string> take();

  private:
    std::string name_;
    uint64_t letters_;
    std::vector<std::pair<size_t, std::string>> found_;
};

} // namespace djstap
