// SPDX-License-Identifier: GPL-2.0-or-later
// One CPU's ring as its reader sees it (runtime/include/record.h has the protocol).
#pragma once
#include "include/record.h"

#include <arch_reader.h>
#include <cstdint>

namespace djstap {

class Ring {
  public:
    // `tail` is the word that reader and writer share; `data` is `bytes` long and mapped twice in a
    // row; `cpu` writes to it.
    Ring(uint64_t* tail, char* data, uint64_t bytes, uint32_t cpu = 0);

    enum class State {
        Empty,
        InFlight, // reserved at `time`, not yet complete
        Ready,
        Corrupt, // the next size is impossible; nothing more can be read
    };
    State state() {
        if (corrupt_)
            return State::Corrupt;
        // Everything was consumed: what follows in memory is the oldest of it, not new.
        if (read_ - released_ == bytes_)
            return State::Empty;
        next_ = reinterpret_cast<djs_record*>(data_ + (read_ & (bytes_ - 1)));
        size_ = __atomic_load_n(&next_->size, __ATOMIC_ACQUIRE);
        time_ = __atomic_load_n(&next_->time, __ATOMIC_RELAXED);
        if (size_ == 0)
            return time_ ? State::InFlight : State::Empty;
        if (size_ % 8 != 0 || size_ < sizeof(djs_record) || size_ > bytes_ - (read_ - released_)) {
            corrupt_ = true;
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
    // Returns the memory of all consumed records to the writer.
    void release();
    // Bytes consumed and not yet released.
    uint64_t taken() const { return read_ - released_; }
    uint64_t bytes() const { return bytes_; }
    uint32_t cpu() const { return cpu_; }

  private:
    uint64_t* tail_;
    char* data_;
    uint64_t bytes_;
    uint64_t read_;
    uint64_t released_;
    djs_record* next_ = nullptr;
    uint32_t size_ = 0;
    uint64_t time_ = 0;
    uint32_t cpu_;
    bool corrupt_ = false;
};

} // namespace djstap
