// What a flight recorder holds at one moment (runtime/include/recorder.h has the protocol).
#pragma once
#include "include/recorder.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace djstap {

class Snapshot {
  public:
    // Copies a ring that handlers may be writing to. `data` is `bytes` long, a power of two and a
    // multiple of DJS_PART_BYTES. The oldest part, which a handler may be about to use again, is
    // left out.
    void add_live(const djs_ring_page& page, const char* data, uint64_t bytes);
    // Copies a ring that nobody writes to any more.
    void add_still(const djs_ring_page& page, const char* data, uint64_t bytes);
    // The same for a ring that stops when it is full: what its reader has not taken.
    void add_unread(const djs_ring_page& page, const char* data, uint64_t bytes);

    // Everything that was copied, in the order of time. Valid as long as the snapshot.
    std::vector<const djs_record*> records() const;
    // Parts in which something was found that no handler writes.
    uint64_t damaged() const { return damaged_; }

  private:
    bool add(const djs_ring_page& page, const char* data, uint64_t bytes, bool live);
    bool add_part(const char* part);

    std::deque<std::vector<char>> parts_;
    uint64_t damaged_ = 0;
};

} // namespace djstap
