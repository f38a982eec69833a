// SPDX-License-Identifier: GPL-2.0-or-later
// What `djstap regions` prints, as text and as JSON.
#pragma once
#include "regions/regions.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace djstap::driver {

// A place that was asked for.
struct AskedPlace {
    std::string asked;
    uint64_t address = 0;
    std::optional<regions::Place> place; // nothing: no instruction of a function begins there
};

// "0x401000"
std::string hexadecimal(uint64_t address);
std::string functions_as_text(const regions::Analysis& analysis);
std::string functions_as_json(const regions::Analysis& analysis);
// The last lines of functions_as_text, and the totals alone.
std::string totals_as_text(const regions::Analysis& analysis);
std::string totals_as_json(const regions::Analysis& analysis);
std::string unsafe_as_text(const regions::Analysis& analysis);
std::string unsafe_as_json(const regions::Analysis& analysis);
std::string places_as_text(const regions::Analysis& analysis,
                           const std::vector<AskedPlace>& places);
std::string places_as_json(const regions::Analysis& analysis,
                           const std::vector<AskedPlace>& places);
// `section`: the bytes of .debug_line.
std::string lines_as_text(const regions::Analysis& analysis, const regions::LineCheck& check,
                          uint64_t section);
std::string lines_as_json(const regions::Analysis& analysis, const regions::LineCheck& check,
                          uint64_t section);
// Draws a function with its bytes, instructions and source lines.
// `debug_file`: the file with the debug information; "" if there is none.
std::string function_as_text(const regions::Analysis& analysis, const std::string& debug_file,
                             size_t function);
std::string function_as_json(const regions::Analysis& analysis, const std::string& debug_file,
                             size_t function);

} // namespace djstap::driver
