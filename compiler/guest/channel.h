// SPDX-License-Identifier: GPL-2.0-or-later
// The host's end of the port to the guest's agent: frames (protocol.h) over a socket, never
// blocking.
#pragma once
#include "guest/files.h"
#include "guest/protocol.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace djstap::guest {

struct Frame {
    char type = 0;
    std::string data;
};

class Channel {
  public:
    Channel() = default;
    explicit Channel(FileDescriptor socket) : socket_(std::move(socket)) {}

    int descriptor() const { return socket_.get(); }
    // Queues one frame; flush() sends it.
    void queue(char type, std::string_view data);
    void queue_number(char type, uint32_t number);
    size_t queued() const { return output_.size() - sent_; }
    // Sends what the socket accepts now; returns false if the other end is closed.
    bool flush();
    // Reads what is available now; returns false if the other end is closed.
    bool fill();
    // Returns the next complete frame that was read.
    std::optional<Frame> next();

  private:
    FileDescriptor socket_;
    std::string output_, input_;
    size_t sent_ = 0, taken_ = 0;
};

} // namespace djstap::guest
