// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/sequences.h"

#include "image/relocated_word.h"
#include "system/byte_reader.h"

#include <cstddef>
#include <linux/rseq.h>

namespace djstap::regions {

namespace {

constexpr uint64_t signature_bytes = 4;

} // namespace

void mark_sequences(Code& code) {
    const ElfSection* const section = code.file().section("__rseq_cs");
    if (!section)
        return;
    ByteReader reader(section->bytes);
    for (uint64_t at = section->address;; at += sizeof(rseq_cs)) {
        const auto each = reader.fixed<rseq_cs>();
        if (reader.failed())
            return;
        const auto word = [&](size_t offset, uint64_t value) {
            return relocated_word(code.file(), at + offset, value);
        };
        code.write(word(offsetof(rseq_cs, start_ip), each.start_ip), each.post_commit_offset,
                   InSequence);
        code.write(word(offsetof(rseq_cs, abort_ip), each.abort_ip) - signature_bytes,
                   signature_bytes, InSequence);
    }
}

} // namespace djstap::regions
