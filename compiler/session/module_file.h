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
    std::string name; // the kernel's name for it
    bool is_signed = false;
    ModuleMeta meta;
    uint64_t identity = 0; // of the script, as its marker pages in memory contain it
};

// Reads the sections .djstap.meta and .modinfo of a 64-bit ELF file. Fails if the file is not such
// a module.
Result<ModuleFile> read_module_file(const std::string& path);

} // namespace djstap
