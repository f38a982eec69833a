// SPDX-License-Identifier: GPL-2.0-or-later
// Records of all CPUs in the order of their times.
#pragma once
#include "session/ring.h"

#include <chrono>
#include <functional>
#include <vector>

namespace djstap {

// Called with a ring whose record is the next one.
using RecordSink = std::function<void(const Ring&)>;

class RecordMerger {
  public:
    explicit RecordMerger(std::vector<Ring> rings)
        : rings_(std::move(rings)), stuck_since_(rings_.size()) {}

    struct Sweep {
        size_t records = 0;            // passed on
        bool pending = false;          // some are withheld
        bool full = false;             // a ring was at least a quarter full
        std::vector<uint32_t> corrupt; // CPUs whose ring became unreadable in this sweep
        size_t unfinished = 0;         // last sweep: records that were reserved and never completed
        size_t abandoned = 0;          // of these, those behind which there are others
    };

    // Passes on every record whose place in the order is certain. A record may become visible later
    // than a newer one of another CPU, so records that are newer than the beginning of the previous
    // sweep, or than a record that is being written, wait for the next sweep. `now`: the records'
    // clock.
    Sweep sweep(uint64_t now, const RecordSink& sink);
    // For the end, when there are no writers: passes on everything.
    Sweep last_sweep(const RecordSink& sink);

  private:
    Sweep run(uint64_t limit, bool last, const RecordSink& sink);
    uint64_t hold_time(size_t ring, bool last);

    std::vector<Ring> rings_;
    // when the ring's record in flight was first seen; epoch: none
    std::vector<std::chrono::steady_clock::time_point> stuck_since_;
    std::vector<bool> reported_ = std::vector<bool>(rings_.size());
    uint64_t previous_ = 0;
};

} // namespace djstap
