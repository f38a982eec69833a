#include "session/printer.h"

#include "include/text.h"

#include <cstring>
#include <optional>

namespace djstap {

namespace {

std::string_view arguments_of(const djs_record& record) {
    return {reinterpret_cast<const char*>(&record + 1), record.size - sizeof(record)};
}

// The text at the beginning of `arguments`, which then begin behind it.
std::optional<std::string_view> take_text(std::string_view& arguments) {
    uint32_t length;
    if (arguments.size() < sizeof(length))
        return std::nullopt;
    std::memcpy(&length, arguments.data(), sizeof(length));
    if (length > arguments.size() - sizeof(length))
        return std::nullopt;
    const auto text = arguments.substr(sizeof(length), length);
    arguments.remove_prefix(
        std::min<size_t>(arguments.size(), DJS_ALIGN8(sizeof(length) + size_t{length})));
    return text;
}

std::optional<int64_t> take_number(std::string_view& arguments) {
    int64_t number;
    if (arguments.size() < sizeof(number))
        return std::nullopt;
    std::memcpy(&number, arguments.data(), sizeof(number));
    arguments.remove_prefix(sizeof(number));
    return number;
}

} // namespace

void RecordPrinter::damaged(const djs_record& record) {
    if (damaged_++ == 0)
        output_.warning("a record of unknown kind " + std::to_string(record.id) +
                        " was dropped; more of them are only counted");
}

void RecordPrinter::speculation(const djs_record& record) {
    auto arguments = arguments_of(record);
    std::optional<std::string_view> text;
    if (record.id == DJS_RECORD_SPECULATION) {
        text = take_text(arguments);
        if (!text)
            return damaged(record);
    }
    const auto id = take_number(arguments);
    if (!id)
        return damaged(record);
    if (text)
        speculations_.add(*id, *text);
    else if (record.id == DJS_RECORD_COMMIT)
        speculations_.commit(*id, [&](std::string_view kept) { output_.text(kept); });
    else
        speculations_.discard(*id);
}

void RecordPrinter::finish() {
    if (const uint64_t dropped = speculations_.dropped())
        output_.warning(std::to_string(dropped) + (dropped == 1 ? " text" : " texts") +
                        " of speculate() gave way to newer ones; -D MAXSPECULATIONS=" +
                        std::to_string(2 * meta_.max_speculations) + " keeps more");
}

void RecordPrinter::print(const djs_record& record) {
    auto arguments = arguments_of(record);
    if (record.id < meta_.formats.size()) {
        const auto& format = meta_.formats[record.id];
        output_.print(format.text.c_str(), format.types.c_str(), arguments);
        return;
    }
    switch (record.id) {
    case DJS_RECORD_PADDING:
        return;
    case DJS_RECORD_TEXT:
        if (const auto text = take_text(arguments))
            output_.text(*text);
        else
            damaged(record);
        return;
    case DJS_RECORD_SPECULATION:
    case DJS_RECORD_COMMIT:
    case DJS_RECORD_DISCARD:
        speculation(record);
        return;
    case DJS_RECORD_EXIT:
        exit_requested_ = true;
        return;
    case DJS_RECORD_WARNING:
        if (const auto text = take_text(arguments))
            output_.warning(*text);
        else
            damaged(record);
        return;
    case DJS_RECORD_ERROR: {
        errors_++;
        const auto text = take_text(arguments);
        int64_t place = -1;
        if (text && arguments.size() >= sizeof(place))
            std::memcpy(&place, arguments.data(), sizeof(place));
        const bool known = place >= 0 && static_cast<uint64_t>(place) < meta_.places.size();
        output_.error(text.value_or("unknown error"),
                      known ? std::string_view(meta_.places[static_cast<size_t>(place)]) : "");
        return;
    }
    default:
        damaged(record);
    }
}

} // namespace djstap
