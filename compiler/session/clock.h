// SPDX-License-Identifier: GPL-2.0-or-later
// Nanoseconds of the times that records carry.
#pragma once
#include "include/record.h"

#include <cstddef>
#include <cstdint>
#include <deque>

namespace djstap {

// The records' clock now, and what the machine's clocks say.
djs_clock read_clock();

// What is known of the records' clock: moments at which it and the machine's were read together.
// Between two moments it is taken to go evenly, so later records never get earlier times.
class RecordClock {
  public:
    RecordClock() = default;
    // From the module (runtime/include/control.h, recorder.h): read when it was loaded.
    explicit RecordClock(const djs_clock& loaded) { add(loaded); }

    // A later moment. Of those of long ago the first one alone is kept.
    void add(const djs_clock& moment);

    // Of CLOCK_MONOTONIC and CLOCK_REALTIME, in nanoseconds; 0 where nothing is known of the clock.
    uint64_t monotonic_ns(uint64_t cycles) const;
    uint64_t realtime_ns(uint64_t cycles) const;

  private:
    static constexpr size_t most_moments = 64;
    std::deque<djs_clock> moments_;
};

} // namespace djstap
