// SPDX-License-Identifier: GPL-2.0-or-later
// The host's root folder, shared read-only with a guest through virtiofsd.
#pragma once
#include "system/process.h"

namespace djstap::guest {

struct HostRoot {
    Process daemon;
    FileDescriptor socket; // connected to virtiofsd, for QEMU
};

// Starts a virtiofsd that sees every mount of this machine read-only: as root, or, if a user may
// create namespaces, as that user, whose files then belong to root in the guest.
Result<HostRoot> share_host_root();
// Checks whether that is possible.
Status can_share_host_root();

} // namespace djstap::guest
