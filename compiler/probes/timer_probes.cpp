// SPDX-License-Identifier: GPL-2.0-or-later
// timer.s(N), timer.ms(N) … with .randomize(N).
#include "probes/families.h"

#include <array>

namespace djstap {

namespace {

struct Unit {
    std::string_view name;
    uint64_t ns; // 0: by frequency or by the kernel's tick
};

constexpr std::array units{Unit{"s", 1'000'000'000},
                           Unit{"sec", 1'000'000'000},
                           Unit{"ms", 1'000'000},
                           Unit{"msec", 1'000'000},
                           Unit{"us", 1'000},
                           Unit{"usec", 1'000},
                           Unit{"ns", 1},
                           Unit{"nsec", 1},
                           Unit{"hz", 0},
                           Unit{"jiffies", 0}};

// More frequent interrupts leave no time for anything else.
constexpr uint64_t shortest_ns = 10'000;

// Returns jiffies per second; 0 after reporting that they are unknown.
uint64_t ticks_a_second(const ast::ProbePoint& point, Resolver& resolver) {
    if (resolver.options.hz)
        return resolver.options.hz;
    const ImageView* kernel = need_kernel(point, resolver);
    return kernel ? ticks_of(kernel->image().kernel()) : 0;
}

bool resolve_timer(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out) {
    const ast::PointComponent& amount = point.components[1];
    const ast::PointComponent* random = find_component(point, "randomize");
    uint64_t unit_ns = 0;
    for (const Unit& unit : units)
        if (unit.name == amount.name)
            unit_ns = unit.ns;
    if (amount.name == "jiffies") {
        const uint64_t hz = ticks_a_second(point, resolver);
        if (!hz)
            return false;
        unit_ns = 1'000'000'000 / hz;
    }
    bool too_long = unit_ns > 0 && amount.number > static_cast<int64_t>(INT64_MAX / 2 / unit_ns);
    if (amount.number <= 0 || too_long) {
        resolver.diagnostics.report(DiagnosticKind::TimerPeriod, amount.argument_range,
                                    {std::to_string(amount.number)});
        return false;
    }
    auto number = static_cast<uint64_t>(amount.number);
    Candidate candidate;
    candidate.kind = HandlerKind::Timer;
    TimerPeriod period;
    period.ns = amount.name == "hz" ? 1'000'000'000 / number : number * unit_ns;
    if (period.ns < shortest_ns) {
        resolver.diagnostics
            .report(DiagnosticKind::TimerTooShort, amount.argument_range,
                    {std::to_string(period.ns)})
            .hint("the shortest period is " + std::to_string(shortest_ns / 1000) + " microseconds");
        return false;
    }
    if (random) {
        if (random->number < 0 || random->number >= amount.number) {
            resolver.diagnostics
                .report(DiagnosticKind::TimerRandomize, random->argument_range,
                        {std::to_string(random->number)})
                .hint("it must be smaller than the period itself");
            return false;
        }
        period.random_ns = static_cast<uint64_t>(random->number) * unit_ns;
    }
    candidate.payload = period;
    candidate.site.mechanism = Mechanism::Timer;
    candidate.site.reason = "high-resolution timer";
    candidate.site.point = ast::to_string(point);
    out.push_back(std::move(candidate));
    return true;
}

} // namespace

const std::vector<ProbeForms> timer_family{
    {"timer.ms(NUMBER)[.randomize(NUMBER)]", resolve_timer, PointNeedsNoKernel | PointIsPeriodic},
    {"timer.{s|sec|msec|us|usec|ns|nsec|jiffies}(NUMBER)[.randomize(NUMBER)]", resolve_timer,
     PointNeedsNoKernel},
    {"timer.hz(NUMBER)", resolve_timer, PointNeedsNoKernel},
};

} // namespace djstap
