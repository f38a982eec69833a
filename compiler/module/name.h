// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces the placeholder that the runtime was built with by a module's name.
#pragma once
#include "module/elf.h"

#include <string>
#include <string_view>

namespace djstap::module {

// As long as a module's name may be (MODULE_NAME_LEN - 1), so that any other name fits.
inline constexpr std::string_view name_placeholder =
    "djstap_placeholder_for_the_name_of_a_module_01234567890";

// Finds the placeholder in a module's file wherever it is a whole string in loaded memory: in
// struct module, after "name=" in .modinfo, in read-only strings. Fails if it is part of a longer
// string, which a shorter name would truncate, or if struct module or .modinfo lack it.
Result<std::vector<size_t>> find_placeholders(std::string_view file, const ElfObject& module);

// Writes `name`, padded with NULs, to each of these places.
void put_name(std::string& file, const std::vector<size_t>& places, std::string_view name);

} // namespace djstap::module
