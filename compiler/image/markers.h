// SPDX-License-Identifier: GPL-2.0-or-later
// Static markers that authors put into kernel code (runtime/include/djstap/marker.h).
#pragma once
#include "image/elf_file.h"
#include "image/kernel_files.h"

#include <string>
#include <string_view>
#include <vector>

namespace djstap {

struct Marker {
    std::string name;   // a C identifier
    std::string format; // of printf: the number of its arguments, and their types
    auto operator<=>(const Marker&) const = default;
};

// Returns the markers in a kernel or module, each once, sorted: its section .djstap.marks holds
// "mark:NAME" and the format of each, both with a terminating 0. What is not of this form ends the
// list.
std::vector<Marker> markers_in(const ElfFile& file);

struct ListedMarker {
    std::string marker, module; // names
    auto operator<=>(const ListedMarker&) const = default;
};

// Returns the markers of the kernel's modules, each once, sorted: depmod lists an alias for each of
// them in modules.alias. Those of a module that it has not seen are missing.
std::vector<ListedMarker> listed_markers(const KernelFiles& kernel);

} // namespace djstap
