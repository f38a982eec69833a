// SPDX-License-Identifier: GPL-2.0-or-later
// Restartable sequences (rseq) of a file: the kernel knows by the instruction pointer whether a
// thread is in one, so that their instructions cannot run elsewhere.
#pragma once
#include "image/elf_file.h"
#include "injection/memory_map.h"

#include <vector>

namespace djstap::injection {

// Returns where they are, by link-time addresses. Known are those in the section that librseq and
// allocators put their descriptions into.
std::vector<Range> sequences_of(const ElfFile& file);

} // namespace djstap::injection
