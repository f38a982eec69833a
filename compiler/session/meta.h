// SPDX-License-Identifier: GPL-2.0-or-later
// A module's own description: the section .djstap.meta of the .ko, and what reading
// /proc/djstap-NAME returns.
#pragma once
#include "diagnostics/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// A field of events that a script records on request: --event-fields.
struct EventFieldName {
    const char* name;
    uint32_t bit; // DJS_EVENT_*
};
std::span<const EventFieldName> event_field_names();

struct ModuleMeta {
    struct Format {
        std::string text;  // for djs_format()
        std::string types; // one letter per argument: l, s, h
        // What it shows, for structured output: a global ("a"), or the histogram of one ("a[k]");
        // empty: nothing in particular. The first `keys` arguments are an element's keys; the
        // others its value, or count, minimum, maximum, sum and average of a statistic, or a
        // histogram.
        std::string shows = {};
        uint64_t keys = 0;
        bool in_snapshot = false; // only for outputs that show the globals regularly
    };
    struct Probe {
        std::string point;
        std::string mechanism; // the planned mechanism
    };
    // A global that the module shows regularly, whole.
    struct Global {
        std::string name;
        std::string value; // "number", "text" or "statistic"
        uint64_t keys = 0; // 0: it is no array
        bool histogram = false;
        std::string description; // the comment beside its declaration
        // A number to which handlers only add: those of several machines make one sum. `initial` is
        // what it was before.
        bool adds_up = false;
        int64_t initial = 0;
    };
    std::string name;
    std::string release;             // of the kernel that it was built for
    std::string build_id;            // hexadecimal; empty: unknown
    std::vector<Format> formats;     // indexed by a record's id
    std::vector<Global> globals;     // what the module shows regularly; empty: nothing
    std::vector<std::string> places; // indexed by an error record's number
    std::vector<Probe> probes;       // indexed like DJS_IOC_SITE
    uint32_t fields = 0;             // DJS_EVENT_*: what its records contain before the arguments
    // Indexed by site, with DJS_EVENT_PROBE: the probe points; "" if the site's handler prints
    // nothing.
    std::vector<std::string> points;
    std::string script;
    bool takes_input = false; // it has the file procfs("__stdin") for the session's standard input
    bool lines = false;       // symbols of programs have lines of the source code (--lines)
    uint64_t max_speculations = 65536; // strings of speculate() that a reader keeps
};

// Parses the JSON text; trailing NULs are ignored. Fails for anything but a description of version
// 1, or 2, which the description of a script with fields has.
Result<ModuleMeta> parse_meta(std::string_view json);

} // namespace djstap
