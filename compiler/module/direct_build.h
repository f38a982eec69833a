// SPDX-License-Identifier: GPL-2.0-or-later
// Builds a kit's objects with Kbuild's commands, but side by side and each once.
#pragma once
#include "module/assembly.h"
#include "module/kit_build.h"
#include "module/manifest.h"
#include "module/parts.h"
#include "system/temporary.h"

#include <functional>
#include <string>
#include <vector>

namespace djstap::module {

struct DirectBuild {
    const Kernel& kernel;
    // Called once, while Kbuild is at work; may wait.
    std::function<std::vector<Unit>()> units;
    const TemporaryFolder& scratch;       // contains the sources that the units include
    const std::vector<std::string>& make; // the command, without what to build
    std::string module_name;
    unsigned jobs = 1;
    // done, of all
    std::function<void(size_t, size_t)> progress;
};

// Lets Kbuild build a module from nothing but stub.o (and what every module must have), which tells
// all commands and makes what only Kbuild can make, and compiles the runtime beside it. Returns the
// runtime's objects, whose symbols are not in the module's version table. Fails if anything is not
// as expected: Kbuild must build all. The objects are in the order of the units.
Result<std::vector<std::string>> build_directly(const DirectBuild& build);

// Adds what the runtime's objects need to the version table of a module's own part (.mod.o).
// Fails if that takes more than that table, which Kbuild would know.
// `stub`: the object whose symbols need versions, too; empty: they have them.
Status complete_versions(const RuntimeKit& kit, const Assembly& assembly,
                         const TemporaryFolder& scratch, const std::string& stub, bool versioned);

} // namespace djstap::module
