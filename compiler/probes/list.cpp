// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/glob.h"
#include "probes/families.h"
#include "probes/in_process.h"
#include "probes/jump_safety.h"
#include "probes/meanings.h"
#include "probes/target_values.h"

#include <algorithm>
#include <iterator>
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

// Takes what jumps in the process do not reach away from the other candidates.
std::vector<Candidate> take_unreached(std::vector<Candidate>& candidates) {
    const auto first =
        std::stable_partition(candidates.begin(), candidates.end(), [](const Candidate& each) {
            return objection_to_jump(each).empty();
        });
    std::vector<Candidate> unreached;
    std::move(first, candidates.end(), std::back_inserter(unreached));
    candidates.erase(first, candidates.end());
    for (Candidate& each : unreached)
        each.site.reason = "no jump: " + std::string(objection_to_jump(each));
    return unreached;
}

// What the listing tells of a function that a script names if the kernel can be asked for uprobes.
void fall_back(ProbeListing& listing, const std::string& objection) {
    listing.mechanism =
        listing.mechanism == Mechanism::ReturnJumps ? Mechanism::Uretprobe : Mechanism::Uprobe;
    listing.reason = "no jump: " + objection;
}

bool Listing::family(const ast::ProbePoint& point, bool quiet) {
    ProbeOptions options;
    options.in_process = images.programs_alone();
    options.max_kprobes = std::numeric_limits<int64_t>::max();
    Resolver resolver{images, options, diagnostics, wanted.variables, quiet};
    const ProbeForms* forms = find_forms(point, resolver);
    std::vector<Candidate> candidates;
    if (!forms || !forms->resolve(point, resolver, candidates))
        return false;
    std::vector<Candidate> unreached;
    if (options.in_process && wanted.uprobes && is_function_of_program(point))
        unreached = take_unreached(candidates);
    if ((unreached.empty() || !candidates.empty()) &&
        !settle_in_process(point, resolver, candidates))
        return false;
    std::move(unreached.begin(), unreached.end(), std::back_inserter(candidates));
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
        const CodeFile code = code_file(candidate.image);
        const bool in_program = code.kind == ImageKind::Program;
        std::string objection = in_program ? wanted.objection : std::string();
        if (wanted.jumps && objection.empty()) {
            if (in_program && wanted.uprobes)
                objection = jumps.objection(candidate.site, code);
            else
                listing.jump = jumps.of(candidate.site, code);
        }
        listing.point = std::move(candidate.site.point);
        listing.mechanism = candidate.site.mechanism;
        listing.reason = std::move(candidate.site.reason);
        if (!objection.empty())
            fall_back(listing, objection);
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
