// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/hosts_clock.h"

#include <cstdio>
#include <cstdlib>

namespace djstap::driver {

namespace {

constexpr int64_t notable_offset_ns = 100'000'000;

std::string milliseconds(int64_t ns) {
    char text[32];
    snprintf(text, sizeof text, "%.1f ms", static_cast<double>(ns) / 1e6);
    return text;
}

} // namespace

bool is_notable(const hosts::ClockOffset& clock) {
    return std::abs(clock.ns) > clock.error_ns + notable_offset_ns;
}

std::string clock_text(const hosts::ClockOffset& clock) {
    return "its clock is " + milliseconds(std::abs(clock.ns)) +
           (clock.ns < 0 ? " behind" : " ahead of") + " this machine's (within " +
           milliseconds(clock.error_ns) + ")";
}

} // namespace djstap::driver
