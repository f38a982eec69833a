// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the addresses of source lines.
#include "debuginfo/dwarf_info.h"
#include "debuginfo/pattern.h"
#include "image/glob.h"

#include <algorithm>
#include <climits>
#include <map>
#include <set>
#include <unordered_map>

#include <dwarf.h>

namespace djstap {

namespace {

using LineKind = FunctionPattern::LineKind;

struct Row {
    uint64_t address = 0;
    bool is_stmt = false;
};

// One instance of a function's code: out of line, or inline.
struct Body {
    std::string_view name;
    std::string_view file;
    uint32_t file_number = 0;
    uint32_t declared = 0;     // line
    uint32_t end = UINT32_MAX; // the line where the next function of its file is declared
    uint32_t die = 0;
    uint64_t entry = 0; // of an out-of-line instance
    bool inlined = false;
    std::map<uint32_t, Row> rows; // the best row of each line of its file
};

bool better(const Row& candidate, const Row& known) {
    if (candidate.is_stmt != known.is_stmt)
        return candidate.is_stmt;
    return candidate.address < known.address;
}

// Reads a body's rows from its unit's line table, which libdw keeps sorted by address.
void read_rows(Dwarf* dwarf, Body& body) {
    Dwarf_Die die, unit;
    Dwarf_Lines* lines = nullptr;
    size_t count = 0;
    if (!dwarf_offdie(dwarf, body.die, &die) || !dwarf_diecu(&die, &unit, nullptr, nullptr) ||
        dwarf_getsrclines(&unit, &lines, &count) != 0)
        return;
    Dwarf_Attribute attribute;
    const char* folder = dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &attribute));
    const std::string root = source_root(dwarf);
    std::unordered_map<const char*, bool> files;
    auto address_of = [&](size_t i) {
        Dwarf_Addr address = 0;
        dwarf_lineaddr(dwarf_onesrcline(lines, i), &address);
        return address;
    };
    Dwarf_Addr base = 0, begin = 0, end = 0;
    ptrdiff_t offset = 0;
    while ((offset = dwarf_ranges(&die, offset, &base, &begin, &end)) > 0) {
        size_t low = 0, high = count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (address_of(middle) < begin)
                low = middle + 1;
            else
                high = middle;
        }
        for (size_t i = low; i < count; i++) {
            Dwarf_Line* line = dwarf_onesrcline(lines, i);
            Dwarf_Addr address = 0;
            int number = 0;
            bool is_stmt = false, ends = false;
            dwarf_lineaddr(line, &address);
            if (address >= end)
                break;
            dwarf_lineno(line, &number);
            dwarf_linebeginstatement(line, &is_stmt);
            dwarf_lineendsequence(line, &ends);
            const char* source = dwarf_linesrc(line, nullptr, nullptr);
            if (ends || number <= 0 || !source)
                continue;
            auto [known, added] = files.emplace(source, false);
            if (added)
                known->second = normal_source_path(source, folder ? folder : "", root) == body.file;
            if (!known->second)
                continue;
            Row row{address, is_stmt};
            auto [at, first] = body.rows.emplace(number, row);
            if (!first && better(row, at->second))
                at->second = row;
        }
    }
}

// Returns the distance of lines; at equal distances, a later line is nearer than an earlier one.
uint64_t distance(uint32_t from, uint32_t to) {
    return to >= from ? uint64_t(to - from) * 2 : uint64_t(from - to) * 2 + 1;
}

uint32_t line_wanted(const FunctionPattern& pattern, const Body& body) {
    return pattern.line_kind == LineKind::Relative ? body.declared + pattern.line : pattern.line;
}

bool in_extent(const Body& body, uint32_t line) {
    return line >= body.declared && line < body.end;
}

} // namespace

Result<StatementResult> DwarfInfo::statements(const FunctionPattern& pattern, bool nearest) const {
    Dwarf* dwarf = dwarf_.get();
    if (!dwarf)
        return Failure{dwarf_.path() + ": cannot be read", ""};
    std::vector<Body> bodies;
    std::vector<const FunctionRecord*> records = matching_records(pattern);
    if (records.empty())
        records = aliased_records(pattern);
    for (const FunctionRecord* record : records) {
        Body body;
        body.name = index_.text(record->name);
        body.file = index_.text(record->file);
        body.file_number = record->file;
        body.declared = record->line;
        body.die = record->die;
        body.entry = record->entry;
        bodies.push_back(std::move(body));
    }
    bool wild = has_wildcard(pattern.function);
    for (const InlineRecord* record : matching_inlines(pattern)) {
        for (const InstanceRecord& instance : index_.instances(*record)) {
            Body body;
            body.name = index_.text(record->name);
            body.file = index_.text(record->file);
            body.file_number = record->file;
            body.declared = record->line;
            body.die = instance.die;
            body.inlined = true;
            bodies.push_back(std::move(body));
        }
    }
    if (bodies.empty()) {
        std::string hint;
        FunctionPattern anywhere{pattern.function, "", LineKind::None, 0, 0};
        auto elsewhere = pattern.file.empty() ? std::vector<const FunctionRecord*>()
                                              : matching_records(anywhere);
        if (!elsewhere.empty())
            hint.append("it is in ").append(index_.text(elsewhere.front()->file));
        else if (auto similar = similar_functions(pattern.function); !similar.empty())
            hint.append("did you mean '").append(similar.front()).append("'?");
        std::string message = "no function '";
        message.append(pattern.function).append("'");
        if (!pattern.file.empty())
            message.append(" in a file '").append(pattern.file).append("'");
        message.append(" has code in ").append(image_.title());
        return Failure{message, hint};
    }
    // A function's lines end where the next function of its file is declared.
    std::map<uint32_t, std::set<uint32_t>> declared;
    for (const Body& body : bodies)
        declared[body.file_number];
    auto note = [&](uint32_t file, uint32_t line) {
        if (auto found = declared.find(file); found != declared.end())
            found->second.insert(line);
    };
    for (const FunctionRecord& record : index_.functions())
        note(record.file, record.line);
    for (const InlineRecord& record : index_.inlines())
        note(record.file, record.line);
    for (Body& body : bodies) {
        const std::set<uint32_t>& lines = declared[body.file_number];
        auto next = lines.upper_bound(body.declared);
        body.end = next == lines.end() ? UINT32_MAX : *next;
        // With wildcards, most bodies have nothing to do with the line.
        bool skip = wild && pattern.line_kind == LineKind::Absolute && !nearest &&
                    !in_extent(body, pattern.line);
        skip = skip || (pattern.line_kind == LineKind::None && !body.inlined);
        if (!skip)
            read_rows(dwarf, body);
    }

    StatementResult result;
    std::set<uint64_t> taken;
    auto take = [&](const Body& body, uint32_t line, const Row& row) {
        if (!taken.insert(row.address).second)
            return;
        StatementAddress statement;
        statement.address = row.address;
        statement.file = body.file;
        statement.line = line;
        statement.is_stmt = row.is_stmt;
        statement.inlined = body.inlined;
        statement.function = body.name;
        set_function(statement);
        result.addresses.push_back(std::move(statement));
    };
    auto take_line = [&](uint32_t shift_from, uint32_t line) {
        for (const Body& body : bodies) {
            uint32_t wanted =
                pattern.line_kind == LineKind::Relative ? body.declared + shift_from : line;
            auto row = body.rows.find(wanted);
            if (row != body.rows.end() && (!wild || in_extent(body, wanted)))
                take(body, wanted, row->second);
        }
    };
    switch (pattern.line_kind) {
    case LineKind::None:
        for (const Body& body : bodies) {
            if (!body.inlined)
                take(body, body.declared, {body.entry, true});
            else if (!body.rows.empty()) {
                auto lowest =
                    std::min_element(body.rows.begin(), body.rows.end(), [](auto& a, auto& b) {
                        return a.second.address < b.second.address;
                    });
                take(body, lowest->first, lowest->second);
            }
        }
        break;
    case LineKind::All:
    case LineKind::Range:
        for (const Body& body : bodies) {
            for (const auto& [line, row] : body.rows) {
                bool wanted = pattern.line_kind == LineKind::All
                                  ? in_extent(body, line)
                                  : line >= pattern.line && line <= pattern.last_line &&
                                        (!wild || in_extent(body, line));
                if (wanted)
                    take(body, line, row);
            }
        }
        break;
    case LineKind::Absolute:
    case LineKind::Relative:
        take_line(pattern.line, pattern.line);
        break;
    }
    bool one_line =
        pattern.line_kind == LineKind::Absolute || pattern.line_kind == LineKind::Relative;
    if (result.addresses.empty() && one_line) {
        // Relative to the first body: instances of one function share their declaration.
        std::optional<uint32_t> best;
        uint32_t wanted = line_wanted(pattern, bodies.front());
        uint32_t before = 0, after = UINT32_MAX;
        for (const Body& body : bodies) {
            for (const auto& [line, row] : body.rows) {
                if (!in_extent(body, line))
                    continue;
                if (!best || distance(wanted, line) < distance(wanted, *best))
                    best = line;
                if (line < wanted)
                    before = std::max(before, line);
                else
                    after = std::min(after, line);
            }
        }
        if (before)
            result.nearest_lines.push_back(before);
        if (after != UINT32_MAX)
            result.nearest_lines.push_back(after);
        if (nearest && best)
            take_line(*best - bodies.front().declared, *best);
    }
    std::sort(
        result.addresses.begin(), result.addresses.end(),
        [](const StatementAddress& a, const StatementAddress& b) { return a.address < b.address; });
    return result;
}

} // namespace djstap
