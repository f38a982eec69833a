// SPDX-License-Identifier: GPL-2.0-or-later
// The host's end of the command's standard input.
#pragma once
#include "guest/channel.h"

#include <algorithm>

namespace djstap::guest {

// Reads a descriptor as fast as the guest's command takes it: what is not taken is never more than
// a pipe and a buffer hold.
class Input {
  public:
    explicit Input(int fd);

    // What to poll for POLLIN now; -1: nothing. A terminal is left alone while this process is in
    // its background: reading would stop the process.
    int descriptor() const;
    // When descriptor() is readable: passes on what is there, or its end.
    void pass(Channel& channel);
    void taken(uint32_t bytes) { outstanding_ -= std::min<size_t>(bytes, outstanding_); }
    // The command has ended. What it left unread of a file, in the
    // guest's pipe or on the way there, is there for who reads on.
    void give_back(uint32_t in_pipe) const;

  private:
    int fd_;
    bool ended_ = false;
    bool terminal_ = false, file_ = false;
    size_t outstanding_ = 0; // bytes that the guest's buffer holds
};

} // namespace djstap::guest
