// SPDX-License-Identifier: GPL-2.0-or-later
// The host's end of the command's standard input.
#pragma once
#include "guest/channel.h"

#include <algorithm>

namespace djstap::guest {

// Reads a descriptor as fast as the guest's command consumes it: unconsumed input is never more
// than what a pipe and a buffer hold.
class Input {
  public:
    explicit Input(int fd);

    // Returns the descriptor to poll for POLLIN now; -1: none. A terminal is not read while this
    // process is in its background: reading would stop the process.
    int descriptor() const;
    // Call it when descriptor() is readable: forwards the available input, or its end.
    void pass(Channel& channel);
    void taken(uint32_t bytes) { outstanding_ -= std::min<size_t>(bytes, outstanding_); }
    // Call it after the command has ended. Seeks a file back over input that was left in the
    // guest's pipe or on the way there, so that the next reader of the file finds it.
    void give_back(uint32_t in_pipe) const;

  private:
    int fd_;
    bool ended_ = false;
    bool terminal_ = false, file_ = false;
    size_t outstanding_ = 0; // bytes in the guest's buffer
};

} // namespace djstap::guest
