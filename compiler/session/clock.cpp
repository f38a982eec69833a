// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/clock.h"

#include <algorithm>
#include <arch_reader.h>
#include <cmath>
#include <ctime>
#include <limits>

namespace djstap {

namespace {

uint64_t nanoseconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// `rate`: nanoseconds per cycle.
uint64_t along(const djs_clock& from, double rate, uint64_t cycles) {
    const auto passed = static_cast<double>(static_cast<int64_t>(cycles - from.cycles));
    return from.monotonic_ns + static_cast<uint64_t>(std::llround(passed * rate));
}

double rate_between(const djs_clock& a, const djs_clock& b) {
    return static_cast<double>(b.monotonic_ns - a.monotonic_ns) /
           static_cast<double>(b.cycles - a.cycles);
}

} // namespace

djs_clock read_clock() {
    djs_clock best{};
    uint64_t least = std::numeric_limits<uint64_t>::max();
    // If this process is interrupted between the clock reads, it tries again.
    for (int tries = 0; tries < 2; tries++) {
        const uint64_t before = arch::cycles_in_order();
        const uint64_t monotonic = nanoseconds(CLOCK_MONOTONIC);
        const uint64_t after = arch::cycles_in_order();
        if (after - before >= least)
            continue;
        least = after - before;
        best.cycles = before + (after - before) / 2;
        best.monotonic_ns = monotonic;
        best.realtime_ns = nanoseconds(CLOCK_REALTIME);
    }
    return best;
}

void RecordClock::add(const djs_clock& moment) {
    if (!moment.cycles ||
        (!moments_.empty() && (moment.cycles <= moments_.back().cycles ||
                               moment.monotonic_ns < moments_.back().monotonic_ns)))
        return;
    moments_.push_back(moment);
    // The first moment is kept: everything older lies between it and the next one that is kept.
    if (moments_.size() > max_moments)
        moments_.erase(moments_.begin() + 1);
}

uint64_t RecordClock::monotonic_ns(uint64_t cycles) const {
    if (moments_.empty())
        return 0;
    if (moments_.size() == 1) {
        const djs_clock& only = moments_.front();
        return only.cycles_khz ? along(only, 1e6 / only.cycles_khz, cycles) : only.monotonic_ns;
    }
    // Times before the first or after the last moment are extrapolated from the rate between these
    // two: over a short interval, the error of one late reading would be too large.
    if (cycles < moments_.front().cycles || cycles > moments_.back().cycles) {
        const bool before = cycles < moments_.front().cycles;
        return along(before ? moments_.front() : moments_.back(),
                     rate_between(moments_.front(), moments_.back()), cycles);
    }
    auto end = std::upper_bound(
        moments_.begin() + 1, moments_.end() - 1, cycles,
        [](uint64_t wanted, const djs_clock& moment) { return wanted < moment.cycles; });
    const djs_clock &from = *(end - 1), &to = *end;
    return along(from, rate_between(from, to), cycles);
}

uint64_t RecordClock::realtime_ns(uint64_t cycles) const {
    if (moments_.empty())
        return 0;
    const djs_clock& last = moments_.back();
    return last.realtime_ns - last.monotonic_ns + monotonic_ns(cycles);
}

} // namespace djstap
