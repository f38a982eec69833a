// SPDX-License-Identifier: GPL-2.0-or-later
// Writes the output as text. Prints go to the writer; errors, warnings and counts that are not zero
// to the messages, in order: what was printed before is flushed first.
#include "session/outputs.h"

#include "include/text.h"
#include "session/message_output.h"

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

class TextOutput : public MessageOutput {
  public:
    using MessageOutput::MessageOutput;

    void print(const Event& event) override {
        if (event.is_text())
            writer().append(event.text());
        else
            format_to(writer(), event.format.text.c_str(), event.format.types.c_str(),
                      event.arguments);
    }

    void switch_file() override { writer().next_file(); }

    bool prints_text() const override { return true; }
};

} // namespace

std::unique_ptr<Output> make_text_output(const OutputStreams& streams) {
    return std::make_unique<TextOutput>(streams);
}

} // namespace djstap
