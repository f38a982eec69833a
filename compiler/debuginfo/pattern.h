// SPDX-License-Identifier: GPL-2.0-or-later
// Matches the parts of a function pattern.
#pragma once
#include "debuginfo/debuginfo.h"

namespace djstap {

// Returns whether a pattern's file ("read_write.c", "fs/*.c", "" for any) matches `file` or its
// tail at a slash.
bool file_matches(std::string_view pattern, std::string_view file);

} // namespace djstap
