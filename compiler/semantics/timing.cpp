// SPDX-License-Identifier: GPL-2.0-or-later
// -t and --monitor: hits of each probe and the cycles that its handler takes, in a statistic for
// each, and what is printed of them; what is printed regularly of all globals.
#include "include/record.h"
#include "semantics/format.h"
#include "semantics/passes.h"
#include "semantics/shown.h"

#include <algorithm>
#include <limits>

namespace djstap::semantics {

using namespace program;

namespace {

// The points as the script has them.
std::string title_of(const Probe& probe) {
    std::string title;
    for (const ast::ProbePoint* point : probe.points)
        title += (title.empty() ? "" : ", ") + ast::to_string(*point);
    return title;
}

// What the script itself wrote for its points: their aliases.
std::string origin_of(const Probe& probe) {
    std::string origin;
    for (size_t i = 0; i < probe.points.size(); i++) {
        const auto& aliases = probe.alias_names[i];
        const std::string name =
            aliases.empty() ? ast::to_string(*probe.points[i]) : aliases.front();
        origin += (origin.empty() ? "" : ", ") + name;
    }
    return origin;
}

// A line with the probe's statistic, or with that of an empty one, which has no minimum.
StatementPtr line_of_probe(const Probe& probe, int64_t number, GlobalPrinter& printer, bool empty) {
    auto line = printer.begin_print(probe.range);
    line->shows = DJS_SHOWS_PROBE;
    line->keys = 2;
    GlobalPrinter::convert(*line, 'd', number_of(number, probe.range));
    append_literal(line->format, " ");
    GlobalPrinter::convert(*line, 's', text_of(title_of(probe), probe.range));
    for (const ast::StatOp op : {ast::StatOp::Count, ast::StatOp::Min, ast::StatOp::Max,
                                 ast::StatOp::Sum, ast::StatOp::Avg}) {
        append_literal(line->format, " ");
        GlobalPrinter::convert(
            *line, 'd', !empty ? printer.read(*probe.timing, {}, op) : number_of(0, probe.range));
    }
    return GlobalPrinter::evaluate(std::move(line));
}

} // namespace

void time_probes(Program& program, GlobalUses& uses) {
    for (auto& probe : program.probes) {
        if (probe->synthetic)
            continue;
        auto timing = std::make_unique<Global>();
        timing->name = "probe " + std::to_string(program.globals.size());
        timing->range = probe->range;
        timing->value = Type::Statistic;
        uses[timing.get()].written = uses[timing.get()].added = true;
        probe->timing = timing.get();
        program.globals.push_back(std::move(timing));
    }
}

void report_times(Program& program, const PointShapes& points, const SourceManager& sources) {
    std::unique_ptr<Probe> report;
    for (const auto& probe : program.probes) {
        if (!probe->timing)
            continue;
        if (!report) {
            report = synthetic_probe(probe->range);
            auto heading = GlobalPrinter(*report).begin_print(probe->range);
            append_literal(heading->format, "----- probe hit report: \n");
            report->body->statements.push_back(GlobalPrinter::evaluate(std::move(heading)));
        }
        GlobalPrinter printer(*report);
        const Global& timing = *probe->timing;
        auto line = printer.begin_print(probe->range);
        append_literal(line->format,
                       title_of(*probe) + ", (" + sources.where(probe->range) + "), hits: ");
        GlobalPrinter::convert(*line, 'd', printer.read(timing, {}, ast::StatOp::Count));
        append_literal(line->format, ", cycles: ");
        GlobalPrinter::convert(*line, 'd', printer.read(timing, {}, ast::StatOp::Min));
        append_literal(line->format, "min/");
        GlobalPrinter::convert(*line, 'd', printer.read(timing, {}, ast::StatOp::Avg));
        append_literal(line->format, "avg/");
        GlobalPrinter::convert(*line, 'd', printer.read(timing, {}, ast::StatOp::Max));
        append_literal(line->format, "max, from: " + origin_of(*probe) + "\n");
        report->body->statements.push_back(
            printer.unless_empty(timing, GlobalPrinter::evaluate(std::move(line))));
    }
    if (report)
        add_last_probe(program, std::move(report), points);
}

void show_regularly(Program& program, const GlobalUses& uses, const SemanticsOptions& options,
                    const SourceManager& sources) {
    if (program.probes.empty())
        return;
    constexpr int64_t monitored_elements = 1000;
    constexpr int64_t statements_an_element = 4; // the loop and its body, rounded up
    const int64_t interval_ms = options.shown_every_ms;
    const SourceRange range = program.probes.front()->range;
    auto snapshot = synthetic_probe(range);
    GlobalPrinter printer(*snapshot, true);
    auto& statements = snapshot->body->statements;
    const auto mark = [&](const char* shows, int64_t value) {
        auto print = printer.begin_print(range);
        print->shows = shows;
        GlobalPrinter::convert(*print, 'd', number_of(value, range));
        statements.push_back(GlobalPrinter::evaluate(std::move(print)));
    };
    mark(DJS_SHOWS_BEGIN, interval_ms);
    for (const auto& probe : program.probes) {
        if (!probe->timing || !options.shown_probes)
            continue;
        probe->has_switch = true;
        const auto number = static_cast<int64_t>(&probe - program.probes.data());
        statements.push_back(printer.unless_empty(*probe->timing,
                                                  line_of_probe(*probe, number, printer, false),
                                                  line_of_probe(*probe, number, printer, true)));
    }
    for (const auto& global : program.globals) {
        const bool is_timing =
            std::any_of(program.probes.begin(), program.probes.end(),
                        [&](const auto& probe) { return probe->timing == global.get(); });
        if (is_timing)
            continue;
        const bool of_library =
            global->range.valid() && sources.file(global->range.file).is_library;
        global->is_published = options.shown_whole && !of_library;
        if (global->is_published) {
            global->description = comment_of(*global, sources);
            const auto use = uses.find(global.get());
            global->adds_up =
                global->value == Type::Long && (use == uses.end() || use->second.only_lone_updates);
            statements.push_back(printer.show_whole(*global));
            // Its number of elements is bounded, but not known here.
            if (global->is_array())
                snapshot->most_statements = std::numeric_limits<int32_t>::max();
        } else if (options.shown_probes) {
            statements.push_back(printer.show(*global, monitored_elements));
            if (global->is_array())
                snapshot->most_statements += monitored_elements * statements_an_element;
        }
    }
    snapshot->most_statements +=
        static_cast<int64_t>(statements.size() + 1) * statements_an_element;
    mark(DJS_SHOWS_END, interval_ms);
    add_point(program, *snapshot, options.points, PointIsPeriodic, interval_ms);
    // What was counted since the last one is shown when the session ends.
    if (options.shown_whole)
        add_point(program, *snapshot, options.points, PointEndsSession,
                  std::numeric_limits<int32_t>::max());
    add_probe(program, std::move(snapshot));
}

} // namespace djstap::semantics
