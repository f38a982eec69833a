// SPDX-License-Identifier: GPL-2.0-or-later
// The place of a run-time error in its script.
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace djstap {

struct ErrorPlace {
    std::string_view what, file; // "operator '/'"
    int64_t line = 0, column = 0;
};

// Returns the parts of "operator '/' at FILE:LINE:COLUMN"; nothing if the text is none.
inline std::optional<ErrorPlace> split_place(std::string_view place) {
    const size_t at = place.rfind(" at "), column = place.rfind(':');
    if (at == std::string_view::npos || column == std::string_view::npos || column == 0)
        return std::nullopt;
    const size_t line = place.rfind(':', column - 1);
    if (line == std::string_view::npos || line < at + 4)
        return std::nullopt;
    const auto number = [](std::string_view text) {
        int64_t value = 0;
        std::from_chars(text.data(), text.data() + text.size(), value);
        return value;
    };
    return ErrorPlace{place.substr(0, at), place.substr(at + 4, line - at - 4),
                      number(place.substr(line + 1, column - line - 1)),
                      number(place.substr(column + 1))};
}

} // namespace djstap
