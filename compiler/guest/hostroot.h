// The host's root folder, shared read-only with a guest through virtiofsd.
#pragma once
#include "guest/process.h"

namespace djstap::guest {

struct HostRoot {
    Process daemon;
    Descriptor socket; // connected to it, for QEMU
};

// Starts a virtiofsd that sees every mount of this machine read-only. Needs root.
Result<HostRoot> share_host_root();

} // namespace djstap::guest
