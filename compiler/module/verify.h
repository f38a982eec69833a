// SPDX-License-Identifier: GPL-2.0-or-later
// Checks script objects and finished modules.
#pragma once
#include "module/elf.h"
#include "module/module.h"

namespace djstap::module {

struct ScriptFacts {
    // The object takes the address of a function of the runtime: whether that function needs its
    // landing pad then depends on runtime and script together.
    bool takes_runtime_addresses = false;
};

// Checks a script's object: it must define djs_script and the section .djstap.meta, and contain
// only sections, symbols and relocations that scripts may have.
Result<ScriptFacts> check_script_object(const ElfObject& object, const RuntimeKit& kit);

// Checks the output of objtool and ld: symbols have versions, the kernel's loader handles the
// relocations, no memory is writable and executable, unwind tables match in size, and each use of a
// return or indirect-branch thunk has the entry by which the kernel patches it.
Status check_module(const ElfObject& module, const RuntimeKit& kit);

// Returns the symbols that a version table (the section __versions) covers, sorted.
Result<std::vector<std::string>> read_versions(const ElfObject& object);

} // namespace djstap::module
