// SPDX-License-Identifier: GPL-2.0-or-later
// A .ko as a file: read before it is loaded.
#pragma once
#include "diagnostics/result.h"
#include "session/meta.h"

#include <cstdint>
#include <string>

namespace djstap {

struct ModuleFile {
    std::string path;
    std::string name; // as the kernel will know it
    bool is_signed = false;
    ModuleMeta meta;
    uint64_t identity = 0; // of the script, as its rings carry it in memory
};

// Reads the sections .djstap.meta and .modinfo of a 64-bit ELF file. Fails for files that are no
// such module.
Result<ModuleFile> read_module_file(const std::string& path);

} // namespace djstap
