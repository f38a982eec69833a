// SPDX-License-Identifier: GPL-2.0-or-later
// Decodes what a module prints regularly of its globals and probes (DJS_SHOWS_*).
#pragma once
#include "session/event.h"

#include <string_view>
#include <vector>

namespace djstap {

// What one such record shows. Refers to the event's memory.
struct ShownRow {
    enum class Kind : uint8_t { Begin, Probe, Global, End } kind = Kind::Begin;
    std::string_view name; // of the global
    size_t keys = 0;       // the first cells are an element's keys
    // Behind the keys: the value, or the numbers of a statistic, or a histogram.
    std::vector<Argument> cells;
    bool is_statistic = false;
    bool is_histogram = false;
};

// Reads an event into `row`, whose memory is kept. Returns false if it shows nothing, or is
// damaged.
bool read_shown(const Event& event, ShownRow& row);

} // namespace djstap
