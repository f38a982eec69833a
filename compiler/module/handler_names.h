// SPDX-License-Identifier: GPL-2.0-or-later
// Gives the runtime's code that must not be probed one name instead of hundreds.
#pragma once
#include "module/elf.h"

#include <set>
#include <string>
#include <string_view>

namespace djstap::module {

// The section whose code no kprobe may be placed in, and the name that all of it has.
inline constexpr std::string_view handler_section = ".kprobes.text",
                                  handler_code_name = "djs_handler_code";

// Takes the names of a module's symbols in handler_section away, except those in `kept`, and names
// the section instead. When a module is loaded, the kernel walks this section by its names and
// looks each of them up among all of the module's names (kprobe_add_area_blacklist), so that the
// number of names counts by its square. Without names the same code is refused, as one area.
// `module` is what `file` contains; its views are no longer valid afterwards.
void name_handlers_as_one(std::string& file, const ElfObject& module,
                          const std::set<std::string, std::less<>>& kept);

} // namespace djstap::module
