// SPDX-License-Identifier: GPL-2.0-or-later
// The command line of `djstap regions`.
#pragma once
#include "driver/options.h"
#include "regions/regions.h"

#include <string>
#include <variant>
#include <vector>

namespace djstap::driver {

struct RegionsOptions {
    std::string file;
    std::string kernel; // -r: its vmlinux instead of a file
    regions::Model model = regions::Model::Relocate;
    std::string function;            // --function
    std::vector<std::string> places; // --at: addresses, or NAME+OFFSET
    std::string text;                // --text: a file with the text from memory
    std::string map;                 // --svg: the file to write
    bool lines = false;              // --lines
    bool unsafe = false;
    bool json = false;
};

using ParsedRegionsOptions = std::variant<RegionsOptions, Text, Failure>;

// Parses the words after "regions".
ParsedRegionsOptions parse_regions_options(std::vector<std::string> arguments);

} // namespace djstap::driver
