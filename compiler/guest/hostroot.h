// SPDX-License-Identifier: GPL-2.0-or-later
// The host's root folder, shared read-only with a guest through virtiofsd.
#pragma once
#include "system/process.h"

namespace djstap::guest {

struct HostRoot {
    Process daemon;
    FileDescriptor socket; // connected to it, for QEMU
};

// Starts a virtiofsd that sees every mount of this machine read-only: as root, or where a user may
// make namespaces as that user, whose files are root's in the guest then.
Result<HostRoot> share_host_root();
// Whether that can be done.
Status can_share_host_root();

} // namespace djstap::guest
