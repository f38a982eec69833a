// SPDX-License-Identifier: GPL-2.0-or-later
// What hosts say is shown on this machine's terminal.
#pragma once

namespace djstap::hosts {

// Whether a character would control the terminal, other than by laying out a text.
constexpr bool controls_terminal(char c) {
    return (c >= 0 && c < ' ' && c != '\t' && c != '\n') || c == '\x7f';
}

} // namespace djstap::hosts
