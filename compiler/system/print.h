// SPDX-License-Identifier: GPL-2.0-or-later
// What a program was asked to print.
#pragma once
#include "diagnostics/result.h"

#include <string_view>

namespace djstap {

// Writes all of the text to standard output, and notices if that fails.
Status print_whole(std::string_view text);

} // namespace djstap
