// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/guest.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace djstap {

SignalMailbox::SignalMailbox() {
    if (auto pipe = Pipe::open(O_NONBLOCK))
        pipe_ = std::move(*pipe);
}

void SignalMailbox::post(int signal) noexcept {
    int saved = errno;
    unsigned char byte = static_cast<unsigned char>(signal);
    // A full pipe holds thousands of pending signals: one more makes no difference.
    if (write(pipe_.writer.get(), &byte, 1) < 0) {
    }
    errno = saved;
}

} // namespace djstap
