// Which kernel modules a guest needs before its first command, from the kernel's own tables.
#pragma once
#include "guest/guest.h"

namespace djstap::guest {

struct ModuleFile {
    std::string name;  // as the kernel calls it: virtio_pci
    std::string bytes; // the ELF file, decompressed
};

// The named modules and all they depend on, dependencies first, without those that are built in.
// The order comes from modules.dep, or from depmod where that file was never made. Fails when a
// name is neither built in nor there.
Result<std::vector<ModuleFile>> modules_with_dependencies(const GuestKernel& kernel,
                                                          const std::vector<std::string>& names);

} // namespace djstap::guest
