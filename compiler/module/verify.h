// SPDX-License-Identifier: GPL-2.0-or-later
// What a script's object may hold, and what a finished module must.
#pragma once
#include "module/elf.h"
#include "module/module.h"

namespace djstap::module {

struct ScriptFacts {
    // It takes the address of a function of the runtime: whether that function needs its landing
    // pad can then only be told from runtime and script together.
    bool takes_runtime_addresses = false;
};

// Checks a script's object: it defines djs_script and the section .djstap.meta, and holds no
// sections, symbols or relocations but those that scripts may have.
Result<ScriptFacts> check_script_object(const ElfObject& object, const RuntimeKit& kit);

// Checks what objtool and ld made: symbols that have versions, relocations that the kernel's loader
// knows, no memory that is writable and executable, unwind tables of matching size, and for each
// use of a return or indirect-branch thunk the entry by which the kernel patches it.
Status check_module(const ElfObject& module, const RuntimeKit& kit);

// Names of the symbols that a version table (the section __versions) covers, sorted.
Result<std::vector<std::string>> read_versions(const ElfObject& object);

} // namespace djstap::module
