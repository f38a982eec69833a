// SPDX-License-Identifier: GPL-2.0-or-later
// Reads scripts: files, standard input, arguments.
#pragma once
#include "diagnostics/diagnostic.h"
#include "driver/options.h"

#include <optional>
#include <vector>

namespace djstap::driver {

// Returns the text of a file, or of standard input for "-". Fails for folders, unreadable files,
// and more than 64 MB. syntax/ rejects text with zero bytes.
Result<std::string> read_script(const std::string& path);

// Adds the script of the command line, then those of -E, to `sources` and returns their ids.
// Returns nothing after reporting what cannot be read.
std::optional<std::vector<uint32_t>> read_scripts(const Options& options, SourceManager& sources,
                                                  Diagnostics& diagnostics);

} // namespace djstap::driver
