// SPDX-License-Identifier: GPL-2.0-or-later
// Compressed sections of ELF files (SHF_COMPRESSED): debug information that the linker or objcopy
// compressed with zlib or zstd.
#pragma once
#include "diagnostics/result.h"

#include <string>

namespace djstap {

class ElfFile;

bool has_compressed_sections(const ElfFile& elf);

// Returns the ELF file with each compressed section decompressed, behind what the file contained.
// Other bytes are returned unchanged. Fails if a section is damaged, or compressed in another way.
Result<std::string> decompress_sections(std::string bytes, const std::string& path);

} // namespace djstap
