// SPDX-License-Identifier: GPL-2.0-or-later
// Waits for what another process does meanwhile.
#pragma once
#include <functional>
#include <unistd.h>

namespace djstap::injection {

// Returns whether it is so, at the latest ten seconds from now.
inline bool becomes(const std::function<bool()>& what) {
    for (int i = 0; i < 10000 && !what(); i++)
        usleep(1000);
    return what();
}

} // namespace djstap::injection
