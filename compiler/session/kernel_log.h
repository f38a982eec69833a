// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the kernel's log.
#pragma once
#include "system/descriptor.h"

#include <string>

namespace djstap {

// The kernel's messages from now on.
class KernelLog {
  public:
    KernelLog(); // marks the position; does nothing if the log is not readable
    // Returns the last lines written since then, at most `lines`, each ended by a newline.
    std::string tail(size_t lines = 5);

  private:
    FileDescriptor log_;
};

} // namespace djstap
