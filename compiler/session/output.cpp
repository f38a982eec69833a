#include "session/output.h"

#include "include/text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace djstap {

namespace {
constexpr size_t first_guess = 512;
} // namespace

void Writer::append(std::string_view bytes) {
    std::memcpy(reserve(bytes.size()), bytes.data(), bytes.size());
    advance(bytes.size());
}

void Writer::grow(size_t size) {
    buffer_.resize(std::max(used_ + size, 2 * flush_at));
}

void Writer::flush() {
    for (size_t at = 0; at < used_ && !error_;) {
        const ssize_t written = write(fd_, buffer_.data() + at, used_ - at);
        if (written >= 0) {
            at += static_cast<size_t>(written);
        } else if (errno == EAGAIN) {
            pollfd ready{fd_, POLLOUT, 0};
            poll(&ready, 1, 1000);
        } else if (errno != EINTR) {
            error_ = errno;
        }
    }
    used_ = 0;
}

namespace {

// Formats to the end of what was written.
void format_to(Writer& writer, const char* format, const char* types, std::string_view arguments) {
    size_t room = first_guess;
    size_t length =
        djs_format(writer.reserve(room), room, format, types, arguments.data(), arguments.size());
    if (length + 1 >= room) {
        room = djs_format(nullptr, 0, format, types, arguments.data(), arguments.size()) + 1;
        length = djs_format(writer.reserve(room), room, format, types, arguments.data(),
                            arguments.size());
    }
    writer.advance(length);
}

class TextOutput : public Output {
  public:
    TextOutput(Writer& writer, Writer& messages, bool warnings, bool verbose)
        : writer_(writer), messages_(messages), warnings_(warnings), verbose_(verbose) {}

    void print(const ModuleMeta::Format& format, std::string_view arguments) override {
        format_to(writer_, format.text.c_str(), format.types.c_str(), arguments);
    }

    void text(std::string_view text) override { writer_.append(text); }

    void error(std::string_view message, std::string_view place) override {
        std::string line("ERROR: ");
        line.append(message);
        if (!place.empty())
            line.append(" near ").append(place);
        say(std::move(line));
    }

    void warning(std::string_view message) override {
        if (warnings_)
            say(std::string("WARNING: ").append(message));
    }

    // The module itself warns of those that it could not attach.
    void probes(const std::vector<AttachedProbe>& probes) override {
        for (const AttachedProbe& probe : probes)
            if (verbose_ && (!probe.attached || probe.mechanism != "session"))
                show(probe);
    }

    void counts(const djs_counts& counts) override {
        for (const std::string& line : describe_counts(counts))
            warning(line);
    }

    Writer& writer() override { return writer_; }
    bool prints_text() const override { return true; }

  private:
    void show(const AttachedProbe& probe) {
        std::string line(probe.point.empty() ? std::to_string(probe.sites) + " more" : probe.point);
        line.append(": ").append(probe.attached ? probe.mechanism : "not attached");
        if (!probe.reason.empty())
            line.append(probe.attached && !probe.planned.empty() ? " instead of " + probe.planned
                                                                 : "")
                .append(": ")
                .append(probe.reason);
        say(std::move(line));
    }

    void say(std::string line) {
        writer_.flush();
        messages_.append(line.append("\n"));
        messages_.flush();
    }

    Writer& writer_;
    Writer& messages_;
    bool warnings_, verbose_;
};

} // namespace

std::unique_ptr<Output> make_text_output(Writer& writer, Writer& messages, bool warnings,
                                         bool verbose) {
    return std::make_unique<TextOutput>(writer, messages, warnings, verbose);
}

Result<FileDescriptor> open_output(const std::string& path) {
    if (path.empty())
        return FileDescriptor();
    FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file)
        return Failure{path + ": " + std::strerror(errno), ""};
    return file;
}

std::vector<std::string> describe_counts(const djs_counts& counts) {
    struct {
        uint64_t count;
        const char *one, *many;
    } const rows[] = {
        {counts.lost_records,
         " record was lost because a buffer was full: try a larger one with -s",
         " records were lost because a buffer was full: try a larger one with -s"},
        {counts.oversized,
         " record was lost because it was longer than a buffer, or than the 16 KB that a flight "
         "recorder's may have",
         " records were lost because they were longer than a buffer, or than the 16 KB that a "
         "flight recorder's may have"},
        {counts.skipped_busy, " hit was skipped because another handler was active on its CPU",
         " hits were skipped because another handler was active on their CPU"},
        {counts.skipped_locked,
         " hit was skipped because a global variable stayed locked: try a larger MAXTRYLOCK",
         " hits were skipped because a global variable stayed locked: try a larger MAXTRYLOCK"},
        {counts.skipped_stack,
         " hit was skipped because too little was left of the kernel's stack (MINSTACKSPACE)",
         " hits were skipped because too little was left of the kernel's stack (MINSTACKSPACE)"},
        {counts.skipped_kretprobe,
         " return was missed because all instances were in use: try .maxactive(N)",
         " returns were missed because all instances were in use: try .maxactive(N)"},
        {counts.skipped_kprobe, " hit was missed inside another kprobe",
         " hits were missed inside another kprobe"},
        {counts.failed_sites, " probe could not be attached", " probes could not be attached"},
    };
    std::vector<std::string> lines;
    for (const auto& row : rows)
        if (row.count)
            lines.push_back(std::to_string(row.count).append(row.count == 1 ? row.one : row.many));
    return lines;
}

} // namespace djstap
