// SPDX-License-Identifier: GPL-2.0-or-later
// Reads BTF, the kernel's own compact type format (Documentation/bpf/btf.rst in the kernel's
// source).
#pragma once
#include "cache/cache.h"
#include "debuginfo/type_names.h"

#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace djstap {

enum class BtfKind : uint8_t {
    Void,
    Int,
    Ptr,
    Array,
    Struct,
    Union,
    Enum,
    Fwd,
    Typedef,
    Volatile,
    Const,
    Restrict,
    Func,
    FuncProto,
    Var,
    DataSec,
    Float,
    DeclTag,
    TypeTag,
    Enum64
};

struct BtfType {
    std::string_view name;
    BtfKind kind = BtfKind::Void;
    // kind_flag: sized members, a signed enumeration, a forward declaration of a union
    bool flag = false;
    uint32_t count = 0;        // vlen
    uint32_t size_or_type = 0; // depends on the kind
    std::string_view extra;    // an array of u32 after the common part, or nothing

    // Returns an element of `extra`; 0 beyond its end.
    uint32_t extra_u32(size_t index) const {
        uint32_t value = 0;
        if ((index + 1) * sizeof value <= extra.size())
            std::memcpy(&value, extra.data() + index * sizeof value, sizeof value);
        return value;
    }
};

struct BtfParameter {
    std::string_view name;
    uint32_t type;
};

// Type numbers are BTF's; the bits from 32 on count pointers around a type ("struct file *" if the
// file contains only the struct).
class Btf {
  public:
    // Fails if the bytes are not complete, little-endian BTF. They must outlive the object.
    static Result<Btf> parse(std::string_view bytes) { return parse(bytes, nullptr); }
    // Parses a module's BTF, whose numbers and strings continue those of `base`, the kernel's;
    // null: it is self-contained. `base` must outlive the object.
    static Result<Btf> parse(std::string_view bytes, const Btf* base);
    // An object without types besides those of `base`.
    static Result<Btf> parse_nothing(const Btf* base);

    BtfType type(uint32_t id) const;
    size_t size() const { return first_own_ + offsets_.size(); }
    // Returns the type number of a function; 0 if it has none.
    uint32_t function(std::string_view name) const;
    uint32_t function_result(uint32_t function) const;
    std::vector<BtfParameter> function_parameters(uint32_t function, bool& varargs) const;
    std::vector<std::string_view> function_names() const;

    CType resolve(TypeId type) const;
    std::vector<CMember> members(TypeId type) const;
    std::vector<CEnumerator> enumerators(TypeId type) const;
    // Returns the value of an enumerator in any enumeration; the first one of several with that
    // name.
    std::optional<int64_t> enumerator(std::string_view name) const;
    std::vector<std::string> enumerator_names() const;
    std::vector<std::string_view> type_names() const; // some of them twice
    std::optional<TypeId> by_name(std::string_view name) const;
    TypeStep step(TypeId type) const;
    // Parses "const char __user *", the notation of the kernel's system call table.
    TypeId by_declaration(std::string_view text) const;

  private:
    Btf() = default;
    std::string_view string(uint32_t offset) const {
        return offset < first_string_ ? base_->string(offset)
                                      : pool_string(strings_, offset - first_string_);
    }
    uint32_t bare(uint32_t id) const;
    // Returns `id` with const, if the file contains that; else `id`.
    uint32_t with_const(uint32_t id) const;
    // Returns the bytes of an array of any number of dimensions; 0 if it is an array of itself.
    uint64_t array_size(const BtfType& array) const;
    std::optional<uint32_t> tagged(std::string_view name,
                                   std::initializer_list<BtfKind> kinds) const;
    void index_names() const;

    std::string_view types_, strings_;
    const Btf* base_ = nullptr;
    uint32_t first_own_ = 0; // lower numbers and strings are those of base_
    uint32_t first_string_ = 0;
    // in types_, by number - first_own_; [0] is void unless there is a base
    std::vector<uint32_t> offsets_;
    mutable bool indexed_ = false;
    mutable std::unordered_map<std::string_view, uint32_t> functions_;
    mutable std::unordered_multimap<std::string_view, uint32_t> named_;
    mutable std::unordered_map<uint32_t, uint32_t> const_of_; // maps a type to the same with const
};

} // namespace djstap
