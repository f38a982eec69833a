// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/glob.h"
#include "probes/families.h"
#include "probes/in_process.h"
#include "probes/jump_safety.h"
#include "probes/meanings.h"
#include "probes/target_values.h"

#include <algorithm>
#include <limits>

namespace djstap {

namespace {

struct Listing {
    const ListingOptions& wanted;
    Images& images;
    Diagnostics& diagnostics;
    JumpVerdicts jumps;
    std::vector<ProbeListing> out;

    // `quiet`: that nothing matches is not an error.
    bool family(const ast::ProbePoint& point, bool quiet);
};

CodeFile code_file(const ImageView* view) {
    if (!view || view->image().kind() == ImageKind::Kernel)
        return {};
    return {view->image().kind(), view->image().file()};
}

bool Listing::family(const ast::ProbePoint& point, bool quiet) {
    ProbeOptions options;
    options.in_process = images.programs_alone();
    options.max_kprobes = std::numeric_limits<int64_t>::max();
    Resolver resolver{images, options, diagnostics, wanted.variables, quiet};
    const ProbeForms* forms = find_forms(point, resolver);
    std::vector<Candidate> candidates;
    if (!forms || !forms->resolve(point, resolver, candidates) ||
        !settle_in_process(point, resolver, candidates))
        return false;
    if (forms->traits & PointIsNeverHit)
        out.push_back({ast::to_string(point), {}, Mechanism::None, "", ""});
    auto types_of = [&](const Candidate& candidate) -> const DebugInfo* {
        if (!candidate.image && !images.opened_kernel())
            return nullptr;
        auto view = candidate.image ? Result(candidate.image) : images.kernel_view();
        auto info = view ? (*view)->debuginfo() : view.failure();
        return info ? *info : nullptr;
    };
    out.reserve(out.size() + candidates.size());
    for (Candidate& candidate : candidates) {
        ProbeListing& listing = out.emplace_back();
        if (const DebugInfo* info = wanted.variables ? types_of(candidate) : nullptr)
            listing.variables = describe_variables(make_scope(info, candidate));
        if (wanted.jumps)
            listing.jump = jumps.of(candidate.site, code_file(candidate.image));
        listing.point = std::move(candidate.site.point);
        listing.mechanism = candidate.site.mechanism;
        listing.reason = std::move(candidate.site.reason);
        candidate = Candidate(); // a pattern may match very many
    }
    return true;
}

} // namespace

std::optional<std::vector<ProbeListing>> list_probes(const ast::ProbePoint& point,
                                                     const ListingOptions& wanted, Images& images,
                                                     Diagnostics& diagnostics) {
    Listing listing{wanted, images, diagnostics, JumpVerdicts(images), {}};
    std::vector<ProbeListing>& out = listing.out;
    // * in the name of a component stands for several families, which need not all match.
    const auto families = probe_shapes().matching(point.components);
    Meanings meanings;
    for (const std::vector<ast::PointComponent>& components : families) {
        ast::ProbePoint meant;
        meant.range = point.range;
        meant.components = components;
        const size_t messages = diagnostics.all().size();
        if (listing.family(meant, true))
            meanings.note_existing();
        else
            meanings.leave_out(diagnostics, messages);
    }
    // A pattern may match nothing; a name that does not exist is an error that deserves a hint.
    const bool pattern =
        std::any_of(point.components.begin(), point.components.end(),
                    [](const ast::PointComponent& each) { return has_wildcard(each.string); });
    if (families.empty() ? !listing.family(point, pattern) : !meanings.check(diagnostics))
        return std::nullopt;
    auto by_point = [](const ProbeListing& a, const ProbeListing& b) { return a.point < b.point; };
    std::stable_sort(out.begin(), out.end(), by_point);
    auto same = [](const ProbeListing& a, const ProbeListing& b) {
        return a.point == b.point && a.variables == b.variables;
    };
    out.erase(std::unique(out.begin(), out.end(), same), out.end());
    return std::move(out);
}

} // namespace djstap
