// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/jump_safety.h"

#include "probes/mechanisms.h"
#include "regions/regions.h"

#include <set>

namespace djstap {

namespace {

using regions::Analysis;

Result<Analysis> analyze(Images& images) {
    const auto kernel = images.kernel_view();
    if (!kernel)
        return kernel.failure();
    const ElfFile* file = (*kernel)->image().elf();
    if (!file)
        return Failure{"the kernel's vmlinux is not available", ""};
    return Analysis::of(*file, {regions::Model::Kernel, 0});
}

std::string refusal_in_kernel(const Site& site, const Result<Analysis>& analysis) {
    if (!analysis)
        return "whether control may enter the bytes that a jump replaces is unknown: " +
               analysis.failure().message;
    const auto place = analysis->place(site.address);
    if (!place || !place->by_kernel || place->safe())
        return "";
    return "the kernel would replace the breakpoint by a jump, although " +
           std::string(regions::reason_text(place->reason)) + " (djstap regions --unsafe)";
}
constexpr const char* in_module =
    "djstap does not know whether control may enter the bytes that a jump in a module replaces";

} // namespace

bool check_jumps(const ProbePlan& plan, Images& images, Diagnostics& diagnostics) {
    std::optional<Result<Analysis>> analysis;
    std::set<uint64_t> reported;
    for (const Site& site : plan.sites) {
        if (site.mechanism != Mechanism::KprobeJump)
            continue;
        // "" if a jump may be planted, or if the kernel will plant none.
        std::string refusal = in_module;
        if (plan.images[site.image].kind == ImageKind::Kernel) {
            if (!analysis)
                analysis.emplace(analyze(images));
            refusal = refusal_in_kernel(site, *analysis);
        }
        if (refusal.empty() || !reported.insert(site.address).second)
            continue;
        diagnostics
            .report(DiagnosticKind::CannotProbe, plan.variants[site.variant].probe->range,
                    {site.point, refusal})
            .hint("--mechanism=kprobe-int3 probes it by a breakpoint");
    }
    return reported.empty();
}

} // namespace djstap
