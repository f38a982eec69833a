// SPDX-License-Identifier: GPL-2.0-or-later
// begin, end, error, never: called by the session itself.
#include "probes/families.h"

#include <algorithm>
#include <limits>

namespace djstap {

namespace {

bool session_probe(const ast::ProbePoint& point, HandlerKind kind, std::vector<Candidate>& out) {
    Candidate candidate;
    candidate.kind = kind;
    candidate.payload = SessionOrder{std::clamp<int64_t>(point.components[0].number,
                                                         std::numeric_limits<int32_t>::min(),
                                                         std::numeric_limits<int32_t>::max())};
    candidate.site.mechanism = Mechanism::None;
    candidate.site.reason = "called by the session";
    candidate.site.point = ast::to_string(point);
    out.push_back(std::move(candidate));
    return true;
}

bool resolve_begin(const ast::ProbePoint& point, Resolver&, std::vector<Candidate>& out) {
    return session_probe(point, HandlerKind::Begin, out);
}

bool resolve_end(const ast::ProbePoint& point, Resolver&, std::vector<Candidate>& out) {
    return session_probe(point, HandlerKind::End, out);
}

bool resolve_error(const ast::ProbePoint& point, Resolver&, std::vector<Candidate>& out) {
    return session_probe(point, HandlerKind::Error, out);
}

// Matches, but is never hit: for probes whose bodies are only checked.
bool resolve_never(const ast::ProbePoint&, Resolver&, std::vector<Candidate>&) {
    return true;
}

} // namespace

const std::vector<ProbeForms> session_family{
    {"begin[(NUMBER)]", resolve_begin, PointNeedsNoKernel},
    {"oneshot", resolve_begin, PointNeedsNoKernel},
    {"end[(NUMBER)]", resolve_end, PointNeedsNoKernel | PointEndsSession},
    {"error[(NUMBER)]", resolve_error, PointNeedsNoKernel | PointEndsFailed},
    {"never", resolve_never, PointNeedsNoKernel | PointIsNeverHit},
};

} // namespace djstap
