// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/ring.h"

namespace djstap {

Ring::Ring(uint64_t* tail, char* data, uint64_t bytes, uint32_t cpu)
    : tail_(tail), data_(data), bytes_(bytes), read_(__atomic_load_n(tail, __ATOMIC_RELAXED)),
      released_(read_), end_(read_ + bytes), quarter_(read_ + bytes / 4), cpu_(cpu),
      corrupt_(read_ % 8 != 0) {
    if (corrupt_)
        end_ = read_;
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
