// SPDX-License-Identifier: GPL-2.0-or-later
// The file that `djstap regions` analyzes.
#pragma once
#include "image/elf_file.h"
#include "regions/regions.h"
#include "system/temporary.h"

#include <memory>
#include <optional>
#include <string>

namespace djstap::driver {

struct RegionsFile {
    std::unique_ptr<ElfFile> elf; // of a module: linked
    bool is_module = false;
    std::string release;                     // of a module's kernel, as it says; "" if it does not
    std::optional<regions::KernelRule> rule; // of that kernel, if it is installed
    // Where its debug information can be read, with the addresses of `elf`; "" if it has none, or
    // before prepare_lines().
    std::string lines;

    // Writes a linked or decompressed file to a temporary folder, if it has debug information.
    Status prepare_lines();

  private:
    TemporaryFolder folder_;
};

// Opens a program, a library, a kernel image, or a kernel module, which may be compressed.
Result<RegionsFile> open_regions_file(const std::string& path);

} // namespace djstap::driver
