// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <cstddef>

namespace djstap {

// Returns the bytes of a character of UTF-8 that begins with this byte; 0: none does (Unicode,
// table 3-7).
constexpr size_t utf8_length(unsigned char byte) {
    constexpr unsigned char first_of_two = 0xc2, first_of_three = 0xe0, first_of_four = 0xf0,
                            behind_last = 0xf5;
    return byte < 0x80             ? 1
           : byte < first_of_two   ? 0
           : byte < first_of_three ? 2
           : byte < first_of_four  ? 3
           : byte < behind_last    ? 4
                                   : 0;
}

} // namespace djstap
