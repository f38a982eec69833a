#include "session/ring.h"

#include <cstring>

namespace djstap {

Ring::Ring(uint64_t* tail, char* data, uint64_t bytes)
    : tail_(tail), data_(data), bytes_(bytes), read_(__atomic_load_n(tail, __ATOMIC_RELAXED)),
      released_(read_) {
    corrupt_ = read_ % 8 != 0;
}

Ring::State Ring::state() {
    if (corrupt_)
        return State::Corrupt;
    // Everything was taken: what follows in memory is the oldest of it, not new.
    if (read_ - released_ == bytes_)
        return State::Empty;
    next_ = reinterpret_cast<const djs_record*>(data_ + (read_ & (bytes_ - 1)));
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

void Ring::take() {
    read_ += size_;
}

void Ring::release() {
    if (read_ == released_)
        return;
    std::memset(data_ + (released_ & (bytes_ - 1)), 0, read_ - released_);
    released_ = read_;
    __atomic_store_n(tail_, read_, __ATOMIC_RELEASE);
}

} // namespace djstap
