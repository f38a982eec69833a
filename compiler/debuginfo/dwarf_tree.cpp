// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/dwarf_tree.h"

#include <cstdlib>

namespace djstap {

bool has_scopes(int language) {
    switch (language) {
    case -1:
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Go:
    case DW_LANG_Mips_Assembler:
        return false;
    default:
        return true;
    }
}

std::string scope_of(Dwarf_Die* die) {
    Dwarf_Die declaration = *die;
    Dwarf_Attribute attribute;
    dwarf_formref_die(dwarf_attr(die, DW_AT_specification, &attribute), &declaration);
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(&declaration, &scopes);
    std::string text;
    for (int i = count - 1; i > 0; i--) {
        const int tag = dwarf_tag(&scopes[i]);
        const char* name = dwarf_diename(&scopes[i]);
        if (name && (tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
                     tag == DW_TAG_structure_type || tag == DW_TAG_union_type))
            text.append(text.empty() ? "" : "::").append(name);
    }
    std::free(scopes);
    return text;
}

std::vector<std::string> inline_namespaces_of(Dwarf_Die* die) {
    Dwarf_Die declaration = *die;
    Dwarf_Attribute attribute;
    for (const int how : {DW_AT_abstract_origin, DW_AT_specification})
        dwarf_formref_die(dwarf_attr(&declaration, static_cast<unsigned>(how), &attribute),
                          &declaration);
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(&declaration, &scopes);
    std::vector<std::string> names;
    for (int i = 1; i < count; i++)
        if (const char* name = dwarf_diename(&scopes[i]);
            name && dwarf_tag(&scopes[i]) == DW_TAG_namespace &&
            dwarf_hasattr(&scopes[i], DW_AT_export_symbols))
            names.emplace_back(name);
    std::free(scopes);
    return names;
}

} // namespace djstap
