// SPDX-License-Identifier: GPL-2.0-or-later
// A module's own description: the section .djstap.meta of the .ko, and what /proc/djstap-NAME
// yields.
#pragma once
#include "diagnostics/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

struct ModuleMeta {
    struct Format {
        std::string text;  // as djs_format() takes it
        std::string types; // one letter an argument: l, s, h
        // What it shows, for output that has a structure: a global ("a"), or the histogram of one
        // ("a[k]"); empty: nothing in particular. The first `keys` arguments are an element's keys;
        // the others its value, or count, minimum, maximum, sum and average of a statistic, or a
        // histogram.
        std::string shows = {};
        uint64_t keys = 0;
    };
    struct Probe {
        std::string point;
        std::string mechanism; // planned
    };
    std::string name;
    std::string release;             // of the kernel it was built for
    std::string build_id;            // hexadecimal; empty: not known
    std::vector<Format> formats;     // by a record's id
    std::vector<std::string> places; // by an error record's number
    std::vector<Probe> probes;       // by the index of DJS_IOC_SITE
    std::string script;
    uint64_t max_speculations = 65536; // texts of speculate() that a reader keeps
};

// Reads the JSON text; trailing NULs are ignored. Fails on anything that is not a description of
// version 1.
Result<ModuleMeta> parse_meta(std::string_view json);

} // namespace djstap
