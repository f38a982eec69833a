#include "session/output.h"

#include "include/text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
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

    void print(const char* format, const char* types, std::string_view arguments) override {
        format_to(writer_, format, types, arguments);
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

    void probe(const AttachedProbe& probe) override {
        // The module itself warns of those that it could not attach.
        if (!verbose_ || (probe.attached && probe.mechanism == "session"))
            return;
        std::string line(probe.point.empty() ? std::to_string(probe.sites) + " more" : probe.point);
        line.append(": ").append(probe.attached ? probe.mechanism : "not attached");
        if (!probe.reason.empty())
            line.append(probe.attached && !probe.planned.empty() ? " instead of " + probe.planned
                                                                 : "")
                .append(": ")
                .append(probe.reason);
        say(std::move(line));
    }

    void counts(const djs_counts& counts) override {
        for (const std::string& line : describe_counts(counts))
            warning(line);
    }

    Writer& writer() override { return writer_; }
    bool prints_text() const override { return true; }

  private:
    void say(std::string line) {
        writer_.flush();
        messages_.append(line.append("\n"));
        messages_.flush();
    }

    Writer& writer_;
    Writer& messages_;
    bool warnings_, verbose_;
};

class JsonOutput : public Output {
  public:
    explicit JsonOutput(Writer& writer) : writer_(writer) {}

    void print(const char* format, const char* types, std::string_view arguments) override {
        const size_t length =
            djs_format(nullptr, 0, format, types, arguments.data(), arguments.size());
        text_.resize(length + 1);
        djs_format(text_.data(), length + 1, format, types, arguments.data(), arguments.size());
        text_.resize(length);
        text(text_);
    }

    void text(std::string_view text) override { put({{"type", "print"}, {"text", text}}); }

    void error(std::string_view message, std::string_view place) override {
        Object object{{"type", "error"}, {"message", message}};
        if (!place.empty())
            object["place"] = place;
        put(object);
    }

    void warning(std::string_view message) override {
        put({{"type", "warning"}, {"message", message}});
    }

    void probe(const AttachedProbe& probe) override {
        Object object{{"type", "probe"}};
        if (probe.point.empty())
            object["more"] = probe.sites;
        else
            object["point"] = probe.point;
        object["mechanism"] = probe.mechanism;
        object["attached"] = probe.attached;
        if (!probe.reason.empty()) {
            if (!probe.planned.empty())
                object["planned"] = probe.planned;
            object["reason"] = probe.reason;
        }
        put(object);
    }

    void counts(const djs_counts& counts) override {
        put({{"type", "counts"},
             {"lost_records", counts.lost_records},
             {"overwritten", counts.overwritten},
             {"skipped_busy", counts.skipped_busy},
             {"skipped_locked", counts.skipped_locked},
             {"skipped_kretprobe", counts.skipped_kretprobe},
             {"skipped_kprobe", counts.skipped_kprobe},
             {"errors", counts.errors},
             {"failed_sites", counts.failed_sites},
             {"inside", counts.inside}});
    }

    Writer& writer() override { return writer_; }
    bool prints_text() const override { return false; }

  private:
    using Object = nlohmann::ordered_json;

    // Bytes that are not UTF-8 become U+FFFD: JSON has no others.
    void put(const Object& object) {
        writer_.append(object.dump(-1, ' ', false, Object::error_handler_t::replace).append("\n"));
    }

    Writer& writer_;
    std::string text_;
};

} // namespace

std::unique_ptr<Output> make_text_output(Writer& writer, Writer& messages, bool warnings,
                                         bool verbose) {
    return std::make_unique<TextOutput>(writer, messages, warnings, verbose);
}

std::unique_ptr<Output> make_json_output(Writer& writer) {
    return std::make_unique<JsonOutput>(writer);
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
        {counts.skipped_busy, " hit was skipped because another handler was active on its CPU",
         " hits were skipped because another handler was active on their CPU"},
        {counts.skipped_locked,
         " hit was skipped because a global variable stayed locked: try a larger MAXTRYLOCK",
         " hits were skipped because a global variable stayed locked: try a larger MAXTRYLOCK"},
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
