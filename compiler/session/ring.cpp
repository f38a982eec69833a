// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/ring.h"

#include <algorithm>
#include <cstring>

namespace djstap {

Ring::Ring(uint64_t* tail, char* data, uint64_t bytes, uint32_t cpu, const uint64_t* head)
    : tail_(tail), data_(data), bytes_(bytes), read_(__atomic_load_n(tail, __ATOMIC_RELAXED)),
      released_(read_), end_(read_ + bytes), quarter_(read_ + bytes / 4), cpu_(cpu), head_(head),
      corrupt_(read_ % 8 != 0) {
    if (corrupt_)
        end_ = read_;
}

bool Ring::skip() {
    if (corrupt_ || read_ == end_)
        return false;
    if (size_ != 0) {
        size_ &= ~DJS_RECORD_IN_FLIGHT;
        take();
        return true;
    }
    // What is reserved and was not written is zero, up to the size of the next record.
    const uint64_t reserved = head_ ? std::min(__atomic_load_n(head_, __ATOMIC_RELAXED), end_) : 0;
    const uint64_t before = read_;
    for (uint64_t word = 0; word == 0 && read_ < reserved;) {
        std::memcpy(&word, data_ + (read_ & (bytes_ - 1)), sizeof word);
        read_ += word == 0 ? sizeof word : 0;
    }
    return read_ != before;
}

void Ring::release() {
    if (read_ == released_)
        return;
    released_ = read_;
    end_ = corrupt_ ? read_ : read_ + bytes_;
    quarter_ = read_ + bytes_ / 4;
    __atomic_store_n(tail_, read_, __ATOMIC_RELEASE);
}

} // namespace djstap
