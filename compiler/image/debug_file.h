// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the file with an image's DWARF where debuggers do: in the image itself, below
// /usr/lib/debug by its path, by its .gnu_debuglink, by its build-id, or on debuginfod's servers.
#pragma once
#include "image/image.h"
#include "image/kernel_files.h"

#include <optional>
#include <string>
#include <vector>

namespace djstap {

struct DebugFile {
    // What libdw opens. For a module its sections have the addresses of the image, and its
    // relocations are applied; for every image it is decompressed.
    std::string path;
    std::string origin; // the file that this was made from
};

struct DebugFileSearch {
    std::optional<DebugFile> found;
    // Why files that were found before are not used, each with its path.
    std::vector<std::string> refused;
};

enum class DebugServers : uint8_t { Ask, Ignore };

// `progress` (may be null) is called when servers are asked. A file of another build is refused.
DebugFileSearch find_debug_file(const Image& image, DebugServers servers,
                                void (*progress)(const std::string&) = nullptr);

// Returns the path of a file with the kernel's code and DWARF for a build-id, if `root` or this
// machine has one, or a server. `title` as for fetch_debug_file.
std::optional<std::string> find_vmlinux(const std::string& root, const std::string& build_id,
                                        const std::string& title,
                                        void (*progress)(const std::string&));

// The folder below /usr/lib/debug with the debug files of a kernel's modules, and how many it has.
struct DebugFolder {
    std::string path;
    size_t files = 0;
};
DebugFolder module_debug_folder(const KernelFiles& kernel);

// Returns the paths where debuggers expect the debug file for a build-id, in `roots`.
std::vector<std::string> build_id_paths(const std::vector<std::string>& roots,
                                        const std::string& build_id);

} // namespace djstap
