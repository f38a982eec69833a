// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/dwarf_scan.h"

#include "debuginfo/dwarf_tree.h"
#include "system/regular_file.h"

#include <algorithm>
#include <cstring>

namespace djstap {

Result<std::unique_ptr<DwarfFile>> DwarfFile::open(const std::string& path) {
    auto file = open_regular(path);
    if (!file)
        return file.failure();
    Dwarf* dwarf = dwarf_begin(file->get(), DWARF_C_READ);
    if (!dwarf)
        return Failure{path + ": has no DWARF: " + dwarf_errmsg(-1), ""};
    return std::unique_ptr<DwarfFile>(new DwarfFile(std::move(*file), dwarf));
}

DwarfFile::~DwarfFile() {
    dwarf_end(dwarf_);
}

constexpr size_t first_slots = 1 << 12, block_bytes = 1 << 18;

// The empty string has number 0, which no slot has.
StringSet::StringSet() : slots_(first_slots), strings_{""} {}

uint32_t StringSet::add(std::string_view text) {
    if (text.empty())
        return 0;
    const size_t whole = std::hash<std::string_view>()(text);
    const uint32_t hash = static_cast<uint32_t>(whole ^ whole >> 32);
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    for (; slots_[at].number; at = (at + 1) & mask)
        if (slots_[at].hash == hash && strings_[slots_[at].number] == text)
            return slots_[at].number;
    const auto number = static_cast<uint32_t>(strings_.size());
    slots_[at] = {hash, number};
    strings_.push_back(keep(text));
    if (strings_.size() * 2 > slots_.size())
        grow();
    return number;
}

void StringSet::grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    const size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
        size_t at = slot.hash & mask;
        while (slot.number && slots_[at].number)
            at = (at + 1) & mask;
        if (slot.number)
            slots_[at] = slot;
    }
}

std::string_view StringSet::keep(std::string_view text) {
    if (text.size() > free_bytes_) {
        free_bytes_ = std::max(text.size(), block_bytes);
        blocks_.push_back(std::make_unique_for_overwrite<char[]>(free_bytes_));
        free_ = blocks_.back().get();
    }
    std::memcpy(free_, text.data(), text.size());
    const std::string_view kept(free_, text.size());
    free_ += text.size();
    free_bytes_ -= text.size();
    return kept;
}

std::vector<Dwarf_Off> unit_offsets(Dwarf* dwarf) {
    std::vector<Dwarf_Off> offsets;
    Dwarf_Off offset = 0, next = 0;
    size_t header = 0;
    while (dwarf_next_unit(dwarf, offset, &next, &header, nullptr, nullptr, nullptr, nullptr,
                           nullptr, nullptr) == 0) {
        offsets.push_back(offset + header);
        offset = next;
    }
    return offsets;
}

uint32_t type_offset(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), &type))
        return 0;
    return dwarf_dieoffset(&type);
}

DwarfScanner::DwarfScanner(Dwarf* dwarf, const Image& image)
    : dwarf_(dwarf), image_(image), sections_(LineSections::of(dwarf)), seen_names_(1 << 16) {}

// The same string of .debug_str names a type in thousands of units: its offset shows that it is
// known.
bool DwarfScanner::first_sight(const char* name, int tag, size_t scope) {
    if (seen_count_ * 2 >= seen_names_.size())
        grow_seen();
    uintptr_t key = ((reinterpret_cast<uintptr_t>(name) + scope) << 8) | (tag & 0xff);
    size_t mask = seen_names_.size() - 1;
    for (size_t at = (key * 0x9e3779b97f4a7c15) >> 32 & mask;; at = (at + 1) & mask) {
        if (seen_names_[at] == key)
            return false;
        if (seen_names_[at] == 0) {
            seen_names_[at] = key;
            seen_count_++;
            return true;
        }
    }
}

void DwarfScanner::grow_seen() {
    std::vector<uintptr_t> old(seen_names_.size() * 2);
    old.swap(seen_names_);
    size_t mask = seen_names_.size() - 1;
    for (uintptr_t key : old) {
        if (!key)
            continue;
        size_t at = (key * 0x9e3779b97f4a7c15) >> 32 & mask;
        while (seen_names_[at])
            at = (at + 1) & mask;
        seen_names_[at] = key;
    }
}

bool DwarfScanner::scan_type(Dwarf_Die* die, int tag, const Scope& scope) {
    Dwarf_Attribute attribute;
    const char* name = dwarf_formstring(dwarf_attr(die, DW_AT_name, &attribute));
    if (!name)
        return false;
    bool shared = attribute.form != DW_FORM_string; // otherwise the bytes are in the entry itself
    bool is_declaration =
        tag != DW_TAG_typedef && tag != DW_TAG_base_type && dwarf_hasattr(die, DW_AT_declaration);
    if (is_declaration || (shared && !first_sight(name, tag, scope.hash)))
        return false;
    uint32_t number = result_.strings.add(scope.prefix.empty() ? name : scope.prefix + name);
    if (!recorded_types_.insert(uint64_t(tag) << 32 | number).second)
        return false;
    result_.types.push_back({number, uint32_t(dwarf_dieoffset(die)), uint32_t(tag)});
    return true;
}

// A header's enumeration occurs in thousands of units: each name is recorded once.
void DwarfScanner::scan_enumerators(Dwarf_Die* die) {
    each_child(die, [&](Dwarf_Die* child) {
        Dwarf_Attribute attribute;
        const char* name = dwarf_formstring(dwarf_attr(child, DW_AT_name, &attribute));
        if (!name || dwarf_tag(child) != DW_TAG_enumerator)
            return;
        const bool shared = attribute.form != DW_FORM_string;
        if (shared && !first_sight(name, DW_TAG_enumerator))
            return;
        Dwarf_Attribute value;
        if (auto number =
                dwarf_attr(child, DW_AT_const_value, &value) ? constant_of(&value) : std::nullopt)
            result_.enumerators.push_back(
                {*number, result_.strings.add(name), uint32_t(dwarf_dieoffset(child))});
    });
}

void DwarfScanner::scan_variable(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    if (!dwarf_attr(die, DW_AT_location, &attribute))
        return;
    Dwarf_Op* operations = nullptr;
    size_t count = 0;
    if (dwarf_getlocation(&attribute, &operations, &count) != 0 || count != 1)
        return;
    Dwarf_Addr address = operations[0].number;
    Dwarf_Attribute indexed; // clang writes the number of an address
    if (operations[0].atom == DW_OP_addrx) {
        if (dwarf_getlocation_attr(&attribute, operations, &indexed) != 0 ||
            dwarf_formaddr(&indexed, &address) != 0)
            return;
    } else if (operations[0].atom != DW_OP_addr) {
        return;
    }
    const char* name = dwarf_diename(die);
    if (!name || !*name)
        return;
    bool external = dwarf_hasattr_integrate(die, DW_AT_external);
    result_.variables.push_back({address, result_.strings.add(name), type_offset(die),
                                 uint32_t(dwarf_dieoffset(die)), external});
}

uint32_t DwarfScanner::file_number(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    if (dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_file, &attribute), &number) != 0)
        return 0;
    if (!files_read_) {
        files_read_ = true;
        files_.clear();
        for (const std::string& path : source_files(sections_, &unit_))
            files_.push_back(result_.strings.add(path));
    }
    return number < files_.size() ? files_[number] : 0;
}

uint32_t DwarfScanner::line_number(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    return dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_line, &attribute), &number) == 0
               ? number
               : 0;
}

void DwarfScanner::scan_unit(Dwarf_Off unit) {
    if (!dwarf_offdie(dwarf_, unit, &unit_))
        return;
    files_read_ = false;
    origins_.clear();
    int language = dwarf_srclang(&unit_);
    unit_is_c_ = language != DW_LANG_Mips_Assembler && language != -1;
    unit_has_scopes_ = has_scopes(language);
    scan_scope(&unit_, {});
}

constexpr int deepest_scope = 64;

DwarfScanner::Scope DwarfScanner::Scope::inside(const char* name) const {
    Scope inner{prefix, hash, depth + 1};
    if (name && *name) { // an anonymous namespace is not named
        inner.prefix.append(name).append("::");
        inner.hash = std::hash<std::string>()(inner.prefix);
    }
    return inner;
}

namespace {

bool may_contain_types(int tag) {
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool is_type(int tag) {
    return may_contain_types(tag) || tag == DW_TAG_enumeration_type || tag == DW_TAG_typedef ||
           tag == DW_TAG_base_type;
}

} // namespace

// Most units repeat a class that others have: what it contains is looked at once.
void DwarfScanner::scan_types_inside(Dwarf_Die* type, const Scope& scope) {
    if (scope.depth > deepest_scope)
        return;
    each_child(type, [&](Dwarf_Die* die) {
        const int tag = dwarf_tag(die);
        if (is_type(tag) && scan_type(die, tag, scope) && may_contain_types(tag))
            scan_types_inside(die, scope.inside(dwarf_diename(die)));
    });
}

// A unit, or a namespace, in which compilers may define functions, variables and types.
void DwarfScanner::scan_scope(Dwarf_Die* parent, const Scope& scope) {
    each_child(parent, [&](Dwarf_Die* die) {
        const int tag = dwarf_tag(die);
        if (is_type(tag)) {
            const bool is_new = scan_type(die, tag, scope);
            if (is_new && unit_has_scopes_ && may_contain_types(tag))
                scan_types_inside(die, scope.inside(dwarf_diename(die)));
            if (tag == DW_TAG_enumeration_type && scope.depth == 0)
                scan_enumerators(die);
        } else if (tag == DW_TAG_namespace) {
            if (scope.depth < deepest_scope)
                scan_scope(die, scope.inside(dwarf_diename(die)));
        } else if (tag == DW_TAG_variable) {
            scan_variable(die);
        } else if (tag == DW_TAG_subprogram) {
            scan_subprogram(die);
        }
    });
}

} // namespace djstap
