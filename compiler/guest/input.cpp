// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/input.h"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap::guest {

Input::Input(int fd) : fd_(fd) {
    struct stat status = {};
    file_ = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    terminal_ = fd >= 0 && isatty(fd);
}

int Input::descriptor() const {
    if (ended_ || outstanding_ >= DJSTAP_GUEST_INPUT)
        return -1;
    if (terminal_ && tcgetpgrp(fd_) != getpgrp())
        return -1;
    return fd_;
}

void Input::pass(Channel& channel) {
    char bytes[16 * 1024];
    const size_t room = std::min(sizeof bytes, DJSTAP_GUEST_INPUT - outstanding_);
    ssize_t n = fd_ >= 0 ? read(fd_, bytes, room) : 0;
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    ended_ = n <= 0;
    channel.queue(GUEST_INPUT, {bytes, n > 0 ? static_cast<size_t>(n) : 0});
    outstanding_ += n > 0 ? static_cast<size_t>(n) : 0;
}

void Input::give_back(uint32_t in_pipe) const {
    if (file_)
        lseek(fd_, -static_cast<off_t>(in_pipe + outstanding_), SEEK_CUR);
}

} // namespace djstap::guest
