// SPDX-License-Identifier: GPL-2.0-or-later
// The modules that root lets a group run.
#pragma once
#include "diagnostics/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace djstap::offered {

// Where root puts them: NAME.ko.
inline constexpr const char* module_folder = "/etc/djstap/scripts";

// Returns whether this is the name of a module: letters, digits and _, at most 55 of them.
bool is_name(std::string_view name);

// Returns the path of the module with this name in `folder`. Fails if it is not offered: there is
// none, or someone other than root could have written it or could replace it.
Result<std::string> find_module(const std::string& folder, std::string_view name);

// Returns the names of all modules that find_module() finds, sorted.
std::vector<std::string> module_names(const std::string& folder);

} // namespace djstap::offered
