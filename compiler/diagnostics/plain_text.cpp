// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnostics/plain_text.h"

namespace djstap {

std::string without_controls(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    for (size_t i = 0; i < text.size(); i++) {
        const bool in_two_bytes = text[i] == '\xc2' && i + 1 < text.size() &&
                                  static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                                  static_cast<unsigned char>(text[i + 1]) < 0xa0;
        shown += in_two_bytes || controls_terminal(text[i]) ? '?' : text[i];
        i += in_two_bytes ? 1 : 0;
    }
    return shown;
}

} // namespace djstap
