// SPDX-License-Identifier: GPL-2.0-or-later
// What the tables of a kernel image say about its code: who patches it, where faults continue,
// where no probe is allowed.
#pragma once
#include "regions/functions.h"
#include "regions/targets.h"

#include <vector>

namespace djstap::regions {

// How a kernel decides which of its kprobes become jumps.
struct KernelRule {
    bool is_kernel = false;
    bool refuses_indirect_jumps = true; // for the whole function
    bool newer = false;                 // it copies more instructions
};

KernelRule kernel_rule(const Code& code, const std::vector<Symbol>& symbols);

// Returns the tables that hold addresses of code that nothing jumps to.
AddressRanges patch_tables(const Code& code);

// Marks the code that the tables name. Needs the instructions.
void enter_by_kernel_tables(Code& code, const std::vector<Symbol>& symbols);

} // namespace djstap::regions
