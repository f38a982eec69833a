// SPDX-License-Identifier: GPL-2.0-or-later
// Reading scripts: files, standard input, arguments.
#pragma once
#include "diagnostics/diagnostic.h"
#include "driver/options.h"

#include <optional>
#include <vector>

namespace djstap::driver {

// The text of a file, or of standard input for "-". Fails on folders, on what cannot be read, and
// on more than 64 MB. What holds zero bytes is refused by syntax/.
Result<std::string> read_script(const std::string& path);

// Adds the script of the command line, then those of -E, to `sources` and yields their ids. Nothing
// after reporting what cannot be read.
std::optional<std::vector<uint32_t>> read_scripts(const Options& options, SourceManager& sources,
                                                  Diagnostics& diagnostics);

} // namespace djstap::driver
