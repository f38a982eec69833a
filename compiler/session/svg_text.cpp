// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/svg_text.h"

#include <cstdio>

namespace djstap {

std::string svg_escaped(std::string_view text) {
    std::string out;
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        if (character == '&')
            out += "&amp;";
        else if (character == '<')
            out += "&lt;";
        else if (character == '>')
            out += "&gt;";
        else if (character == '"')
            out += "&quot;";
        else if (byte < ' ' || byte >= 0x7f) // XML allows neither all of them nor broken UTF-8
            out += '?';
        else
            out += character;
    }
    return out;
}

std::string svg_number(double value, const char* format) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

} // namespace djstap
