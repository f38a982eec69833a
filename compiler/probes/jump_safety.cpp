// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/jump_safety.h"

#include "image/elf_file.h"
#include "include/mechanisms.h"
#include "probes/mechanisms.h"
#include "regions/regions.h"

#include <set>

namespace djstap {

using regions::Analysis;
using regions::Place;

struct JumpVerdicts::State {
    const ElfFile* file = nullptr;
    std::optional<Analysis> analysis;
    std::string failure; // why there is no analysis
};

JumpVerdicts::JumpVerdicts(Images& images) : images_(images) {}
JumpVerdicts::~JumpVerdicts() = default;

const JumpVerdicts::State& JumpVerdicts::state() {
    if (state_)
        return *state_;
    state_ = std::make_unique<State>();
    const auto kernel = images_.kernel_view();
    if (!kernel) {
        state_->failure = kernel.failure().message;
        return *state_;
    }
    state_->file = (*kernel)->image().elf();
    if (!state_->file) {
        state_->failure = "the kernel's vmlinux is not available";
        return *state_;
    }
    auto analysis = Analysis::of(*state_->file, {regions::Model::Kernel, 0});
    if (analysis)
        state_->analysis.emplace(std::move(*analysis));
    else
        state_->failure = analysis.failure().message;
    return *state_;
}

namespace {

constexpr const char* in_module =
    "djstap does not know whether control may enter the bytes that a jump in a module replaces";

bool is_planted(const std::optional<Place>& place) {
    return place && place->by_kernel && place->safe();
}

} // namespace

std::string JumpVerdicts::of(const Site& site, ImageKind kind) {
    if (!mechanism_can(site.mechanism, DJS_IS_KPROBE) ||
        site.mechanism == Mechanism::KprobeFtrace || kind == ImageKind::Program)
        return {};
    if (kind == ImageKind::Module)
        return "no jump: the code of modules is not analyzed";
    const State& known = state();
    if (!known.analysis)
        return "no jump: " + known.failure;
    const std::optional<Place> place = known.analysis->place(site.address);
    if (!place)
        return "no jump: no instruction of a function begins here";
    if (!place->safe())
        return "no jump: " + std::string(regions::reason_text(place->reason));
    return place->by_kernel ? "a jump is safe here" : "no jump: the kernel's own rule refuses it";
}

std::string JumpVerdicts::refusal(const Site& site, ImageKind kind) {
    if (kind != ImageKind::Kernel)
        return in_module;
    const State& known = state();
    if (!known.analysis)
        return "whether control may enter the bytes that a jump replaces is unknown: " +
               known.failure;
    const std::optional<Place> place = known.analysis->place(site.address);
    if (!place || !place->by_kernel || place->safe())
        return {};
    return "the kernel would replace the breakpoint by a jump, although " +
           std::string(regions::reason_text(place->reason)) + " (djstap regions --unsafe)";
}

std::string JumpVerdicts::replaced_bytes(const Site& site, ImageKind kind) {
    if (kind != ImageKind::Kernel)
        return {};
    const State& known = state();
    const auto place = known.analysis ? known.analysis->place(site.address) : std::nullopt;
    return is_planted(place) ? known.analysis->replaced_bytes(*place) : std::string();
}

void describe_jumps(ProbePlan& plan, Images& images) {
    JumpVerdicts verdicts(images);
    for (Site& site : plan.sites)
        if (site.image != no_index)
            site.jump = verdicts.of(site, plan.images[site.image].kind);
}

bool check_jumps(ProbePlan& plan, Images& images, Diagnostics& diagnostics) {
    JumpVerdicts verdicts(images);
    std::set<uint64_t> reported;
    for (Site& site : plan.sites) {
        if (site.mechanism != Mechanism::KprobeJump)
            continue;
        const ImageKind kind = plan.images[site.image].kind;
        const std::string refusal = verdicts.refusal(site, kind);
        if (refusal.empty()) {
            site.code = verdicts.replaced_bytes(site, kind);
            continue;
        }
        if (!reported.insert(site.address).second)
            continue;
        diagnostics
            .report(DiagnosticKind::CannotProbe, plan.variants[site.variant].probe->range,
                    {site.point, refusal})
            .hint("--mechanism=kprobe-int3 probes it by a breakpoint");
    }
    return reported.empty();
}

} // namespace djstap
