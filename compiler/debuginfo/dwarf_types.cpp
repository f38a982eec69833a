// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/dwarf_types.h"

#include "debuginfo/dwarf_tree.h"
#include "system/regular_file.h"

#include <algorithm>
#include <array>

namespace djstap {

namespace {

constexpr int dimension_shift = 48;
constexpr TypeId offset_mask = (TypeId(1) << dimension_shift) - 1;
constexpr int deepest_typedef = 64; // typedefs of typedefs

std::optional<int64_t> number(Dwarf_Die* die, unsigned name) {
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) ? constant_of(&attribute) : std::nullopt;
}

std::string name_of(Dwarf_Die* die) {
    const char* name = dwarf_diename(die);
    return name ? name : "";
}

std::vector<uint64_t> dimensions(Dwarf_Die* array) {
    std::vector<uint64_t> counts;
    each_child(array, [&](Dwarf_Die* child) {
        if (dwarf_tag(child) != DW_TAG_subrange_type)
            return;
        if (auto count = number(child, DW_AT_count))
            counts.push_back(*count);
        else if (auto last = number(child, DW_AT_upper_bound))
            counts.push_back(*last + 1);
        else
            counts.push_back(0);
    });
    return counts;
}

bool is_qualifier(int tag) {
    return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type || tag == DW_TAG_restrict_type ||
           tag == DW_TAG_atomic_type;
}

CTypeKind base_kind(Dwarf_Die* die, bool& is_signed) {
    int64_t encoding = number(die, DW_AT_encoding).value_or(0);
    is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
    switch (encoding) {
    case DW_ATE_boolean:
        return CTypeKind::Bool;
    case DW_ATE_signed_char:
    case DW_ATE_unsigned_char:
        return CTypeKind::Char;
    case DW_ATE_float:
        return CTypeKind::Float;
    default:
        return CTypeKind::Integer;
    }
}

} // namespace

Dwarf* LazyDwarf::get() const {
    if (!tried_) {
        tried_ = true;
        if (auto file = DwarfFile::open(path_))
            file_ = std::move(*file);
    }
    return file_ ? file_->get() : nullptr;
}

LazyFrames::~LazyFrames() {
    if (table_)
        dwarf_cfi_end(table_);
    elf_end(elf_);
}

Dwarf_CFI* LazyFrames::get() const {
    if (tried_)
        return table_;
    tried_ = true;
    elf_version(EV_CURRENT);
    if (auto file = open_regular(path_)) {
        file_ = std::move(*file);
        elf_ = elf_begin(file_.get(), ELF_C_READ, nullptr);
    }
    if (elf_)
        table_ = dwarf_getcfi_elf(elf_);
    return table_;
}

bool DwarfTypes::die_of(TypeId type, Dwarf_Die* die) const {
    Dwarf* dwarf = type ? dwarf_.get() : nullptr;
    return dwarf && dwarf_offdie(dwarf, type & offset_mask, die);
}

std::optional<TypeId> DwarfTypes::tagged(std::string_view name, int tag) const {
    for (const TypeRecord& record : index_().types_named(name)) {
        if (int(record.tag) == tag)
            return record.die;
    }
    return std::nullopt;
}

namespace {

bool is_class(int tag) {
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
}

bool is_reference(int tag) {
    return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

int language_of(Dwarf_Die* die) {
    Dwarf_Die unit;
    return dwarf_diecu(die, &unit, nullptr, nullptr) ? dwarf_srclang(&unit) : -1;
}

// Returns whether a type with scopes, "shop::box<shop::order>", ends with a name, whatever spaces
// the compiler and the user put into the arguments of templates. `whole`: no scope may be omitted.
bool is_named(std::string_view type, std::string_view name, bool whole) {
    size_t at = type.size(), left = name.size();
    while (left > 0) {
        if (name[left - 1] == ' ') {
            left--;
        } else if (at > 0 && type[at - 1] == ' ') {
            at--;
        } else if (at > 0 && type[at - 1] == name[left - 1]) {
            at--;
            left--;
        } else {
            return false;
        }
    }
    return at == 0 || (!whole && type.substr(0, at).ends_with("::"));
}

} // namespace

// Returns a type of C++ whose outer scopes a name may omit: the one with the fewest of them.
std::optional<TypeId> DwarfTypes::scoped(std::string_view name, std::span<const int> tags) const {
    const bool whole = name.starts_with("::");
    if (whole)
        name.remove_prefix(2);
    const TypeRecord* found = nullptr;
    size_t length = 0;
    for (const TypeRecord& record : index_().types()) {
        const std::string_view text = index_().text(record.name);
        if ((!found || text.size() < length) &&
            std::find(tags.begin(), tags.end(), int(record.tag)) != tags.end() &&
            is_named(text, name, whole)) {
            found = &record;
            length = text.size();
        }
    }
    return found ? std::optional<TypeId>(found->die) : std::nullopt;
}

// The definition of what an entry declares.
std::optional<TypeId> DwarfTypes::defined(Dwarf_Die* declaration, int tag) const {
    std::string name = name_of(declaration);
    if (has_scopes(language_of(declaration)))
        if (const std::string scope = scope_of(declaration); !scope.empty())
            name = scope + "::" + name;
    auto found = tagged(name, tag);
    if (!found && is_class(tag))
        found = tagged(name, tag == DW_TAG_class_type ? DW_TAG_structure_type : DW_TAG_class_type);
    return found;
}

bool DwarfTypes::bare(TypeId type, Dwarf_Die* die, TypeId* id) const {
    for (int depth = 0; depth < deepest_typedef; depth++) {
        if (!die_of(type, die))
            return false;
        int tag = dwarf_tag(die);
        if (tag == DW_TAG_typedef || is_qualifier(tag)) {
            type = type_offset(die);
            continue;
        }
        if (dwarf_hasattr(die, DW_AT_declaration)) {
            auto definition = defined(die, tag);
            if (definition && *definition != type) {
                type = *definition;
                continue;
            }
        }
        if (id)
            *id = type;
        return true;
    }
    return false;
}

CType DwarfTypes::resolve(TypeId type) const {
    CType result;
    Dwarf_Die die;
    TypeId id = 0;
    if (!type) {
        result.kind = CTypeKind::Void;
        return result;
    }
    if (!bare(type, &die, &id)) {
        // A chain of typedefs of void ends without an entry.
        Dwarf_Die last;
        result.kind = die_of(type, &last) ? CTypeKind::Void : CTypeKind::Unknown;
        return result;
    }
    result.name = name_of(&die);
    result.size = std::max<int64_t>(number(&die, DW_AT_byte_size).value_or(0), 0);
    result.base_type = type_offset(&die);
    switch (dwarf_tag(&die)) {
    case DW_TAG_base_type:
        result.kind = base_kind(&die, result.is_signed);
        break;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
        result.kind = CTypeKind::Struct;
        break;
    case DW_TAG_union_type:
        result.kind = CTypeKind::Union;
        break;
    case DW_TAG_enumeration_type: {
        result.kind = CTypeKind::Enum;
        int64_t encoding = number(&die, DW_AT_encoding).value_or(0);
        result.is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char ||
                           (result.base_type && resolve(result.base_type).is_signed);
        break;
    }
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type: // C++ reads through it
    case DW_TAG_rvalue_reference_type:
        result.kind = CTypeKind::Pointer;
        result.size = sizeof(uint64_t);
        break;
    case DW_TAG_subroutine_type:
        result.kind = CTypeKind::Function;
        break;
    case DW_TAG_array_type: {
        result.kind = CTypeKind::Array;
        std::vector<uint64_t> counts = dimensions(&die);
        size_t taken = id >> dimension_shift;
        result.count = taken < counts.size() ? counts[taken] : 0;
        uint64_t elements = 1;
        for (size_t i = taken; i < counts.size(); i++)
            elements *= counts[i];
        result.size = elements * resolve(result.base_type).size;
        if (taken + 1 < counts.size())
            result.base_type = (id & offset_mask) | TypeId(taken + 1) << dimension_shift;
        break;
    }
    case DW_TAG_unspecified_type:
        result.kind = CTypeKind::Void;
        break;
    default:
        result.kind = CTypeKind::Unknown;
        break;
    }
    return result;
}

std::vector<CMember> DwarfTypes::members(TypeId type) const {
    std::vector<CMember> members;
    Dwarf_Die die;
    if (!bare(type, &die))
        return members;
    int tag = dwarf_tag(&die);
    if (!is_class(tag) && tag != DW_TAG_union_type)
        return members;
    each_child(&die, [&](Dwarf_Die* child) {
        // A base class is like a member without a name, but where a virtual one is depends on the
        // object; a static member is a variable.
        const bool is_base = dwarf_tag(child) == DW_TAG_inheritance &&
                             number(child, DW_AT_virtuality).value_or(0) == 0;
        if ((dwarf_tag(child) != DW_TAG_member && !is_base) ||
            dwarf_hasattr(child, DW_AT_external) || dwarf_hasattr(child, DW_AT_declaration))
            return;
        CMember member;
        member.name = name_of(child);
        member.type = type_offset(child);
        member.offset = number(child, DW_AT_data_member_location).value_or(0);
        member.bit_size = number(child, DW_AT_bit_size).value_or(0);
        uint64_t storage = member.bit_size ? resolve(member.type).size : 0;
        if (member.bit_size && storage) {
            uint64_t bits = member.offset * 8;
            if (auto first = number(child, DW_AT_data_bit_offset))
                bits = *first;
            // DWARF 3: from the most significant bit
            else if (auto from_top = number(child, DW_AT_bit_offset))
                bits += storage * 8 - *from_top - member.bit_size;
            place_bit_field(member, bits, storage);
        }
        members.push_back(std::move(member));
    });
    return members;
}

std::vector<CEnumerator> DwarfTypes::enumerators(TypeId type) const {
    std::vector<CEnumerator> values;
    Dwarf_Die die;
    if (!bare(type, &die) || dwarf_tag(&die) != DW_TAG_enumeration_type)
        return values;
    each_child(&die, [&](Dwarf_Die* child) {
        if (dwarf_tag(child) == DW_TAG_enumerator)
            values.push_back({name_of(child), number(child, DW_AT_const_value).value_or(0)});
    });
    return values;
}

std::optional<TypeId> DwarfTypes::by_name(std::string_view name) const {
    NamedType wanted = parse_type_name(name);
    static constexpr std::array<int, 6> all{DW_TAG_typedef,        DW_TAG_base_type,
                                            DW_TAG_structure_type, DW_TAG_class_type,
                                            DW_TAG_union_type,     DW_TAG_enumeration_type};
    static constexpr std::array<int, 2> classes{DW_TAG_structure_type, DW_TAG_class_type};
    static constexpr std::array<int, 1> unions{DW_TAG_union_type};
    static constexpr std::array<int, 1> enumerations{DW_TAG_enumeration_type};
    std::span<const int> tags = all;
    switch (wanted.kind) {
    case NamedTypeKind::Struct:
        tags = classes;
        break;
    case NamedTypeKind::Union:
        tags = unions;
        break;
    case NamedTypeKind::Enum:
        tags = enumerations;
        break;
    case NamedTypeKind::Plain:
        break;
    }
    for (int tag : tags) {
        if (auto found = tagged(wanted.name, tag))
            return found;
    }
    return wanted.name.empty() ? std::nullopt : scoped(wanted.name, tags);
}

TypeStep DwarfTypes::step(TypeId type) const {
    TypeStep step;
    Dwarf_Die die;
    if (!die_of(type, &die)) {
        step.text = "?";
        return step;
    }
    int tag = dwarf_tag(&die);
    step.base_type = type_offset(&die);
    auto tagged_text = [&](const char* keyword) {
        std::string name = name_of(&die);
        step.text = keyword;
        step.text.append(name.empty() ? " {...}" : " " + name);
    };
    switch (tag) {
    case DW_TAG_structure_type:
        tagged_text("struct");
        break;
    case DW_TAG_class_type:
        tagged_text("class");
        break;
    case DW_TAG_union_type:
        tagged_text("union");
        break;
    case DW_TAG_enumeration_type:
        tagged_text("enum");
        break;
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        step.form = TypeStep::Form::Pointer;
        step.text = !is_reference(tag) ? "*" : tag == DW_TAG_reference_type ? "&" : "&&";
        break;
    case DW_TAG_subroutine_type:
        step.form = TypeStep::Form::Function;
        each_child(&die, [&](Dwarf_Die* child) {
            if (dwarf_tag(child) == DW_TAG_formal_parameter)
                step.parameters.push_back(type_offset(child));
            step.varargs = step.varargs || dwarf_tag(child) == DW_TAG_unspecified_parameters;
        });
        break;
    case DW_TAG_array_type: {
        std::vector<uint64_t> counts = dimensions(&die);
        size_t taken = type >> dimension_shift;
        step.form = TypeStep::Form::Array;
        step.count = taken < counts.size() ? counts[taken] : 0;
        if (taken + 1 < counts.size())
            step.base_type = (type & offset_mask) | TypeId(taken + 1) << dimension_shift;
        break;
    }
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
        step.form = TypeStep::Form::Qualified;
        step.text = tag == DW_TAG_const_type      ? "const"
                    : tag == DW_TAG_volatile_type ? "volatile"
                    : tag == DW_TAG_restrict_type ? "restrict"
                                                  : "_Atomic";
        break;
    default:
        step.text = name_of(&die);
        break;
    }
    return step;
}

} // namespace djstap
