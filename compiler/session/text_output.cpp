// SPDX-License-Identifier: GPL-2.0-or-later
// Writes the output as text. Prints go to the writer; errors, warnings and counts that are not zero
// to the messages, in order: what was printed before is flushed first.
#include "session/outputs.h"

#include "include/text.h"

namespace djstap {

namespace {

constexpr size_t first_guess = 512;

// Formats to the end of the buffered text.
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
    explicit TextOutput(const OutputStreams& streams)
        : writer_(streams.writer), messages_(streams.messages), warnings_(streams.warnings),
          verbose_(streams.verbose) {}

    void print(const Event& event) override {
        if (event.is_text())
            writer_.append(event.text());
        else
            format_to(writer_, event.format.text.c_str(), event.format.types.c_str(),
                      event.arguments);
    }

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

    // The module itself warns about probes that it could not attach.
    void probes(const std::vector<AttachedProbe>& probes) override {
        for (const AttachedProbe& probe : probes)
            if (verbose_ && (!probe.attached || probe.mechanism != "session"))
                show(probe);
    }

    void counts(const djs_counts& counts) override {
        for (const std::string& line : describe_counts(counts))
            warning(line);
    }

    bool wants_all_probes() const override { return verbose_; }
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

std::unique_ptr<Output> make_text_output(const OutputStreams& streams) {
    return std::make_unique<TextOutput>(streams);
}

} // namespace djstap
