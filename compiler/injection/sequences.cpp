// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/sequences.h"

#include "image/relocated_word.h"
#include "system/byte_reader.h"

#include <cstddef>
#include <linux/rseq.h>

namespace djstap::injection {

std::vector<Range> sequences_of(const ElfFile& file) {
    const ElfSection* const section = file.section("__rseq_cs");
    std::vector<Range> found;
    if (!section)
        return found;
    ByteReader reader(section->bytes);
    for (uint64_t at = section->address;; at += sizeof(rseq_cs)) {
        const auto each = reader.fixed<rseq_cs>();
        if (reader.failed())
            return found;
        const uint64_t start =
            relocated_word(file, at + offsetof(rseq_cs, start_ip), each.start_ip);
        if (each.post_commit_offset <= UINT64_MAX - start)
            found.push_back({start, start + each.post_commit_offset});
    }
}

} // namespace djstap::injection
