// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/outputs.h"

#include "diagnostics/plain_text.h"

#include <algorithm>
#include <map>
#include <utility>

namespace djstap {

namespace {

constexpr std::string_view ctf_files[] = {"stream", "metadata"};

constexpr OutputKind kinds[] = {
#define OUTPUT(name, title, unit, ...) {#name, title, unit, make_##name##_output, __VA_ARGS__},
#include "session/outputs.def"
#undef OUTPUT
};

} // namespace

std::span<const OutputKind> output_kinds() {
    return kinds;
}

std::vector<std::string> output_names() {
    std::vector<std::string> names;
    for (const OutputKind& kind : kinds)
        names.emplace_back(kind.name);
    return names;
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
    line(without_controls(text));
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

namespace {

// Breaks a text into lines that begin with `indent` spaces; `first` is already written.
std::string wrapped(const std::string& text, size_t indent, size_t column) {
    constexpr size_t width = 96;
    std::string out;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view line = std::string_view(text).substr(begin, end - begin);
        begin = end + 1;
        const bool as_it_is = line.starts_with("    ");
        while (!line.empty()) {
            const size_t stop = as_it_is ? line.size() : std::min(line.find(' '), line.size());
            const std::string_view word = line.substr(0, stop);
            if (column > indent && column + word.size() > width) {
                while (out.ends_with(' '))
                    out.pop_back();
                out += "\n" + std::string(indent, ' ');
                column = indent;
            }
            out += word;
            out += " ";
            column += word.size() + 1;
            line.remove_prefix(std::min(stop + 1, line.size()));
        }
        while (out.ends_with(' '))
            out.pop_back();
        if (begin < text.size()) {
            out += "\n";
            if (text[begin] != '\n')
                out += std::string(indent, ' ');
            column = indent;
        }
    }
    return out;
}

std::string title_of(const Documentation& name) {
    return name.name + (name.kind == DocumentedKind::Function ? "()" : "");
}

// Returns a word with its article, at the beginning of a sentence.
std::string with_article(std::string_view word) {
    const bool is_vowel = std::string_view("aeiou").find(word.front()) != std::string_view::npos;
    return (is_vowel ? "An " : "A ") + std::string(word);
}

} // namespace

void Output::documented(const std::vector<Documentation>& names, bool brief) {
    constexpr size_t widest = 32;
    size_t width = 0;
    for (const Documentation& name : names)
        if (const size_t own = title_of(name).size(); own <= widest)
            width = std::max(width, own);
    bool first = true;
    for (const Documentation& name : names) {
        if (brief) {
            const std::string title = title_of(name);
            line(title + std::string(title.size() < width ? width - title.size() : 0, ' ') + "  " +
                 name.summary);
            continue;
        }
        if (!std::exchange(first, false))
            line("");
        for (const std::string& signature : name.signatures)
            line(signature);
        if (name.kind == DocumentedKind::ProbePoint)
            line("probe " + name.name);
        for (const std::string& point : name.points)
            line((name.kind == DocumentedKind::Alias ? "    = " : "    ") + point);
        if (!name.text.empty())
            line("\n  " + wrapped(name.text, 2, 2));
        if (!name.variables.empty())
            line("");
        size_t column = 0;
        const auto typed = [](const Documentation::Variable& variable) {
            return variable.name + (variable.type.empty() ? "" : ":" + variable.type);
        };
        for (const Documentation::Variable& variable : name.variables)
            column = std::max(column, typed(variable).size());
        for (const Documentation::Variable& variable : name.variables) {
            const std::string own = typed(variable);
            line("  " + own +
                 (variable.text.empty() ? ""
                                        : std::string(column + 2 - own.size(), ' ') +
                                              wrapped(variable.text, column + 4, column + 4)));
        }
        line(name.file.empty() ? "\n  " + with_article(name_of(name.kind)) + " of the language."
                               : "\n  " + name.file + ":" + std::to_string(name.line));
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
        {counts.missed_calls,
         " return of a program was missed: there were too many calls at a time to keep the values "
         "of their entries",
         " returns of programs were missed: there were too many calls at a time to keep the values "
         "of their entries"},
        {counts.not_followed,
         " thread or process of a program was not followed: there were too many at a time (for "
         "perf "
         "events, try a larger MAXPERFTHREADS)",
         " threads or processes of a program were not followed: there were too many at a time (for "
         "perf events, try a larger MAXPERFTHREADS)"},
        {counts.deep_hits,
         " hit was not handled: the process of -c or -x was not found among the 256 nearest "
         "ancestors of its process, which has more",
         " hits were not handled: the process of -c or -x was not found among the 256 nearest "
         "ancestors of their processes, which have more"},
        {counts.short_stacks,
         " stack of a program is incomplete: its outer callers could not be found",
         " stacks of programs are incomplete: their outer callers could not be found"},
        {counts.unread_programs,
         " file of a program has no usable unwind information, or there was no memory for it",
         " files of programs have no usable unwind information, or there was no memory for it"},
        {counts.failed_sites, " probe could not be attached", " probes could not be attached"},
    };
    std::vector<std::string> lines;
    for (const auto& row : rows)
        if (row.count)
            lines.push_back(std::to_string(row.count).append(row.count == 1 ? row.one : row.many));
    return lines;
}

std::optional<std::string> describe_missed(const std::vector<AttachedProbe>& probes) {
    constexpr size_t most_shown = 3;
    // Several probes may be at one point. Those of other mechanisms miss nothing.
    std::map<std::string_view, uint64_t> at;
    for (const AttachedProbe& probe : probes)
        if (probe.mechanism.starts_with("kprobe") || probe.mechanism.starts_with("kretprobe"))
            at[probe.point] += probe.missed;
    if (at.size() < 2)
        return std::nullopt;
    std::vector<std::pair<std::string_view, uint64_t>> sorted(at.begin(), at.end());
    std::erase_if(sorted, [](const auto& point) { return point.second == 0; });
    if (sorted.empty())
        return std::nullopt;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text = "missed";
    for (size_t i = 0; i < std::min(sorted.size(), most_shown); i++)
        text.append(i ? ", " : " at ")
            .append(sorted[i].first)
            .append(": ")
            .append(std::to_string(sorted[i].second));
    if (const size_t more = sorted.size() - std::min(sorted.size(), most_shown))
        text.append(", and at ")
            .append(std::to_string(more))
            .append(more == 1 ? " more point" : " more points");
    return text;
}

void report_damaged_buffer(const std::string& owner, Output& output) {
    output.error("the buffer of " + owner + " is damaged; the rest of it is not read", "");
}

void report_damaged_records(uint64_t count, Output& output) {
    if (count)
        output.warning(std::to_string(count) + (count == 1 ? " damaged record was dropped"
                                                           : " damaged records were dropped"));
}

} // namespace djstap
