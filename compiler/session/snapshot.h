// SPDX-License-Identifier: GPL-2.0-or-later
// What a flight recorder holds at one moment (runtime/include/recorder.h has the protocol).
#pragma once
#include "include/recorder.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace djstap {

struct SnapshotRecord {
    const djs_record* record;
    uint32_t cpu;
};

class Snapshot {
  public:
    // Copies a ring that handlers may be writing to. `data` is `bytes` long, a power of two and a
    // multiple of DJS_PART_BYTES. The oldest part, which a handler may be about to use again, is
    // left out.
    void add_live(const djs_ring_page& page, const char* data, uint64_t bytes, uint32_t cpu = 0);
    // Copies a ring that nobody writes to any more.
    void add_still(const djs_ring_page& page, const char* data, uint64_t bytes, uint32_t cpu = 0);
    // The same for a ring that stops when it is full: what its reader has not taken.
    void add_unread(const djs_ring_page& page, const char* data, uint64_t bytes, uint32_t cpu = 0);

    // Everything that was copied, in the order of time. Valid as long as the snapshot.
    std::vector<SnapshotRecord> records() const;
    // Parts in which something was found that no handler writes.
    uint64_t damaged() const { return damaged_; }

  private:
    struct Part {
        uint32_t cpu = 0;
        std::vector<char> bytes = {};
    };
    bool add(const djs_ring_page& page, const char* data, uint64_t bytes, uint32_t cpu, bool live);
    bool add_part(const char* part, uint32_t cpu);

    std::deque<Part> parts_;
    uint64_t damaged_ = 0;
};

} // namespace djstap
