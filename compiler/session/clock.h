// SPDX-License-Identifier: GPL-2.0-or-later
// Converts the times in records to nanoseconds.
#pragma once
#include "include/record.h"

#include <cstddef>
#include <cstdint>
#include <deque>

namespace djstap {

// Reads the records' clock together with the machine's clocks.
djs_clock read_clock();

// The relation of the records' clock to time: moments at which it and the machine's clocks were
// read together. Between two moments it is interpolated linearly, so later records never get
// earlier times.
class RecordClock {
  public:
    RecordClock() = default;
    // From the module (runtime/include/control.h, recorder.h): read when it was loaded.
    explicit RecordClock(const djs_clock& loaded) { add(loaded); }

    // Adds a later moment. Of the oldest moments only the first one is kept.
    void add(const djs_clock& moment);

    // CLOCK_MONOTONIC and CLOCK_REALTIME, in nanoseconds; 0 if nothing is known about the clock.
    uint64_t monotonic_ns(uint64_t cycles) const;
    uint64_t realtime_ns(uint64_t cycles) const;

  private:
    static constexpr size_t max_moments = 64;
    std::deque<djs_clock> moments_;
};

} // namespace djstap
