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

// The whole of a descriptor's file from its beginning, whatever its position.
std::string contents(int fd);
// Writes all of it; the Failure names `path`.
Status write_to(int fd, std::string_view data, const std::string& path);

// What a guest's helper starts with: bound to this process, its output in `output`, no other
// stream.
ProcessOptions helper_options(int output = ProcessOptions::none);

// ${DJSTAP_CACHE}, else $XDG_CACHE_HOME/djstap, else ~/.cache/djstap; then /guest. Made when
// missing.
Result<std::string> cache_folder();

// A program's path: in $PATH, or in a folder of the administrator's programs. A Failure names the
// package to install.
Result<std::string> find_tool(const std::string& name, const std::string& package);

// Runs a program and yields what it writes; fails when it is missing or exits other than 0.
Result<std::string> output_of(const std::vector<std::string>& words);

} // namespace djstap::guest
