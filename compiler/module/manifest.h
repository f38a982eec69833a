// SPDX-License-Identifier: GPL-2.0-or-later
// The list of what a runtime kit holds and of the kernel facts that came out of building it: text,
// one fact a line, closed by a checksum of itself; sizes and checksums of the kit's other files are
// in it.
#pragma once
#include "module/module.h"
#include "system/hash.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace djstap::module {

struct KitFile {
    std::string name;
    uint64_t size = 0;
    uint64_t checksum = 0; // hash_bytes()
};

// Files of a kit, beside the manifest.
inline constexpr std::string_view manifest_name = "manifest";
inline constexpr std::string_view runtime_object = "runtime.o"; // linked first, annotated
inline constexpr std::string_view plain_runtime =
    "runtime-plain.o";                                        // before objtool; IBT kernels only
inline constexpr std::string_view module_object = "module.o"; // modpost's: versions, struct module
inline constexpr std::string_view linker_script = "module.lds";

std::string write_manifest(const RuntimeKit& kit, const std::vector<KitFile>& files);

struct Manifest {
    RuntimeKit kit;
    std::vector<KitFile> files;
};

// Nothing where the text is not a whole manifest of this version.
std::optional<Manifest> read_manifest(std::string_view text);

} // namespace djstap::module
