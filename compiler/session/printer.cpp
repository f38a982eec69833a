// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/printer.h"

#include "include/text.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace djstap {

RecordPrinter::RecordPrinter(const ModuleMeta& meta, const RecordClock& clock, Output& output,
                             SystemCommands* commands, Symbols symbols)
    : meta_(meta), of_text_{.probe = {},
                            .pid = {},
                            .tid = {},
                            .cpu = (meta.fields & DJS_EVENT_CPU) != 0,
                            .time = (meta.fields & DJS_EVENT_TIME) != 0},
      clock_(clock), output_(output), commands_(commands), writer_(output.writer()),
      symbols_(std::move(symbols)), speculations_(meta.max_speculations) {
    for (const ModuleMeta::Format& format : meta.formats) {
        auto& expanded = expanded_.emplace_back();
        if (std::any_of(format.types.begin(), format.types.end(), djs_is_symbols)) {
            expanded = std::make_unique<ModuleMeta::Format>(format);
            expanded->types = Symbols::expanded(format.types);
        }
    }
    if (meta.lines)
        symbols_.show_lines();
    output.begin(meta, clock);
    if (output.prints_text() && !meta.fields)
        for (const ModuleMeta::Format& format : meta.formats) {
            auto plain = format.in_snapshot ? std::nullopt : PlainFormat::of(format);
            plain_.push_back(plain ? std::make_unique<PlainFormat>(std::move(*plain)) : nullptr);
        }
}

void RecordPrinter::damaged(const djs_record& record) {
    if (damaged_++ == 0)
        output_.warning("a record of unknown kind " + std::to_string(record.id) +
                        " was dropped; further ones are only counted");
}

void RecordPrinter::print_text(uint32_t cpu, uint64_t cycles, std::string_view arguments) {
    output_.print({cpu, cycles, clock_, Event::as_it_is, arguments, of_text_});
}

// One event a line, as if the handler had printed each, unless the output takes it whole.
void RecordPrinter::print_stack(const djs_record& record, uint32_t cpu) {
    auto arguments = arguments_of(record);
    auto count = take_number(arguments);
    const bool with_places = count && (static_cast<uint64_t>(*count) & DJS_STACK_FILELINE);
    if (with_places)
        *count = static_cast<int64_t>(static_cast<uint64_t>(*count) & ~DJS_STACK_FILELINE);
    if (!count || static_cast<uint64_t>(*count) > arguments.size() / sizeof(uint64_t))
        return damaged(record);
    std::vector<std::string> lines;
    for (int64_t i = 0; i < *count; i++)
        lines.push_back(symbols_.line(static_cast<uint64_t>(*take_number(arguments)), with_places));
    const Event event{cpu, record.time, clock_, Event::as_it_is, {}, of_text_};
    if (output_.print_stack(event, lines))
        return;
    for (const std::string& line : lines)
        output_.print(event.with_text(line, strings_));
}

void RecordPrinter::print_formatted(const djs_record& record, uint32_t cpu) {
    auto arguments = arguments_of(record);
    const auto fields = take_fields(meta_, arguments);
    if (!fields)
        return damaged(record);
    const ModuleMeta::Format* format = &meta_.formats[record.id];
    if (format->in_snapshot && !output_.wants_snapshots())
        return;
    if (const auto& expanded = expanded_[record.id]) {
        if (!symbols_.expand(format->types, arguments, strings_))
            return damaged(record);
        arguments = strings_;
        format = expanded.get();
    }
    output_.print(
        {cpu, record.time, clock_, *format, arguments, *fields, meta_.formats[record.id].types});
}

void RecordPrinter::speculation(const djs_record& record, uint32_t cpu) {
    auto arguments = arguments_of(record);
    const std::string_view all = arguments;
    const bool is_text = record.id == DJS_RECORD_SPECULATION;
    if (is_text && !take_text(arguments))
        return damaged(record);
    const std::string_view text = all.substr(0, all.size() - arguments.size());
    const auto id = take_number(arguments);
    if (!id)
        return damaged(record);
    if (is_text)
        speculations_.add(*id, {cpu, record.time, std::string(text)});
    else if (record.id == DJS_RECORD_COMMIT)
        speculations_.commit(*id, [&](const Speculations::Text& kept) {
            print_text(kept.cpu, kept.cycles, kept.arguments);
        });
    else
        speculations_.discard(*id);
}

void RecordPrinter::finish() {
    if (const uint64_t dropped = speculations_.dropped())
        output_.warning(
            std::to_string(dropped) +
            (dropped == 1 ? " string of speculate() was" : " strings of speculate() were") +
            " dropped in favor of newer ones; -D MAXSPECULATIONS=" +
            std::to_string(2 * meta_.max_speculations) + " keeps more");
}

void RecordPrinter::print_other(const djs_record& record, uint32_t cpu) {
    auto arguments = arguments_of(record);
    if (record.id < meta_.formats.size())
        return print_formatted(record, cpu);
    switch (record.id) {
    case DJS_RECORD_PADDING:
        return;
    case DJS_RECORD_TEXT:
        if (take_text(arguments))
            print_text(cpu, record.time, arguments_of(record));
        else
            damaged(record);
        return;
    case DJS_RECORD_STACK:
        return print_stack(record, cpu);
    case DJS_RECORD_SPECULATION:
    case DJS_RECORD_COMMIT:
    case DJS_RECORD_DISCARD:
        speculation(record, cpu);
        return;
    case DJS_RECORD_EXIT:
        exit_requested_ = true;
        return;
    case DJS_RECORD_WARNING:
        if (const auto text = take_text(arguments))
            // Outputs end lines themselves.
            output_.warning(text->substr(0, text->size() - text->ends_with('\n')));
        else
            damaged(record);
        return;
    case DJS_RECORD_SYSTEM:
        if (const auto command = take_text(arguments); !command)
            damaged(record);
        else if (commands_)
            commands_->start(*command, output_);
        else
            output_.warning("the command '" + std::string(*command) +
                            "' of system() is not run: no session reads it");
        return;
    case DJS_RECORD_SWITCH_FILE:
        return output_.switch_file();
    case DJS_RECORD_ERROR: {
        errors_++;
        const auto text = take_text(arguments);
        int64_t place = -1;
        if (text && arguments.size() >= sizeof(place))
            std::memcpy(&place, arguments.data(), sizeof(place));
        const bool known = place >= 0 && static_cast<uint64_t>(place) < meta_.places.size();
        last_error_ = text.value_or("unknown error");
        place_of_last_error_ =
            known ? std::string_view(meta_.places[static_cast<size_t>(place)]) : "";
        output_.error(last_error_, place_of_last_error_);
        return;
    }
    default:
        damaged(record);
    }
}

} // namespace djstap
