// SPDX-License-Identifier: GPL-2.0-or-later
// --guest and what shapes one: the words of the command line as options.
#pragma once
#include "driver/options.h"

namespace djstap::driver {

// As given; empty where an option was not.
struct GuestWords {
    bool given = false; // --guest, with or without a release
    std::string release, memory, disk;
};

// Puts them into the options (with options.kernel and options.guest_root, which are there already);
// yields what is wrong with them.
std::optional<Failure> take_guest(const GuestWords& words, Options& options);

} // namespace djstap::driver
