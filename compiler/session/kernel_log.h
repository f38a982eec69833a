// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel writes to its log.
#pragma once
#include "system/descriptor.h"

#include <string>

namespace djstap {

// The kernel's messages from now on.
class KernelLog {
  public:
    KernelLog(); // marks the place; does nothing where the log is not readable
    // The last lines written since, at most `lines`, each ended by a newline.
    std::string tail(size_t lines = 5);

  private:
    FileDescriptor log_;
};

} // namespace djstap
