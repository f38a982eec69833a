// SPDX-License-Identifier: GPL-2.0-or-later
// perf.type(T).config(C), timer.profile: an event on each CPU, or on each thread of a program.
#include "probes/families.h"

#include "include/script.h"
#include "semantics/program.h"
#include "system/process.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace djstap {

namespace {

// From the kernel's user API (linux/perf_event.h).
constexpr uint64_t type_software = 1, software_cpu_clock = 0;
constexpr int64_t default_sample = 1'000'000; // SystemTap's

Candidate make_candidate(const ast::ProbePoint& point, const PerfEvent& event) {
    Candidate candidate;
    candidate.kind = HandlerKind::Timer;
    candidate.payload = event;
    candidate.site.mechanism = Mechanism::Perf;
    candidate.site.reason = event.how & DJS_PERF_OF_PROGRAM ? "an event on each thread of a program"
                            : event.how & DJS_PERF_OF_TARGET
                                ? "an event on each thread of the process of -c or -x"
                                : "an event on each CPU";
    candidate.site.point = ast::to_string(point);
    return candidate;
}

PerfEvent event_of(const ast::ProbePoint& point, uint64_t how, int64_t rate) {
    return {.type = static_cast<uint64_t>(point.components[1].number),
            .config = static_cast<uint64_t>(point.components[2].number),
            .how = how,
            .rate = static_cast<uint64_t>(rate),
            .program = {}};
}

// The CPU clock, at the rate of the kernel's tick unless a rate is given.
bool resolve_profile(const ast::ProbePoint& point, Resolver& resolver,
                     std::vector<Candidate>& out) {
    const ImageView* kernel = need_kernel(point, resolver);
    if (!kernel)
        return false;
    auto hz = static_cast<int64_t>(ticks_of(kernel->image().kernel()));
    if (const ast::PointComponent* wanted = find_component(point, "hz")) {
        hz = wanted->number;
        if (hz < 1 || hz > 100'000) {
            resolver.diagnostics
                .report(DiagnosticKind::TimerPeriod, wanted->argument_range, {std::to_string(hz)})
                .hint("the rate is a number of hits a second, from 1 to 100000");
            return false;
        }
    }
    out.push_back(make_candidate(point, {.type = type_software,
                                         .config = software_cpu_clock,
                                         .how = DJS_PERF_BY_COUNT,
                                         .rate = 1'000'000'000 / static_cast<uint64_t>(hz),
                                         .program = {}}));
    return true;
}

// Returns the path of the program that .process("…") names: of a name as the shell looks it up, of
// a relative path from the current folder.
Result<std::string> program_of_event(const std::string& name) {
    if (name.empty())
        return Failure{"its name is empty",
                       "without an argument, .process is the process of -c or -x"};
    if (name.starts_with('/'))
        return name;
    if (name.find('/') == std::string::npos) {
        const std::string found = find_program(name);
        if (found.empty())
            return Failure{"no folder of $PATH contains such a program", ""};
        return found;
    }
    std::error_code error;
    const std::string found = std::filesystem::canonical(name, error).string();
    if (error)
        return Failure{"there is no such file", "a relative path begins at the current folder"};
    return found;
}

// Limits the event to the threads of what .process or .process("PATH") names. The module looks the
// file up when it is loaded, which may be on another system.
bool select_program(const ast::ProbePoint& point, Resolver& resolver, PerfEvent& event) {
    const ast::PointComponent* process = find_component(point, "process");
    if (!process)
        return true;
    if (process->argument == ast::PointComponent::Argument::None) {
        event.how |= DJS_PERF_OF_TARGET;
        return true;
    }
    event.how |= DJS_PERF_OF_PROGRAM;
    auto path = program_of_event(process->string);
    if (!path) {
        resolver.diagnostics
            .report(DiagnosticKind::CannotProbe, process->argument_range,
                    {process->string, path.failure().message})
            .hint(path.failure().hint);
        return false;
    }
    event.program = *path;
    std::error_code error;
    if (!std::filesystem::exists(event.program, error))
        resolver.diagnostics
            .report(DiagnosticKind::ProgramMissing, process->argument_range, {event.program})
            .hint("it has to exist where the module is loaded");
    return true;
}

bool resolve_perf(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out) {
    const ast::PointComponent* frequency = find_component(point, "hz");
    const ast::PointComponent* sample = find_component(point, "sample");
    const ast::PointComponent* given = frequency ? frequency : sample;
    const int64_t period = given ? given->number : default_sample;
    if (period < 1) {
        resolver.diagnostics
            .report(DiagnosticKind::TimerPeriod, given->argument_range, {std::to_string(period)})
            .hint(frequency ? "the rate is a number of hits a second, at least 1"
                            : "the period is a number of events, at least 1");
        return false;
    }
    PerfEvent event =
        event_of(point, frequency ? DJS_PERF_BY_FREQUENCY : DJS_PERF_BY_COUNT, period);
    if (!select_program(point, resolver, event))
        return false;
    out.push_back(make_candidate(point, event));
    return true;
}

// Counts for @perf("NAME"): on each CPU, or in each thread of a program.
bool resolve_perf_counter(const ast::ProbePoint& point, Resolver& resolver,
                          std::vector<Candidate>& out) {
    const ast::PointComponent& name = point.components.back();
    const auto known = std::find(resolver.counters.begin(), resolver.counters.end(), name.string);
    const auto number = static_cast<uint64_t>(known - resolver.counters.begin());
    if (number >= DJS_MOST_PERF_COUNTERS) {
        resolver.diagnostics.report(DiagnosticKind::TooManyPerfCounters, name.argument_range,
                                    {std::to_string(DJS_MOST_PERF_COUNTERS)});
        return false;
    }
    PerfEvent event = event_of(point, DJS_PERF_COUNTER + number, 0);
    if (!select_program(point, resolver, event))
        return false;
    out.push_back(make_candidate(point, event));
    return true;
}

void check_counter(const program::Probe& probe, const ast::PointComponent& counter,
                   Diagnostics& diagnostics) {
    if (counter.string.empty())
        diagnostics.report(DiagnosticKind::PerfCounterUnnamed, counter.argument_range)
            .hint("@perf(\"NAME\") reads the counter of this name");
    else if (!probe.body->statements.empty())
        diagnostics.report(DiagnosticKind::PerfCounterBody, probe.body->range)
            .hint("read the counter with @perf(\"" + counter.string +
                  "\") in another probe; without .counter, the handler runs at events");
}

} // namespace

const std::vector<ProbeForms> perf_family{
    {"timer.profile[.tick|.freq.hz(NUMBER)]", resolve_profile, PointTellsOfTask | PointInterrupts},
    {"perf.type(NUMBER).config(NUMBER)[.sample(NUMBER)|.hz(NUMBER)][.process[(STRING)]]",
     resolve_perf, PointTellsOfTask | PointInterrupts},
    {"perf.type(NUMBER).config(NUMBER)[.process[(STRING)]].counter(STRING)", resolve_perf_counter,
     PointTellsOfTask | PointIsCounter},
};

std::vector<std::string> perf_counters(const program::Program& program, Diagnostics& diagnostics) {
    std::map<std::string, const ast::ProbePoint*> points;
    for (const auto& probe : program.probes) {
        const ast::PointComponent* counter = nullptr;
        for (const ast::ProbePoint* point : probe->points) {
            const ast::PointComponent* here = find_component(*point, "counter");
            if (!here)
                continue;
            counter = here;
            const auto [first, is_first] = points.try_emplace(here->string, point);
            // Aliases of two libraries may stand for the same event.
            if (!is_first && ast::to_string(*first->second) != ast::to_string(*point))
                diagnostics
                    .report(DiagnosticKind::PerfCounterTwice, here->argument_range, {here->string})
                    .note(find_component(*first->second, "counter")->argument_range,
                          "the other one");
        }
        if (counter)
            check_counter(*probe, *counter, diagnostics);
    }
    std::vector<std::string> names;
    for (const auto& [name, point] : points)
        names.push_back(name);
    return names;
}

} // namespace djstap
