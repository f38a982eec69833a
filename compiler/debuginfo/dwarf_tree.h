// SPDX-License-Identifier: GPL-2.0-or-later
// Navigates between the entries (DIEs) of .debug_info.
#pragma once
#include <dwarf.h>
#include <elfutils/libdw.h>

#include <optional>
#include <string>
#include <vector>

namespace djstap {

// Calls found(Dwarf_Die*) for each child of `parent`.
template <class Found> void each_child(Dwarf_Die* parent, Found found) {
    Dwarf_Die child;
    if (dwarf_child(parent, &child) != 0)
        return;
    do {
        found(&child);
    } while (dwarf_siblingof(&child, &child) == 0);
}

// Returns what DW_AT_abstract_origin of an entry refers to.
inline std::optional<Dwarf_Die> origin_of(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &attribute), &origin))
        return origin;
    return std::nullopt;
}

// Returns where an inline instance begins. Some only have ranges: they begin with the first one.
inline std::optional<uint64_t> entry_of_inlined(Dwarf_Die* die) {
    Dwarf_Addr address = 0, base = 0, end = 0;
    if ((dwarf_entrypc(die, &address) == 0 && address != 0) ||
        dwarf_ranges(die, 0, &base, &address, &end) > 0)
        return address;
    return std::nullopt;
}

// Returns whether types and functions of a language (DW_LANG_…) are in namespaces and classes.
bool has_scopes(int language);

// Returns the namespaces and classes around the declaration of an entry, from the outermost one:
// "shop::order". Anonymous ones are not named.
std::string scope_of(Dwarf_Die* die);
// Returns the names of the inline namespaces that contain a function.
std::vector<std::string> inline_namespaces_of(Dwarf_Die* die);

} // namespace djstap
