// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/channel.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace djstap::guest {

void Channel::queue(char type, std::string_view data) {
    char header[DJSTAP_GUEST_HEADER] = {type};
    uint32_t length = static_cast<uint32_t>(data.size());
    memcpy(header + 4, &length, sizeof length);
    output_.append(header, sizeof header);
    output_.append(data);
}

void Channel::queue_number(char type, uint32_t number) {
    queue(type, {reinterpret_cast<const char*>(&number), sizeof number});
}

bool Channel::flush() {
    while (queued()) {
        ssize_t n =
            send(socket_.get(), output_.data() + sent_, queued(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        sent_ += static_cast<size_t>(n);
    }
    output_.clear();
    sent_ = 0;
    return true;
}

bool Channel::fill() {
    // Bounded: a guest that writes without end must not block everything else.
    char buffer[65536];
    for (int rounds = 0; rounds < 16; ++rounds) {
        ssize_t n = recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        if (n == 0)
            return false;
        input_.append(buffer, static_cast<size_t>(n));
    }
    return true;
}

std::optional<Frame> Channel::next() {
    size_t have = input_.size() - taken_;
    uint32_t length = 0;
    if (have >= DJSTAP_GUEST_HEADER)
        memcpy(&length, input_.data() + taken_ + 4, sizeof length);
    if (have < DJSTAP_GUEST_HEADER || have - DJSTAP_GUEST_HEADER < length) {
        input_.erase(0, taken_);
        taken_ = 0;
        return std::nullopt;
    }
    Frame frame{input_[taken_], input_.substr(taken_ + DJSTAP_GUEST_HEADER, length)};
    taken_ += DJSTAP_GUEST_HEADER + length;
    return frame;
}

} // namespace djstap::guest
