// SPDX-License-Identifier: GPL-2.0-or-later
// The list of a runtime kit's content and of the kernel facts that building it revealed: text, one
// fact per line, ended by a checksum of itself. It contains sizes and checksums of the kit's other
// files.
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

// Files of a kit, in addition to the manifest.
inline constexpr std::string_view manifest_name = "manifest";
// linked first, processed by objtool
inline constexpr std::string_view runtime_object = "runtime.o";
inline constexpr std::string_view plain_runtime =
    "runtime-plain.o"; // before objtool; IBT kernels only
// modpost's output: versions, struct module
inline constexpr std::string_view module_object = "module.o";
inline constexpr std::string_view linker_script = "module.lds";
// what the runtime is linked from: the parts of it that the kit has, without stand-ins for others
inline constexpr std::string_view pieces_object = "pieces.o";

// Returns the name of the file in the state of the kit: each state has files of its own, because
// another djstap may be about to link those of the state before.
std::string file_name(const RuntimeKit& kit, std::string_view name);

std::string write_manifest(const RuntimeKit& kit, const std::vector<KitFile>& files);

struct Manifest {
    RuntimeKit kit;
    std::vector<KitFile> files;
};

// Returns nothing if the text is not an intact manifest of this version.
std::optional<Manifest> read_manifest(std::string_view text);

} // namespace djstap::module
