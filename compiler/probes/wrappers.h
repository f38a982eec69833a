// SPDX-License-Identifier: GPL-2.0-or-later
// The returns of functions that the compiler inlined everywhere (wrappers.def).
#pragma once
#include <algorithm>
#include <array>
#include <string_view>

namespace djstap {

// Whether `symbol` is a function that does nothing but return what a call of `called` returns.
inline bool is_wrapper(std::string_view symbol, std::string_view called) {
    struct Row {
        std::string_view wrapper, called;
    };
    constexpr auto rows = std::to_array<Row>({
#define WRAPPER(wrapper, called) {wrapper, called},
#include "probes/wrappers.def"
#undef WRAPPER
    });
    return std::any_of(rows.begin(), rows.end(), [&](const Row& each) {
        return each.wrapper == symbol && each.called == called;
    });
}

} // namespace djstap
