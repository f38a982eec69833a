// SPDX-License-Identifier: GPL-2.0-or-later
// A module's name, written over the placeholder that the runtime was built with.
#pragma once
#include "module/elf.h"

#include <string>
#include <string_view>

namespace djstap::module {

// As long as a module's name may be (MODULE_NAME_LEN - 1), so that any other fits in its place.
inline constexpr std::string_view name_placeholder =
    "djstap_placeholder_for_the_name_of_a_module_01234567890";

// Where in a module's file the placeholder stands as a whole string in memory that is loaded: in
// struct module, after "name=" in .modinfo, in read-only strings. Fails where it is part of a
// longer text, which a shorter name would cut, or where struct module or .modinfo lack it.
Result<std::vector<size_t>> find_placeholders(std::string_view file, const ElfObject& module);

// Writes `name`, padded with NULs, at each of those places.
void put_name(std::string& file, const std::vector<size_t>& places, std::string_view name);

} // namespace djstap::module
