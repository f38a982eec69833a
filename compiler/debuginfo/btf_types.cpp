// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/btf.h"

#include <algorithm>
#include <cstring>

namespace djstap {

namespace {

constexpr int pointer_shift = 32;
constexpr int deepest_btf = 64;
constexpr uint32_t int_signed = 1, int_bool = 4; // BTF_INT_*

bool is_wrapper(BtfKind kind) {
    return kind == BtfKind::Typedef || kind == BtfKind::Const || kind == BtfKind::Volatile ||
           kind == BtfKind::Restrict || kind == BtfKind::TypeTag;
}

} // namespace

std::optional<uint32_t> Btf::tagged(std::string_view name,
                                    std::initializer_list<BtfKind> kinds) const {
    index_names();
    auto [first, last] = named_.equal_range(name);
    for (BtfKind kind : kinds) {
        std::optional<uint32_t> lowest;
        for (auto at = first; at != last; ++at) {
            if (type(at->second).kind == kind && (!lowest || at->second < *lowest))
                lowest = at->second;
        }
        if (lowest)
            return lowest;
    }
    return base_ ? base_->tagged(name, kinds) : std::nullopt;
}

uint32_t Btf::bare(uint32_t id) const {
    for (int depth = 0; depth < deepest_btf; depth++) {
        BtfType at = type(id);
        if (is_wrapper(at.kind)) {
            id = at.size_or_type;
        } else if (at.kind == BtfKind::Fwd) {
            auto definition = tagged(at.name, {at.flag ? BtfKind::Union : BtfKind::Struct});
            return definition ? *definition : id;
        } else {
            return id;
        }
    }
    return 0;
}

uint64_t Btf::array_size(const BtfType& array) const {
    uint64_t elements = 1;
    BtfType at = array;
    TypeId element = 0;
    for (int depth = 0; at.kind == BtfKind::Array && depth < deepest_btf; depth++) {
        elements *= at.extra_u32(2);
        element = at.extra_u32(0);
        at = type(bare(static_cast<uint32_t>(element)));
    }
    return at.kind == BtfKind::Array ? 0 : elements * resolve(element).size;
}

CType Btf::resolve(TypeId id) const {
    CType result;
    if (id >> pointer_shift) {
        result.kind = CTypeKind::Pointer;
        result.size = sizeof(uint64_t);
        result.base_type = id - (TypeId(1) << pointer_shift);
        return result;
    }
    BtfType at = type(bare(id));
    result.name = at.name;
    switch (at.kind) {
    case BtfKind::Void:
        result.kind = id < size() ? CTypeKind::Void : CTypeKind::Unknown;
        break;
    case BtfKind::Int: {
        uint32_t encoding = at.extra_u32(0) >> 24;
        result.kind = encoding & int_bool         ? CTypeKind::Bool
                      : at.name.ends_with("char") ? CTypeKind::Char
                                                  : CTypeKind::Integer;
        result.is_signed = encoding & int_signed;
        result.size = at.size_or_type;
        break;
    }
    case BtfKind::Ptr:
        result.kind = CTypeKind::Pointer;
        result.size = sizeof(uint64_t);
        result.base_type = at.size_or_type;
        break;
    case BtfKind::Array:
        result.kind = CTypeKind::Array;
        result.base_type = at.extra_u32(0);
        result.count = at.extra_u32(2);
        result.size = array_size(at);
        break;
    case BtfKind::Struct:
    case BtfKind::Union:
        result.kind = at.kind == BtfKind::Struct ? CTypeKind::Struct : CTypeKind::Union;
        result.size = at.size_or_type;
        break;
    case BtfKind::Fwd:
        result.kind = at.flag ? CTypeKind::Union : CTypeKind::Struct;
        break;
    case BtfKind::Enum:
    case BtfKind::Enum64:
        result.kind = CTypeKind::Enum;
        result.size = at.size_or_type;
        result.is_signed = at.flag;
        break;
    case BtfKind::Float:
        result.kind = CTypeKind::Float;
        result.size = at.size_or_type;
        break;
    case BtfKind::FuncProto:
        result.kind = CTypeKind::Function;
        result.base_type = at.size_or_type;
        break;
    default:
        break;
    }
    return result;
}

std::vector<CMember> Btf::members(TypeId id) const {
    std::vector<CMember> members;
    BtfType at = id >> pointer_shift ? BtfType() : type(bare(id));
    if (at.kind != BtfKind::Struct && at.kind != BtfKind::Union)
        return members;
    for (uint32_t i = 0; i < at.count; i++) {
        CMember member;
        member.name = string(at.extra_u32(3 * i));
        member.type = at.extra_u32(3 * i + 1);
        uint32_t place = at.extra_u32(3 * i + 2);
        uint64_t bits = at.flag ? place & 0xffffff : place;
        member.offset = bits / 8;
        BtfType storage = type(bare(member.type));
        if (at.flag)
            member.bit_size = place >> 24;
        else if (storage.kind == BtfKind::Int &&
                 (storage.extra_u32(0) & 0xff) != storage.size_or_type * 8) {
            // the old form: an integer with this number of bits
            member.bit_size = storage.extra_u32(0) & 0xff;
            bits += (storage.extra_u32(0) >> 16) & 0xff;
        }
        if (uint64_t size = resolve(member.type).size; member.bit_size && size)
            place_bit_field(member, bits, size);
        members.push_back(std::move(member));
    }
    return members;
}

std::vector<CEnumerator> Btf::enumerators(TypeId id) const {
    std::vector<CEnumerator> values;
    BtfType at = id >> pointer_shift ? BtfType() : type(bare(id));
    for (uint32_t i = 0; i < at.count; i++) {
        if (at.kind == BtfKind::Enum) {
            uint32_t value = at.extra_u32(2 * i + 1);
            values.push_back({std::string(string(at.extra_u32(2 * i))),
                              at.flag ? int64_t(int32_t(value)) : value});
        } else if (at.kind == BtfKind::Enum64) {
            uint64_t value = at.extra_u32(3 * i + 1) | uint64_t(at.extra_u32(3 * i + 2)) << 32;
            values.push_back({std::string(string(at.extra_u32(3 * i))), int64_t(value)});
        }
    }
    return values;
}

std::optional<int64_t> Btf::enumerator(std::string_view name) const {
    for (uint32_t id = 1; id < size(); id++) {
        const BtfType at = type(id);
        const uint32_t fields = at.kind == BtfKind::Enum ? 2 : at.kind == BtfKind::Enum64 ? 3 : 0;
        for (uint32_t i = 0; fields && i < at.count; i++)
            if (string(at.extra_u32(fields * i)) == name)
                return enumerators(id)[i].value;
    }
    return std::nullopt;
}

std::vector<std::string> Btf::enumerator_names() const {
    std::vector<std::string> names;
    for (uint32_t id = 1; id < size(); id++)
        for (CEnumerator& each : enumerators(id))
            names.push_back(std::move(each.name));
    return names;
}

std::vector<std::string_view> Btf::type_names() const {
    std::vector<std::string_view> names;
    for (uint32_t id = 1; id < size(); id++) {
        const BtfType at = type(id);
        const bool is_named = at.kind == BtfKind::Struct || at.kind == BtfKind::Union ||
                              at.kind == BtfKind::Enum || at.kind == BtfKind::Enum64 ||
                              at.kind == BtfKind::Typedef || at.kind == BtfKind::Int;
        if (is_named && !at.name.empty())
            names.push_back(at.name);
    }
    return names;
}

std::optional<TypeId> Btf::by_name(std::string_view name) const {
    NamedType wanted = parse_type_name(name);
    if (wanted.name.empty())
        return std::nullopt;
    switch (wanted.kind) {
    case NamedTypeKind::Struct:
        return tagged(wanted.name, {BtfKind::Struct});
    case NamedTypeKind::Union:
        return tagged(wanted.name, {BtfKind::Union});
    case NamedTypeKind::Enum:
        return tagged(wanted.name, {BtfKind::Enum, BtfKind::Enum64});
    case NamedTypeKind::Plain:
        break;
    }
    return tagged(wanted.name, {BtfKind::Typedef, BtfKind::Int, BtfKind::Float, BtfKind::Struct,
                                BtfKind::Union, BtfKind::Enum, BtfKind::Enum64});
}

TypeStep Btf::step(TypeId id) const {
    TypeStep step;
    if (id >> pointer_shift) {
        step.form = TypeStep::Form::Pointer;
        step.base_type = id - (TypeId(1) << pointer_shift);
        return step;
    }
    BtfType at = type(id);
    for (int depth = 0; at.kind == BtfKind::TypeTag && depth < deepest_btf; depth++)
        at = type(at.size_or_type);
    step.base_type = at.size_or_type;
    auto tagged_text = [&](const char* keyword) {
        step.text = keyword;
        step.text.append(at.name.empty() ? " {...}" : " ").append(at.name);
    };
    switch (at.kind) {
    case BtfKind::Struct:
        tagged_text("struct");
        break;
    case BtfKind::Union:
        tagged_text("union");
        break;
    case BtfKind::Fwd:
        tagged_text(at.flag ? "union" : "struct");
        break;
    case BtfKind::Enum:
    case BtfKind::Enum64:
        tagged_text("enum");
        break;
    case BtfKind::Ptr:
        step.form = TypeStep::Form::Pointer;
        break;
    case BtfKind::Array:
        step.form = TypeStep::Form::Array;
        step.base_type = at.extra_u32(0);
        step.count = at.extra_u32(2);
        break;
    case BtfKind::FuncProto:
        step.form = TypeStep::Form::Function;
        for (uint32_t i = 0; i < at.count; i++) {
            uint32_t parameter = at.extra_u32(2 * i + 1);
            if (parameter || at.extra_u32(2 * i))
                step.parameters.push_back(parameter);
            else
                step.varargs = true;
        }
        break;
    case BtfKind::Const:
    case BtfKind::Volatile:
    case BtfKind::Restrict:
        step.form = TypeStep::Form::Qualified;
        step.text = at.kind == BtfKind::Const      ? "const"
                    : at.kind == BtfKind::Volatile ? "volatile"
                                                   : "restrict";
        break;
    case BtfKind::Void:
        step.text = id ? "?" : "void";
        break;
    default:
        step.text = at.name;
        break;
    }
    return step;
}

uint32_t Btf::with_const(uint32_t id) const {
    index_names();
    if (auto found = const_of_.find(id); found != const_of_.end())
        return found->second;
    return base_ ? base_->with_const(id) : id;
}

TypeId Btf::by_declaration(std::string_view text) const {
    std::string words;
    bool is_const = false; // of the type that all pointers lead to
    TypeId pointers = std::count(text.begin(), text.end(), '*');
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find_first_of(" \t*", at), text.size());
        std::string_view each = text.substr(at, end - at);
        if (each == "const")
            is_const |= text.substr(0, at).find('*') == std::string_view::npos;
        else if (!each.empty() && each != "__user" && each != "volatile")
            words.append(words.empty() ? "" : " ").append(each);
        at = end + 1;
    }
    auto base = by_name(words);
    // every argument fills a register
    if (!base && !pointers && words != "void")
        base = by_name("long");
    TypeId bare = base ? *base : 0;
    if (is_const && (base || words == "void"))
        bare = with_const(static_cast<uint32_t>(bare));
    return bare + (pointers << pointer_shift);
}

} // namespace djstap
