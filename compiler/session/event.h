// SPDX-License-Identifier: GPL-2.0-or-later
// What readers hand on to an output: one record that the script printed.
#pragma once
#include "include/record.h"
#include "session/clock.h"
#include "session/meta.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <variant>

namespace djstap {

// The arguments of a record (runtime/include/record.h) as bytes.
inline std::string_view arguments_of(const djs_record& record) {
    return {reinterpret_cast<const char*>(&record + 1), record.size - sizeof(record)};
}

// The text at the beginning of `arguments`, which then begin behind it. The padding of the last one
// may be missing.
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

inline std::optional<int64_t> take_number(std::string_view& arguments) {
    int64_t number;
    if (arguments.size() < sizeof(number))
        return std::nullopt;
    std::memcpy(&number, arguments.data(), sizeof(number));
    arguments.remove_prefix(sizeof(number));
    return number;
}

// A histogram as a record has it: its buckets' counts follow the header.
struct HistogramArgument {
    djs_histogram_header header;
    std::string_view buckets;

    // `bucket` is below header.buckets.
    int64_t count(uint32_t bucket) const {
        int64_t number;
        std::memcpy(&number, buckets.data() + bucket * sizeof(number), sizeof(number));
        return number;
    }
};

using Argument = std::variant<int64_t, std::string_view, HistogramArgument>;

// An event's arguments one by one, each as its format's letter says. Nothing beyond their end is
// read.
class Arguments {
  public:
    Arguments(std::string_view types, std::string_view bytes) : types_(types), bytes_(bytes) {}

    // How many there are to be.
    size_t left() const { return types_.size(); }
    // Nothing where they are damaged, and where none is left.
    std::optional<Argument> next();

  private:
    std::string_view types_, bytes_;
};

struct Event {
    uint32_t cpu;
    uint64_t cycles; // when: see below
    const RecordClock& clock;
    const ModuleMeta::Format& format;
    std::string_view arguments; // as bytes, for djs_format()

    // When it was, in nanoseconds.
    uint64_t monotonic_ns() const { return clock.monotonic_ns(cycles); }
    uint64_t realtime_ns() const { return clock.realtime_ns(cycles); }
    Arguments values() const { return {format.types, arguments}; }
    // Whether it is a text of the script that is printed as it is.
    bool is_text() const { return &format == &as_it_is; }
    // The one argument of such an event.
    std::string_view text() const {
        std::string_view rest = arguments;
        return take_text(rest).value_or(std::string_view());
    }

    // The format of what log(), print_backtrace() and speculate() print.
    static const ModuleMeta::Format as_it_is;
};

} // namespace djstap
