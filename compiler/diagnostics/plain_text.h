// SPDX-License-Identifier: GPL-2.0-or-later
// What hosts, programs, scripts and debug information say is shown on terminals, and written to
// logs.
#pragma once

#include <string>
#include <string_view>

namespace djstap {

// Whether it is a control character of ASCII, which a terminal would obey.
constexpr bool is_control(char c) {
    return (c >= 0 && c < ' ') || c == '\x7f';
}

// The same, but for those that lay out a text.
constexpr bool controls_terminal(char c) {
    return is_control(c) && c != '\t' && c != '\n';
}

// Returns the text with a question mark for each character that a terminal would obey, those from
// U+0080 to U+009F in UTF-8 included (ECMA-48, 5.3: U+009B begins a control sequence as ESC [
// does).
std::string without_controls(std::string_view text);

// Returns the text, which is a part of a line, with octal numbers for the bytes of all control
// characters, as /proc/PID/maps has them in paths: "a\012b".
std::string with_octal_controls(std::string_view text);

// Returns the text's lines, without what a terminal would obey, each with a name before it and its
// end: "web1: a line\n". An empty text is one line.
std::string lines_of(std::string_view name, std::string_view text);

} // namespace djstap
