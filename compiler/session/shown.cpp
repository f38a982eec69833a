// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/shown.h"

#include "session/printed_values.h"

namespace djstap {

bool read_shown(const Event& event, ShownRow& row) {
    if (event.is_text() || event.format.shows.empty())
        return false;
    const std::string& shows = event.format.shows;
    row.name = shows;
    row.keys = event.format.keys;
    row.cells.clear();
    row.is_statistic = row.is_histogram = false;
    row.kind = shows == DJS_SHOWS_BEGIN   ? ShownRow::Kind::Begin
               : shows == DJS_SHOWS_END   ? ShownRow::Kind::End
               : shows == DJS_SHOWS_PROBE ? ShownRow::Kind::Probe
                                          : ShownRow::Kind::Global;
    Arguments arguments = event.values();
    while (arguments.left()) {
        auto argument = arguments.next();
        if (!argument)
            return false;
        row.cells.push_back(*argument);
    }
    if (row.kind == ShownRow::Kind::Begin || row.kind == ShownRow::Kind::End)
        return true;
    if (row.cells.size() <= row.keys)
        return false;
    for (size_t i = 0; i < row.keys; i++)
        if (std::holds_alternative<HistogramArgument>(row.cells[i]))
            return false;
    const size_t values = row.cells.size() - row.keys;
    row.is_histogram = values == 1 && std::holds_alternative<HistogramArgument>(row.cells.back());
    row.is_statistic = values == statistic_numbers;
    for (size_t i = row.keys; i < row.cells.size(); i++)
        if (row.is_statistic && !std::holds_alternative<int64_t>(row.cells[i]))
            return false;
    return row.is_histogram || row.is_statistic || values == 1;
}

} // namespace djstap
