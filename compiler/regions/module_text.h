// SPDX-License-Identifier: GPL-2.0-or-later
// What a kernel has made of a module's code, at the addresses of the linked file.
#pragma once
#include "image/elf_file.h"

#include <string>
#include <string_view>

namespace djstap::regions {

// Returns the section .text of a linked module (link_module_code) as `live` has it, which is what
// is in memory of that section: where the kernel has patched nothing, with the linked file's
// addresses instead of those of the loaded module. Fails if `live` is too short, or does not come
// from this module.
Result<std::string> module_text(const ElfFile& linked, std::string_view live);

} // namespace djstap::regions
