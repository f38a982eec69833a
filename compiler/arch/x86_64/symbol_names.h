// SPDX-License-Identifier: GPL-2.0-or-later
// How a symbol is compared with the reviewed lists of this folder.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace djstap::arch {

// The function of which the compiler made the symbol's code: f of "f.cold" and "f.part.0".
inline std::string_view whole_of(std::string_view symbol) {
    return symbol.substr(0, symbol.find('.'));
}

template <size_t Size>
bool begins_with_any(std::string_view symbol, const std::string_view (&beginnings)[Size]) {
    return std::any_of(std::begin(beginnings), std::end(beginnings),
                       [&](std::string_view beginning) { return symbol.starts_with(beginning); });
}

} // namespace djstap::arch
