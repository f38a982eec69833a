// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/ring.h"

namespace djstap {

Ring::Ring(uint64_t* tail, char* data, uint64_t bytes, uint32_t cpu)
    : tail_(tail), data_(data), bytes_(bytes), read_(__atomic_load_n(tail, __ATOMIC_RELAXED)),
      released_(read_), cpu_(cpu) {
    corrupt_ = read_ % 8 != 0;
}

void Ring::release() {
    if (read_ == released_)
        return;
    released_ = read_;
    __atomic_store_n(tail_, read_, __ATOMIC_RELEASE);
}

} // namespace djstap
