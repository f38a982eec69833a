// SPDX-License-Identifier: GPL-2.0-or-later
// What a service sends to djstap-run on one connection: pieces of two streams, then a status.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace djstap::offered {

enum class Stream : uint8_t { Output = 1, Errors = 2, Status = 3 };

struct Frame {
    Stream stream = Stream::Output;
    std::string bytes; // of Status: one byte, the exit status
};

// Largest number of bytes in a frame.
inline constexpr uint32_t largest_frame = 1 << 16;

// Sends bytes, in as many frames as needed. Returns false, with errno, if nobody receives them.
bool send(int connection, Stream stream, std::string_view bytes);

// Puts frames together from what arrives.
class FrameReader {
  public:
    void add(std::string_view bytes) { text_.append(bytes); }
    // Returns the next whole frame, if it has arrived.
    std::optional<Frame> next();
    // Something has arrived that is no frame.
    bool broken() const { return broken_; }

  private:
    std::string text_;
    bool broken_ = false;
};

} // namespace djstap::offered
