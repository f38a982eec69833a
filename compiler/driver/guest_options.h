// SPDX-License-Identifier: GPL-2.0-or-later
// --guest and the options that configure a guest.
#pragma once
#include "driver/options.h"

namespace djstap::driver {

// The options as given; empty for those that were not.
struct GuestWords {
    bool given = false; // --guest, with or without a release
    std::string release, memory, disk;
};

// Sets the options (options.kernel and options.guest_root are already set); returns an error, if
// any.
std::optional<Failure> take_guest(const GuestWords& words, Options& options);

} // namespace djstap::driver
