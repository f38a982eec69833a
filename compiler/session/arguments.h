// The arguments of a record (runtime/include/record.h), taken one by one. Nothing beyond their end
// is read.
#pragma once
#include "include/record.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace djstap {

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

} // namespace djstap
