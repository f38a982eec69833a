// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/snapshot.h"

#include <algorithm>

namespace djstap {

namespace {

struct Chain {
    uint64_t bytes = 0;
    bool damaged = false;
};

// Returns the complete records from `data` on, in at most `room` bytes.
Chain complete_records(const char* data, uint64_t room) {
    Chain chain;
    while (chain.bytes + sizeof(djs_record) <= room) {
        const auto* record = reinterpret_cast<const djs_record*>(data + chain.bytes);
        const uint32_t size = __atomic_load_n(&record->size, __ATOMIC_ACQUIRE);
        if (size == 0)
            break;
        chain.damaged = size < sizeof(djs_record) || size % 8 != 0 || size > room - chain.bytes;
        if (chain.damaged)
            break;
        chain.bytes += size;
    }
    return chain;
}

} // namespace

// Returns true if the part is damaged.
bool Snapshot::add_part(const char* part, uint32_t cpu) {
    const Chain chain = complete_records(part, DJS_PART_BYTES);
    parts_.push_back({cpu, {part, part + chain.bytes}});
    return chain.damaged;
}

// Returns false if not even the newest part is unchanged since the copying began.
bool Snapshot::add(const djs_ring_page& page, const char* data, uint64_t bytes, uint32_t cpu,
                   bool live) {
    const uint64_t newest = __atomic_load_n(&page.newest, __ATOMIC_ACQUIRE);
    if (newest % DJS_PART_BYTES != 0) {
        damaged_++;
        return true;
    }
    bool has_newest = false;
    const size_t before = parts_.size();
    const uint64_t parts = std::min(newest / DJS_PART_BYTES + 1, bytes / DJS_PART_BYTES);
    for (uint64_t back = parts; back-- > 0;) {
        const uint64_t begin = newest - back * DJS_PART_BYTES;
        const bool damaged = add_part(data + (begin & (bytes - 1)), cpu);
        // Writers zero the part behind the newest one before they publish that it is in use.
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        const uint64_t next = __atomic_load_n(&page.newest, __ATOMIC_RELAXED) + DJS_PART_BYTES;
        has_newest = !live || begin + bytes > next;
        if (has_newest)
            damaged_ += damaged;
        // older parts are overwritten as well: no gaps
        else
            parts_.resize(before);
    }
    return has_newest;
}

// A reader that is not scheduled for long finds the whole ring reused: it tries again.
void Snapshot::add_live(const djs_ring_page& page, const char* data, uint64_t bytes, uint32_t cpu) {
    constexpr int max_tries = 10;
    const size_t before = parts_.size();
    for (int tries = 0; tries < max_tries; tries++) {
        parts_.resize(before);
        if (add(page, data, bytes, cpu, true))
            break;
    }
}

void Snapshot::add_still(const djs_ring_page& page, const char* data, uint64_t bytes,
                         uint32_t cpu) {
    add(page, data, bytes, cpu, false);
}

void Snapshot::add_unread(const djs_ring_page& page, const char* data, uint64_t bytes,
                          uint32_t cpu) {
    std::vector<char> unread(data, data + bytes);
    std::rotate(unread.begin(), unread.begin() + static_cast<ptrdiff_t>(page.tail & (bytes - 1)),
                unread.end());
    const Chain chain = complete_records(unread.data(), bytes);
    unread.resize(chain.bytes);
    parts_.push_back({cpu, std::move(unread)});
    damaged_ += chain.damaged;
}

std::vector<SnapshotRecord> Snapshot::records() const {
    std::vector<SnapshotRecord> all;
    for (const Part& part : parts_) {
        for (uint64_t at = 0; at < part.bytes.size();) {
            const auto* record = reinterpret_cast<const djs_record*>(part.bytes.data() + at);
            if (record->id != DJS_RECORD_PADDING)
                all.push_back({record, part.cpu});
            at += record->size;
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const SnapshotRecord& a, const SnapshotRecord& b) {
        return a.record->time < b.record->time;
    });
    return all;
}

} // namespace djstap
