// SPDX-License-Identifier: GPL-2.0-or-later
// Which kernel modules a guest needs, from the kernel's own tables.
#pragma once
#include "guest/archive.h"
#include "guest/guest.h"

namespace djstap::guest {

struct ModuleFile {
    std::string name;               // as the kernel calls it: virtio_pci
    std::string bytes;              // the ELF file, decompressed
    std::vector<std::string> needs; // the names of the modules that it depends on
};

// The named modules and all they depend on, dependencies first, without those that are built in.
// The order comes from modules.dep, or from depmod where that file was never made. Fails when a
// name is neither built in nor there.
Result<std::vector<ModuleFile>> modules_with_dependencies(const GuestKernel& kernel,
                                                          const std::vector<std::string>& names);

// What a guest's modprobe looks for: the modules' files, and modules.dep, in /lib/modules/RELEASE.
Status add_for_modprobe(const GuestKernel& kernel, const std::vector<std::string>& names,
                        Archive& archive);

} // namespace djstap::guest
