// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/kernel_log.h"

#include <cerrno>
#include <string_view>
#include <vector>

namespace djstap {

KernelLog::KernelLog() : log_(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (log_)
        lseek(log_.get(), 0, SEEK_END);
}

std::string KernelLog::tail(size_t lines) {
    std::vector<std::string> all;
    char buffer[8192];
    while (log_) {
        const ssize_t got = read(log_.get(), buffer, sizeof(buffer));
        if (got < 0 && (errno == EPIPE || errno == EINTR)) // overwritten before it was read
            continue;
        if (got <= 0)
            break;
        // "priority,sequence,time,flags;text\n KEY=value…"
        std::string_view record(buffer, static_cast<size_t>(got));
        const size_t text = record.find(';');
        if (text != std::string_view::npos)
            all.emplace_back(record.substr(text + 1, record.find('\n', text) - text - 1));
    }
    std::string out;
    for (size_t i = all.size() > lines ? all.size() - lines : 0; i < all.size(); i++)
        out.append(all[i]).append("\n");
    return out;
}

} // namespace djstap
