// SPDX-License-Identifier: GPL-2.0-or-later
// Files that somebody else has named: a program that is probed, its owner, a file of these.
#pragma once
#include "diagnostics/result.h"
#include "system/descriptor.h"

#include <string>
#include <string_view>

namespace djstap {

// Opens a regular file for reading. Nothing else is opened, not even for a moment: opening a device
// may have an effect (a watchdog's starts it), and opening a pipe may wait for ever.
Result<FileDescriptor> open_regular(const std::string& path);
// Returns at most `most` bytes of a regular file's begin; empty if there is no such file.
std::string begin_of_regular(const std::string& path, size_t most);

} // namespace djstap
