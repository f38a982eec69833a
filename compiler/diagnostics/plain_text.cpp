// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnostics/plain_text.h"

#include <cstdio>

namespace djstap {

namespace {

// Whether one of the control characters that have two bytes begins there.
bool is_wide_control(std::string_view text, size_t at) {
    return text[at] == '\xc2' && at + 1 < text.size() &&
           static_cast<unsigned char>(text[at + 1]) >= 0x80 &&
           static_cast<unsigned char>(text[at + 1]) < 0xa0;
}

std::string octal(char byte) {
    char text[8];
    snprintf(text, sizeof text, "\\%03o", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    return text;
}

} // namespace

std::string without_controls(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    for (size_t i = 0; i < text.size(); i++) {
        const bool is_wide = is_wide_control(text, i);
        shown += is_wide || controls_terminal(text[i]) ? '?' : text[i];
        i += is_wide ? 1 : 0;
    }
    return shown;
}

std::string with_octal_controls(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    for (size_t i = 0; i < text.size(); i++) {
        if (is_wide_control(text, i)) {
            shown += octal(text[i]) + octal(text[i + 1]);
            i++;
        } else if (is_control(text[i])) {
            shown += octal(text[i]);
        } else {
            shown += text[i];
        }
    }
    return shown;
}

std::string lines_of(std::string_view name, std::string_view text) {
    if (text.ends_with('\n'))
        text.remove_suffix(1);
    std::string lines;
    while (true) {
        const size_t end = text.find('\n');
        lines.append(name).append(": ").append(without_controls(text.substr(0, end))).append("\n");
        if (end == std::string_view::npos)
            return lines;
        text.remove_prefix(end + 1);
    }
}

} // namespace djstap
