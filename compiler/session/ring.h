// SPDX-License-Identifier: GPL-2.0-or-later
// One CPU's ring as its reader sees it (runtime/include/record.h has the protocol).
#pragma once
#include "include/record.h"

#include <arch_reader.h>
#include <bit>
#include <cstdint>

namespace djstap {

class Ring {
  public:
    // `tail` is the word that reader and writer share; `data` is `bytes` long and mapped twice in a
    // row; `cpu` writes to it. `head`: how far it has reserved records, if that can be seen,
    // as in a program (runtime/injected/).
    Ring(uint64_t* tail, char* data, uint64_t bytes, uint32_t cpu = 0,
         const uint64_t* head = nullptr);

    enum class State {
        Empty,
        InFlight, // reserved at `time`, not yet complete
        Ready,
        Corrupt, // the next size is impossible; nothing more can be read
    };
    State state() {
        // Everything was consumed: what follows in memory is the oldest of it, not new.
        if (read_ == end_) [[unlikely]]
            return corrupt_ ? State::Corrupt : State::Empty;
        auto* const next = reinterpret_cast<djs_record*>(data_ + (read_ & (bytes_ - 1)));
        const uint32_t size = __atomic_load_n(&next->size, __ATOMIC_ACQUIRE);
        const uint64_t time = __atomic_load_n(&next->time, __ATOMIC_RELAXED);
        next_ = next;
        size_ = size;
        time_ = time;
        if (size == 0)
            return time ? State::InFlight : State::Empty;
        if (!is_possible(size)) [[unlikely]] {
            if (head_ && (size & DJS_RECORD_IN_FLIGHT) && is_possible(size & ~DJS_RECORD_IN_FLIGHT))
                return time ? State::InFlight : State::Empty;
            corrupt_ = true;
            end_ = read_;
            return State::Corrupt;
        }
        return State::Ready;
    }
    const djs_record& record() const { return *next_; }
    uint64_t time() const { return time_; } // of the record that is ready or in flight

    // Zeroes the current record, as the protocol requires, while it is in the CPU's cache, and
    // advances.
    void take() {
        arch::clear_words(next_, size_);
        read_ += size_;
    }
    // Passes over a record that is reserved, but not complete, as far as its end is known: for the
    // time when nobody completes it.
    bool skip();
    // Returns the memory of all consumed records to the writer.
    void release();
    // Whether at least a quarter of the ring was consumed and not yet released.
    bool is_quarter_taken() const { return static_cast<int64_t>(read_ - quarter_) >= 0; }
    uint64_t bytes() const { return bytes_; }
    uint32_t cpu() const { return cpu_; }

  private:
    // One comparison: a size that is too small, or no multiple of 8, becomes a large number. What
    // is left of the ring is a multiple of 8.
    bool is_possible(uint32_t size) const {
        return std::rotr(uint64_t{size} - sizeof(djs_record), 3) < (end_ - read_ - 8) / 8;
    }

    uint64_t* tail_;
    char* data_;
    uint64_t bytes_;
    uint64_t read_;
    uint64_t released_;
    // How far the writer may be, and a quarter of that: sums that would otherwise be made for each
    // record. A corrupt ring ends where it was read last.
    uint64_t end_;
    uint64_t quarter_;
    djs_record* next_ = nullptr;
    uint32_t size_ = 0;
    uint64_t time_ = 0;
    uint32_t cpu_;
    const uint64_t* head_;
    bool corrupt_;
};

} // namespace djstap
