// SPDX-License-Identifier: GPL-2.0-or-later
// Text and numbers in SVG files.
#pragma once
#include <string>
#include <string_view>

namespace djstap {

// What XML allows neither in texts nor in attributes is replaced.
std::string svg_escaped(std::string_view text);
std::string svg_number(double value, const char* format = "%.2f");

} // namespace djstap
