#include "guest/guest.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace djstap {

SignalMailbox::SignalMailbox() {
    if (pipe2(pipe_, O_CLOEXEC | O_NONBLOCK))
        pipe_[0] = pipe_[1] = -1;
}

SignalMailbox::~SignalMailbox() {
    for (int fd : pipe_)
        if (fd >= 0)
            close(fd);
}

void SignalMailbox::post(int signal) noexcept {
    int saved = errno;
    unsigned char byte = static_cast<unsigned char>(signal);
    // A full pipe holds thousands of signals that nobody has taken yet: one more says nothing new.
    if (write(pipe_[1], &byte, 1) < 0) {
    }
    errno = saved;
}

} // namespace djstap
