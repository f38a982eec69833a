// SPDX-License-Identifier: GPL-2.0-or-later
// The guest's first file system: the agent, busybox, and the modules to reach the host and the
// disk.
#pragma once
#include "guest/guest.h"

namespace djstap::guest {

// The agent, a static program that is part of this library.
std::string_view agent_program();

// Writes the initramfs (newc, not compressed: unpacking it would cost more than reading it) to
// `fd`.
Status write_initramfs(const GuestJob& job, int fd, const std::string& path);

} // namespace djstap::guest
