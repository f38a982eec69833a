// SPDX-License-Identifier: GPL-2.0-or-later
// What the parts of a function pattern match.
#pragma once
#include "debuginfo/debuginfo.h"

namespace djstap {

// True where a pattern's file ("read_write.c", "fs/*.c", "" for any) names `file` or its tail at a
// slash.
bool file_matches(std::string_view pattern, std::string_view file);

} // namespace djstap
