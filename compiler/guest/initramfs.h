// SPDX-License-Identifier: GPL-2.0-or-later
// The guest's first file system: the agent, busybox, and the modules for the connection to the host
// and the disk.
#pragma once
#include "guest/guest.h"

namespace djstap::guest {

// Returns the agent, a static program that is embedded in this library.
std::string_view agent_program();

// Writes the initramfs (newc, uncompressed, because unpacking would cost more than reading) to
// `fd`.
Status write_initramfs(const GuestJob& job, int fd, const std::string& path);

} // namespace djstap::guest
