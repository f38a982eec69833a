// SPDX-License-Identifier: GPL-2.0-or-later
// The content of a flight recorder at one moment (runtime/include/recorder.h has the protocol).
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
    // multiple of DJS_PART_BYTES. The oldest part, which a handler may be about to reuse, is
    // skipped.
    void add_live(const djs_ring_page& page, const char* data, uint64_t bytes, uint32_t cpu = 0);
    // Copies a ring without writers.
    void add_still(const djs_ring_page& page, const char* data, uint64_t bytes, uint32_t cpu = 0);
    // The same for a ring that stops when it is full: copies what its reader has not consumed.
    void add_unread(const djs_ring_page& page, const char* data, uint64_t bytes, uint32_t cpu = 0);

    // Returns everything that was copied, in the order of time. Valid as long as the snapshot.
    std::vector<SnapshotRecord> records() const;
    // The number of parts that contain something no handler writes.
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
