// SPDX-License-Identifier: GPL-2.0-or-later
// What hosts, programs and scripts say is shown on terminals, and written to logs.
#pragma once

namespace djstap {

// Whether it is a control character of ASCII, which a terminal would obey.
constexpr bool is_control(char c) {
    return (c >= 0 && c < ' ') || c == '\x7f';
}

// The same, but for those that lay out a text.
constexpr bool controls_terminal(char c) {
    return is_control(c) && c != '\t' && c != '\n';
}

} // namespace djstap
