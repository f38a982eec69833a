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

std::string log_tail(std::string_view log, size_t lines) {
    std::string text;
    for (char c : log)
        if (c != '\r')
            text += c;
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    size_t at = text.size();
    for (size_t i = 0; i < lines && at != std::string::npos && at > 0; ++i)
        at = text.rfind('\n', at - 1);
    if (at != std::string::npos && at > 0)
        text.erase(0, at + 1);
    return text;
}

} // namespace djstap
