// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/sequences.h"

#include "image/relocated_word.h"
#include "system/byte_reader.h"

#include <algorithm>
#include <cstddef>
#include <linux/rseq.h>
#include <optional>
#include <utility>
#include <vector>

namespace djstap::regions {

namespace {

constexpr uint64_t signature_bytes = 4;

// Bytes of the code, which end with their section.
class Parts {
  public:
    explicit Parts(Code& code) : code_(code) {}

    void add(uint64_t address, uint64_t bytes) {
        if (const std::optional<Index> at = code_.index(address)) {
            const Index end = code_.section_at(*at).end();
            parts_.emplace_back(*at, bytes < end - *at ? static_cast<Index>(*at + bytes) : end);
        }
    }

    // Each byte once: a file made for it has many sequences that are as long as its code.
    void mark() {
        std::ranges::sort(parts_);
        Index marked = 0;
        for (const auto& [begin, end] : parts_)
            for (marked = std::max(marked, begin); marked < end; marked++)
                code_.written[marked] |= InSequence;
    }

  private:
    Code& code_;
    std::vector<std::pair<Index, Index>> parts_;
};

} // namespace

void mark_sequences(Code& code) {
    const ElfSection* const section = code.file().section("__rseq_cs");
    if (!section)
        return;
    const RelocatedWords words(code.file(), *section);
    Parts parts(code);
    ByteReader reader(section->bytes);
    for (uint64_t at = section->address;; at += sizeof(rseq_cs)) {
        const auto each = reader.fixed<rseq_cs>();
        if (reader.failed())
            break;
        parts.add(words.at(at + offsetof(rseq_cs, start_ip), each.start_ip),
                  each.post_commit_offset);
        parts.add(words.at(at + offsetof(rseq_cs, abort_ip), each.abort_ip) - signature_bytes,
                  signature_bytes);
    }
    parts.mark();
}

} // namespace djstap::regions
