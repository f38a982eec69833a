// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers in texts.
#pragma once
#include <charconv>
#include <string_view>
#include <system_error>

namespace djstap {

// Returns whether all of the text is a number that fits `value`, which keeps its value otherwise.
template <class Number> bool parse_number(std::string_view text, Number& value, int base = 10) {
    const char* const end = text.data() + text.size();
    Number parsed{};
    const auto [rest, error] = std::from_chars(text.data(), end, parsed, base);
    if (error != std::errc() || rest != end)
        return false;
    value = parsed;
    return true;
}

} // namespace djstap
