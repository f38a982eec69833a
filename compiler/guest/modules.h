// SPDX-License-Identifier: GPL-2.0-or-later
// Determines the kernel modules that a guest needs, from the kernel's own tables.
#pragma once
#include "guest/archive.h"
#include "guest/guest.h"

namespace djstap::guest {

struct ModuleFile {
    std::string name;               // the kernel's name for it: virtio_pci
    std::string bytes;              // the ELF file, decompressed
    std::vector<std::string> needs; // the names of its dependencies
};

// Returns the named modules and all their dependencies, dependencies first, without built-in ones.
// The order comes from modules.dep, or from depmod if that file does not exist. Fails if a name is
// neither built in nor found.
Result<std::vector<ModuleFile>> modules_with_dependencies(const GuestKernel& kernel,
                                                          const std::vector<std::string>& names);

// Adds what a guest's modprobe needs: the modules' files, and modules.dep, in /lib/modules/RELEASE.
Status add_for_modprobe(const GuestKernel& kernel, const std::vector<std::string>& names,
                        Archive& archive);

} // namespace djstap::guest
