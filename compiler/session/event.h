// SPDX-License-Identifier: GPL-2.0-or-later
// What readers pass to an output: one record that the script printed.
#pragma once
#include "include/record.h"
#include "session/clock.h"
#include "session/meta.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace djstap {

// Returns the arguments of a record (runtime/include/record.h) as bytes.
inline std::string_view arguments_of(const djs_record& record) {
    return {reinterpret_cast<const char*>(&record + 1), record.size - sizeof(record)};
}

// Removes and returns the string at the beginning of `arguments`. The padding of the last one may
// be missing.
inline std::optional<std::string_view> take_text(std::string_view& arguments) {
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

// Removes and returns the name at the beginning of `arguments`.
inline std::optional<std::string_view> take_name(std::string_view& arguments) {
    if (arguments.size() < DJS_NAME_BYTES)
        return std::nullopt;
    const auto name = arguments.substr(0, DJS_NAME_BYTES);
    arguments.remove_prefix(DJS_NAME_BYTES);
    return name.substr(0, name.find('\0'));
}

inline std::optional<int64_t> take_number(std::string_view& arguments) {
    int64_t number;
    if (arguments.size() < sizeof(number))
        return std::nullopt;
    std::memcpy(&number, arguments.data(), sizeof(number));
    arguments.remove_prefix(sizeof(number));
    return number;
}

// A histogram in a record: its buckets' counts follow the header.
struct HistogramArgument {
    djs_histogram_header header;
    std::string_view buckets;

    // `bucket` is less than header.buckets.
    int64_t count(uint32_t bucket) const {
        int64_t number;
        std::memcpy(&number, buckets.data() + bucket * sizeof(number), sizeof(number));
        return number;
    }
};

// A call stack in a record.
struct StackArgument {
    std::string_view bytes; // the number of addresses, and these

    // Returns the string that backtrace() yields.
    std::string text() const;
};

using Argument = std::variant<int64_t, std::string_view, HistogramArgument, StackArgument>;

// Decodes an event's arguments one by one, according to the letters of its format. Never reads
// beyond their end.
class Arguments {
  public:
    Arguments(std::string_view types, std::string_view bytes) : types_(types), bytes_(bytes) {}

    // The number of arguments that are left.
    size_t left() const { return types_.size(); }
    // Returns nothing if the arguments are damaged, or none is left.
    std::optional<Argument> next();

  private:
    std::string_view types_, bytes_;
};

// What a record contains about its hit in addition to CPU and time, if the script was compiled with
// --event-fields.
struct EventFields {
    std::optional<std::string_view> probe; // its probe point; also absent if it is unknown
    std::optional<int32_t> pid, tid;
    // Every record has these: whether they were requested.
    bool cpu = false, time = false;
};

// Removes and decodes the fields at the beginning of `arguments`. Returns nothing if these are
// damaged.
std::optional<EventFields> take_fields(const ModuleMeta& meta, std::string_view& arguments);

struct Event {
    uint32_t cpu;
    uint64_t cycles; // the time of the record: see below
    const RecordClock& clock;
    const ModuleMeta::Format& format;
    std::string_view arguments; // as bytes, for djs_format()
    EventFields fields = {};    // none but CPU and time for what the runtime prints: is_text()
    // The types of the arguments as they were recorded: what is made of symbols is a string now.
    std::string_view recorded_types = format.types;

    // The time of the record, in nanoseconds.
    uint64_t monotonic_ns() const { return clock.monotonic_ns(cycles); }
    uint64_t realtime_ns() const { return clock.realtime_ns(cycles); }
    // The probe that was hit, and the process and thread for which its handler ran, as pp(), pid()
    // and tid() return them.
    const std::optional<std::string_view>& probe() const { return fields.probe; }
    const std::optional<int32_t>& pid() const { return fields.pid; }
    const std::optional<int32_t>& tid() const { return fields.tid; }
    Arguments values() const { return {format.types, arguments}; }
    // Returns whether it is text of the script that is printed unchanged.
    bool is_text() const { return &format == &as_it_is; }
    // Returns the only argument of such an event.
    std::string_view text() const {
        std::string_view rest = arguments;
        return take_text(rest).value_or(std::string_view());
    }

    // Returns an event of the same hit that prints this text; `memory` holds it.
    Event with_text(std::string_view text, std::string& memory) const {
        const auto length = static_cast<uint32_t>(text.size());
        memory.assign(reinterpret_cast<const char*>(&length), sizeof length).append(text);
        return {cpu, cycles, clock, as_it_is, memory, fields};
    }
    // Returns the text as it is printed; `memory` holds it.
    std::string_view printed(std::string& memory) const;

    // The format of what log(), print_backtrace() and speculate() print.
    static const ModuleMeta::Format as_it_is;
};

} // namespace djstap
