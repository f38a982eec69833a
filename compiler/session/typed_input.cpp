// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/typed_input.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <unistd.h>

namespace djstap {

TypedInput::TypedInput(const ModuleMeta& meta) {
    const bool terminal = isatty(STDIN_FILENO) != 0;
    if (terminal && tcgetpgrp(STDIN_FILENO) != getpgrp())
        return; // reading would stop the process
    const std::string path = "/proc/systemtap/" + meta.name + "/__stdin";
    file_ = FileDescriptor(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    std::array<int, 2> ends{};
    if (!file_ || pipe2(ends.data(), O_CLOEXEC) != 0)
        return;
    stop_read_ = FileDescriptor(ends[0]);
    stop_write_ = FileDescriptor(ends[1]);
    if (terminal && tcgetattr(STDIN_FILENO, &before_) == 0) {
        termios by_key = before_;
        by_key.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        changed_ = tcsetattr(STDIN_FILENO, TCSADRAIN, &by_key) == 0;
    }
    thread_ = std::thread([this] { forward(); });
}

TypedInput::~TypedInput() {
    stop_write_ = FileDescriptor();
    if (thread_.joinable())
        thread_.join();
    if (changed_)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

void TypedInput::forward() {
    std::array<pollfd, 2> files{{{STDIN_FILENO, POLLIN, 0}, {stop_read_.get(), 0, 0}}};
    std::array<char, 256> bytes{};
    while (poll(files.data(), files.size(), -1) >= 0 || errno == EINTR) {
        if (files[1].revents)
            return;
        if (!files[0].revents)
            continue;
        const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
        if (count <= 0)
            return;
        for (ssize_t i = 0; i < count; i++)
            if (write(file_.get(), &bytes[static_cast<size_t>(i)], 1) != 1)
                return;
    }
}

} // namespace djstap
