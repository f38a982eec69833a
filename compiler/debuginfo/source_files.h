// SPDX-License-Identifier: GPL-2.0-or-later
// The names of source files: the file table in the header of a unit's line program, without its
// rows.
#pragma once
#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// The sections that contain file names, as libelf holds them (decompressed).
struct LineSections {
    std::string_view line, line_strings, strings;
    std::string root; // source_root()
    // Finds them in the file that `dwarf` reads.
    static LineSections of(Dwarf* dwarf);
};

// Returns the paths of a unit's files by their number in DW_AT_decl_file, relative to the kernel's
// source tree if that is known. DWARF 5 (6.2.4.1) and DWARF 2 to 4. Empty if the header is damaged.
std::vector<std::string> source_files(const LineSections& sections, Dwarf_Die* unit);

// Returns the source tree of a kernel that was built in another folder (make O=…): the first unit
// is in the tree's folder `arch`. "" if its path is relative, or if this is no kernel.
std::string source_root(Dwarf* dwarf);

// "/build/linux-6.1.192/arch/x86/kernel/../lib/x.S" → "arch/x86/lib/x.S": resolves dot-dot, and
// removes the unit's folder or the root of the source tree: `root`, else a folder that is named as
// distributions do.
std::string normal_source_path(std::string_view path, std::string_view unit_folder,
                               std::string_view root = {});

} // namespace djstap
