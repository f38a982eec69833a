// SPDX-License-Identifier: GPL-2.0-or-later
#include "offered/frames.h"

#include "system/file.h"

#include <algorithm>
#include <cstring>

namespace djstap::offered {

namespace {

constexpr size_t header_size = 1 + sizeof(uint32_t);

} // namespace

bool send(int connection, Stream stream, std::string_view bytes) {
    do {
        const auto size = static_cast<uint32_t>(std::min<size_t>(bytes.size(), largest_frame));
        std::string frame(1, static_cast<char>(stream));
        frame.append(reinterpret_cast<const char*>(&size), sizeof size).append(bytes, 0, size);
        if (!write_all(connection, frame))
            return false;
        bytes.remove_prefix(size);
    } while (!bytes.empty());
    return true;
}

std::optional<Frame> FrameReader::next() {
    if (broken_ || text_.size() < header_size)
        return std::nullopt;
    uint32_t size = 0;
    std::memcpy(&size, text_.data() + 1, sizeof size);
    const auto stream = static_cast<Stream>(text_[0]);
    if (size > largest_frame || stream < Stream::Output || stream > Stream::Status ||
        (stream == Stream::Status && size != 1)) {
        broken_ = true;
        return std::nullopt;
    }
    if (text_.size() < header_size + size)
        return std::nullopt;
    Frame frame{stream, text_.substr(header_size, size)};
    text_.erase(0, header_size + size);
    return frame;
}

} // namespace djstap::offered
