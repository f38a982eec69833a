// SPDX-License-Identifier: GPL-2.0-or-later
// djstap's options for tests: those of a command line, or what is wrong with it.
#pragma once
#include "driver/options.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace djstap::driver {

using Words = std::vector<std::string>;

inline Options accept(Words words) {
    ParsedOptions parsed = parse_options(std::move(words));
    if (auto* failure = std::get_if<Failure>(&parsed))
        ADD_FAILURE() << failure->message;
    auto* options = std::get_if<Options>(&parsed);
    return options ? *options : Options();
}

inline Failure reject(Words words) {
    ParsedOptions parsed = parse_options(std::move(words));
    auto* failure = std::get_if<Failure>(&parsed);
    EXPECT_TRUE(failure);
    return failure ? *failure : Failure();
}

// What is told of a command line that is wrong, without the hint.
inline std::string complaint(Words words) {
    return reject(std::move(words)).message;
}

} // namespace djstap::driver
