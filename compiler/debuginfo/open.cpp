// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/btf_info.h"
#include "debuginfo/dwarf_info.h"

#include "image/elf_file.h"

#include <cstdlib>

namespace djstap {

namespace {

bool may_use_dwarf() {
    const char* without = std::getenv("DJSTAP_NO_DWARF");
    return !without || !*without || std::string_view(without) == "0";
}

} // namespace

Result<std::unique_ptr<DebugInfo>> DebugInfo::open(const Image& image,
                                                   void (*progress)(const std::string&)) {
    Failure failure{"no debug information was found for " + image.title(),
                    "install its debug symbols (vmlinux with DWARF), or a kernel with BTF"};
    if (may_use_dwarf() && image.elf() && image.elf()->section(".debug_info")) {
        auto index = DwarfIndex::open(image, progress);
        if (index)
            return std::unique_ptr<DebugInfo>(new DwarfInfo(image, std::move(*index)));
        failure = index.failure();
    }
    auto btf = BtfInfo::open(image);
    if (btf)
        return btf;
    return failure;
}

} // namespace djstap
