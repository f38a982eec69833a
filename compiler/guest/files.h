// SPDX-License-Identifier: GPL-2.0-or-later
// Descriptors and small files.
#pragma once
#include "system/file.h"
#include "system/process.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace djstap::guest {

// "cannot WHAT PATH: strerror(errno)".
Failure system_failure(std::string_view what, std::string_view path);

// Returns the content of a descriptor's file from its beginning, whatever its offset.
std::string contents(int fd);
// Writes all of `data`; the Failure names `path`.
Status write_to(int fd, std::string_view data, const std::string& path);

// Returns the options of a guest's helper: bound to this process, its output goes to `output`, no
// other stream.
ProcessOptions helper_options(int output = ProcessOptions::none);

// Returns ${DJSTAP_CACHE}, else $XDG_CACHE_HOME/djstap, else ~/.cache/djstap; followed by /guest.
// Creates the folder if it is missing.
Result<std::string> cache_folder();

// Returns a program's path: in $PATH, or in a folder of the administrator's programs. A Failure
// names the package to install.
Result<std::string> find_tool(const std::string& name, const std::string& package);

// Runs a program and returns its output; fails if it is missing or its exit status is not 0.
Result<std::string> output_of(const std::vector<std::string>& words);

} // namespace djstap::guest
