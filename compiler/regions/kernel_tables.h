// SPDX-License-Identifier: GPL-2.0-or-later
// What the tables of a kernel image say about its code: who patches it, where faults continue,
// where no probe is allowed.
#pragma once
#include "regions/functions.h"
#include "regions/regions.h"
#include "regions/targets.h"

#include <utility>
#include <vector>

namespace djstap::regions {

enum class ImageForm : uint8_t { Program, Kernel, Module };

ImageForm form_of(const ElfFile& file);

// Returns the tables that hold addresses of code that nothing jumps to.
AddressRanges patch_tables(const Code& code);

// Returns where the kernel replaces instructions at boot, or when it loads the module: addresses
// and numbers of bytes.
std::vector<std::pair<uint64_t, size_t>> patched_places(const ElfFile& file);

// Marks the code that the tables of a kernel or a module name. Needs the instructions.
void enter_by_kernel_tables(Code& code, const std::vector<Symbol>& symbols);

} // namespace djstap::regions
