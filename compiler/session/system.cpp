#include "session/system.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace djstap {

std::optional<std::string> read_file(const std::string& path, int* error) {
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    char buffer[65536];
    ssize_t got = file ? 1 : -1;
    while (got > 0 || (got < 0 && file && errno == EINTR)) {
        got = read(file.get(), buffer, sizeof(buffer));
        if (got > 0)
            text.append(buffer, static_cast<size_t>(got));
    }
    if (got < 0) {
        if (error)
            *error = errno;
        return std::nullopt;
    }
    return text;
}

std::string trimmed(std::string_view text) {
    constexpr std::string_view space = " \t\r\n";
    const size_t begin = text.find_first_not_of(space);
    if (begin == std::string_view::npos)
        return {};
    return std::string(text.substr(begin, text.find_last_not_of(space) - begin + 1));
}

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
