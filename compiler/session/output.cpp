// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/outputs.h"

#include <algorithm>

namespace djstap {

namespace {

constexpr OutputKind kinds[] = {
#define OUTPUT(name, title, unit, shows_fields)                                                    \
    {#name, title, unit, make_##name##_output, shows_fields},
#include "session/outputs.def"
#undef OUTPUT
};

} // namespace

std::span<const OutputKind> output_kinds() {
    return kinds;
}

void Output::line(std::string_view text) {
    writer().append(text);
    writer().append("\n");
}

void Output::listed(const ListedPoint& point) {
    std::string text = point.point;
    for (const std::string& variable : point.variables)
        text += " " + variable;
    // SystemTap's own format, which scripts parse, unless the mechanism is requested.
    if (point.mechanism_wanted && !point.mechanism.empty())
        text += "  # " + point.mechanism + (point.reason.empty() ? "" : ": " + point.reason);
    line(text);
}

void Output::facts(const std::string&, const std::string& title,
                   const std::vector<FactChapter>& chapters) {
    writer().append(title);
    for (const FactChapter& chapter : chapters) {
        line("");
        line(chapter.title);
        for (const Fact& fact : chapter.facts) {
            line("  " + std::string(fact.present ? "+" : "-") + " " + fact.name + ": " +
                 fact.value);
            if (!fact.remedy.empty())
                line("      " + fact.remedy);
        }
    }
}

void Output::tools(const std::vector<ListedTool>& tools) {
    size_t widest = 0;
    for (const ListedTool& tool : tools)
        widest = std::max(widest, tool.name.size());
    std::string_view subject;
    for (const ListedTool& tool : tools) {
        if (tool.subject != subject) {
            line((subject.empty() ? "" : "\n") + tool.subject);
            subject = tool.subject;
        }
        line("  " + tool.name + std::string(widest + 2 - tool.name.size(), ' ') + tool.summary);
    }
}

std::vector<std::string> describe_counts(const djs_counts& counts) {
    struct {
        uint64_t count;
        const char *one, *many;
    } const rows[] = {
        {counts.lost_records,
         " record was lost because a buffer was full: try a larger one with -s",
         " records were lost because a buffer was full: try a larger one with -s"},
        {counts.oversized,
         " record was lost because it exceeded its buffer, or the 16 KB limit of a flight recorder",
         " records were lost because they exceeded their buffer, or the 16 KB limit of a flight "
         "recorder"},
        {counts.skipped_busy, " hit was skipped because another handler was active on its CPU",
         " hits were skipped because another handler was active on their CPU"},
        {counts.skipped_locked,
         " hit was skipped because a global variable stayed locked: try a larger MAXTRYLOCK (an "
         "NMI never waits)",
         " hits were skipped because a global variable stayed locked: try a larger MAXTRYLOCK (an "
         "NMI never waits)"},
        {counts.skipped_stack,
         " hit was skipped because too little kernel stack was left (MINSTACKSPACE)",
         " hits were skipped because too little kernel stack was left (MINSTACKSPACE)"},
        {counts.skipped_kretprobe,
         " return was missed because all instances were in use: try .maxactive(N)",
         " returns were missed because all instances were in use: try .maxactive(N)"},
        {counts.skipped_kprobe, " hit was missed inside another kprobe",
         " hits were missed inside another kprobe"},
        {counts.failed_sites, " probe could not be attached", " probes could not be attached"},
    };
    std::vector<std::string> lines;
    for (const auto& row : rows)
        if (row.count)
            lines.push_back(std::to_string(row.count).append(row.count == 1 ? row.one : row.many));
    return lines;
}

} // namespace djstap
