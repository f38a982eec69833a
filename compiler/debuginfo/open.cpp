// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/btf_info.h"
#include "debuginfo/dwarf_info.h"

#include "target/elf_image.h"

#include <cstdlib>

namespace djstap {

namespace {

bool may_use_dwarf() {
    const char* without = std::getenv("DJSTAP_NO_DWARF");
    return !without || !*without || std::string_view(without) == "0";
}

} // namespace

Result<std::unique_ptr<DebugInfo>> DebugInfo::open_module(const Target& module,
                                                          const Target& kernel) {
    if (may_use_dwarf() && module.image() && module.image()->section(".debug_info")) {
        if (auto index = DwarfIndex::open(module, nullptr))
            return std::unique_ptr<DebugInfo>(new DwarfInfo(module, std::move(*index)));
    }
    return BtfInfo::open_module(module, kernel);
}

Result<std::unique_ptr<DebugInfo>> DebugInfo::open(const Target& target,
                                                   void (*progress)(const std::string&)) {
    const ElfImage* image = target.image();
    Failure failure{"there is no debug information for kernel " + target.release(),
                    "install its debug symbols (vmlinux with DWARF), or a kernel with BTF"};
    if (may_use_dwarf() && image && image->section(".debug_info")) {
        auto index = DwarfIndex::open(target, progress);
        if (index)
            return std::unique_ptr<DebugInfo>(new DwarfInfo(target, std::move(*index)));
        failure = index.failure();
    }
    auto btf = BtfInfo::open(target);
    if (btf)
        return btf;
    return failure;
}

} // namespace djstap
