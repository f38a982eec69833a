// SPDX-License-Identifier: GPL-2.0-or-later
// What `djstap regions --lines` prints.
#include "driver/regions_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace djstap::driver {

namespace {

using regions::LineCheck;
using regions::LineLeaders;

double percent(uint64_t part, uint64_t whole) {
    return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// The section keeps what is not encoded here: headers, and choices of its assembler.
uint64_t bytes_with_blocks(const LineCheck& check, uint64_t section) {
    return section + check.encoded_with_blocks - check.encoded;
}

std::string row_text(const char* name, const LineCheck& check, const LineLeaders& leaders) {
    char text[160];
    snprintf(
        text, sizeof text, "%-18s %10llu %8.2f %8.2f %10llu %8.2f\n", name,
        static_cast<unsigned long long>(leaders.rows), percent(leaders.planted, check.instructions),
        percent(leaders.unsafe, check.instructions),
        static_cast<unsigned long long>(leaders.missed), percent(leaders.missed, check.leaders));
    return text;
}

nlohmann::ordered_json leaders_json(const LineCheck& check, const LineLeaders& leaders) {
    return {{"rows", leaders.rows},
            {"planted_percent", percent(leaders.planted, check.instructions)},
            {"unsafe_percent", percent(leaders.unsafe, check.instructions)},
            {"unsafe", leaders.unsafe},
            {"missed", leaders.missed},
            {"missed_percent", percent(leaders.missed, check.leaders)}};
}

} // namespace

std::string lines_as_text(const regions::Analysis& analysis, const LineCheck& check,
                          uint64_t section) {
    char text[400];
    snprintf(text, sizeof text,
             "%llu instructions of functions with rows, B %.2f %%; control may enter at %llu\n\n"
             "%-18s %10s %8s %8s %10s %8s\n",
             static_cast<unsigned long long>(check.instructions),
             percent(check.safe, check.instructions),
             static_cast<unsigned long long>(check.leaders), "believing", "rows", "jumps %",
             "unsafe %", "missed", "missed %");
    std::string out = text;
    out += row_text("every row", check, check.all);
    out += row_text("is_stmt rows", check, check.statements);
    out += row_text("basic_block rows", check, check.blocks);
    const uint64_t more = check.encoded_with_blocks - check.encoded;
    snprintf(text, sizeof text,
             "\n.debug_line: %llu bytes; with a basic_block row wherever control may enter: %llu "
             "(+%.2f %%)\n",
             static_cast<unsigned long long>(section),
             static_cast<unsigned long long>(bytes_with_blocks(check, section)),
             percent(more, section));
    out += text;
    if (!check.tables.empty())
        out += "\nTargets of jump tables without a row:\n";
    for (const uint64_t address : check.tables)
        out += "  " + hexadecimal(address) + "  " + analysis.describe(address) + "\n";
    return out;
}

std::string lines_as_json(const regions::Analysis& analysis, const LineCheck& check,
                          uint64_t section) {
    nlohmann::ordered_json tables = nlohmann::ordered_json::array();
    for (const uint64_t address : check.tables)
        tables.push_back(
            {{"address", hexadecimal(address)}, {"place", analysis.describe(address)}});
    const nlohmann::ordered_json json = {{"instructions", check.instructions},
                                         {"B_percent", percent(check.safe, check.instructions)},
                                         {"leaders", check.leaders},
                                         {"every_row", leaders_json(check, check.all)},
                                         {"is_stmt", leaders_json(check, check.statements)},
                                         {"basic_block", leaders_json(check, check.blocks)},
                                         {"bytes", section},
                                         {"bytes_with_blocks", bytes_with_blocks(check, section)},
                                         {"tables_without_row", std::move(tables)}};
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace djstap::driver
