// SPDX-License-Identifier: GPL-2.0-or-later
// metronome.bpm(N): N hits per minute.
#include "probes/families.h"

namespace djstap {

namespace {

bool resolve_metronome(const ast::ProbePoint& point, Resolver& resolver,
                       std::vector<Candidate>& out) {
    const ast::PointComponent& rate = point.components[1];
    if (rate.number <= 0 || rate.number > 60'000) {
        resolver.diagnostics
            .report(DiagnosticKind::CannotProbe, rate.argument_range,
                    {std::to_string(rate.number), "it is not a rate"})
            .hint("a metronome has between 1 and 60000 beats per minute");
        return false;
    }
    Candidate candidate;
    candidate.kind = HandlerKind::Timer;
    candidate.payload = TimerPeriod{.ns = 60'000'000'000 / static_cast<uint64_t>(rate.number)};
    candidate.site.mechanism = Mechanism::Timer;
    candidate.site.reason = "high-resolution timer";
    candidate.site.point = ast::to_string(point);
    out.push_back(std::move(candidate));
    return true;
}

} // namespace

const std::vector<ProbeForms> metronome_family{
    {"metronome.bpm(NUMBER)", resolve_metronome, PointNeedsNoKernel},
};

} // namespace djstap
