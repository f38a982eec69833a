// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/merge.h"

#include <algorithm>
#include <limits>

namespace djstap {

namespace {

using Clock = std::chrono::steady_clock;
constexpr uint64_t never = std::numeric_limits<uint64_t>::max();
// No handler takes this long, but a guest's CPU may not be scheduled. Then progress has precedence
// over order.
constexpr auto patience = std::chrono::milliseconds(500);

struct Head {
    uint64_t time;
    size_t ring;
    // Heaps have their largest element in front; the lower CPU comes first if times are equal.
    bool operator<(const Head& other) const {
        return time != other.time ? time > other.time : ring > other.ring;
    }
};

// Restores the order after the first element has changed.
void sink_front(std::vector<Head>& heads) {
    size_t at = 0;
    for (;;) {
        size_t next = 2 * at + 1;
        if (next >= heads.size())
            return;
        if (next + 1 < heads.size() && heads[next] < heads[next + 1])
            next++;
        if (!(heads[at] < heads[next]))
            return;
        std::swap(heads[at], heads[next]);
        at = next;
    }
}

} // namespace

// Returns the time from which records must wait because this ring's next record is still being
// written.
uint64_t RecordMerger::hold_time(size_t ring, bool last) {
    auto& since = stuck_since_[ring];
    if (since == Clock::time_point())
        since = Clock::now();
    return last || Clock::now() - since > patience ? never : rings_[ring].time();
}

RecordMerger::Sweep RecordMerger::run(uint64_t limit, bool last, const RecordSink& sink) {
    Sweep result;
    std::vector<Head> heads;
    // Returns whether the ring's next record may be passed on in its turn.
    const auto is_ready = [&](size_t i) {
        Ring::State state = rings_[i].state();
        while (last && state != Ring::State::Ready && rings_[i].skip()) {
            result.unfinished++;
            state = rings_[i].state();
            result.abandoned += state != Ring::State::Empty;
        }
        switch (state) {
        case Ring::State::Ready:
            stuck_since_[i] = {};
            return true;
        case Ring::State::InFlight:
            limit = std::min(limit, hold_time(i, last));
            result.pending = true;
            result.unfinished += last;
            break;
        case Ring::State::Corrupt:
            if (!reported_[i]) {
                reported_[i] = true;
                result.corrupt.push_back(rings_[i].cpu());
            }
            break;
        case Ring::State::Empty:
            stuck_since_[i] = {};
        }
        return false;
    };

    for (size_t i = 0; i < rings_.size(); i++)
        if (is_ready(i))
            heads.push_back({rings_[i].time(), i});
    std::make_heap(heads.begin(), heads.end());
    while (!heads.empty() && heads.front().time <= limit) {
        const size_t i = heads.front().ring;
        Ring& ring = rings_[i];
        // This CPU's records, until another CPU has an older one.
        uint64_t until = limit;
        for (size_t next = 1; next < std::min<size_t>(heads.size(), 3); next++)
            until = std::min(until, heads[next].time);
        do {
            if (ring.record().id != DJS_RECORD_PADDING) {
                sink(ring);
                result.records++;
            }
            ring.take();
            if (ring.is_quarter_taken()) {
                result.full = true;
                ring.release();
            }
        } while (ring.state() == Ring::State::Ready && ring.time() < until);
        if (is_ready(i)) {
            heads.front().time = ring.time();
        } else {
            heads.front() = heads.back();
            heads.pop_back();
        }
        sink_front(heads);
    }
    result.pending |= !heads.empty();
    for (Ring& ring : rings_)
        ring.release();
    return result;
}

RecordMerger::Sweep RecordMerger::sweep(uint64_t now, const RecordSink& sink) {
    const uint64_t limit = previous_;
    previous_ = now;
    return run(limit, false, sink);
}

RecordMerger::Sweep RecordMerger::last_sweep(const RecordSink& sink) {
    return run(never, true, sink);
}

} // namespace djstap
