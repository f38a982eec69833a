// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/jump_safety.h"

#include "arch/injection.h"
#include "image/elf_file.h"
#include "image/module_file.h"
#include "include/mechanisms.h"
#include "probes/mechanisms.h"
#include "regions/regions.h"

#include <set>

namespace djstap {

using regions::Analysis;
using regions::Place;

struct JumpVerdicts::State {
    std::unique_ptr<ElfFile> linked; // of a module, or a program
    std::optional<Analysis> analysis;
    std::string failure; // why there is no analysis

    Status analyze(const CodeFile& in, Images& images);
};

JumpVerdicts::JumpVerdicts(Images& images) : images_(images) {}
JumpVerdicts::~JumpVerdicts() = default;

Status JumpVerdicts::State::analyze(const CodeFile& in, Images& images) {
    if (in.kind == ImageKind::Program) {
        auto file = ElfFile::open(in.path);
        if (!file)
            return file.failure();
        linked = std::move(*file);
        Result<Analysis> done = Analysis::of(*linked, {});
        if (!done)
            return done.failure();
        analysis.emplace(std::move(*done));
        return Done{};
    }
    const auto kernel = images.kernel_view();
    if (!kernel)
        return kernel.failure();
    const ElfFile* vmlinux = (*kernel)->image().elf();
    if (!vmlinux)
        return Failure{"the kernel's vmlinux is not available", ""};
    regions::Options options{regions::Model::Kernel, 0};
    if (in.kind == ImageKind::Module) {
        // Its image has the same addresses, but the code there lacks those of calls and jumps.
        Result<std::string> bytes = module_bytes(in.path);
        if (bytes)
            bytes = link_module_code(std::move(*bytes), in.path);
        if (!bytes)
            return bytes.failure();
        auto file = ElfFile::hold(std::move(*bytes), in.path);
        if (!file)
            return file.failure();
        linked = std::move(*file);
        options.rule = regions::KernelRule::of(*vmlinux);
    }
    Result<Analysis> done = Analysis::of(linked ? *linked : *vmlinux, options);
    if (!done)
        return done.failure();
    analysis.emplace(std::move(*done));
    return Done{};
}

const JumpVerdicts::State& JumpVerdicts::state(const CodeFile& in) {
    std::unique_ptr<State>& state = states_[in.kind == ImageKind::Kernel ? std::string() : in.path];
    if (state)
        return *state;
    state = std::make_unique<State>();
    if (Status analyzed = state->analyze(in, images_); !analyzed)
        state->failure = analyzed.failure().message;
    return *state;
}

namespace {

bool is_planted(const std::optional<Place>& place) {
    return place && place->by_kernel && place->safe();
}

} // namespace

std::string JumpVerdicts::of(const Site& site, const CodeFile& in) {
    if (in.kind == ImageKind::Program) {
        const std::string reason = objection(site, in);
        return reason.empty() ? reason : "not probed: " + reason;
    }
    if (!mechanism_can(site.mechanism, DJS_IS_KPROBE) || site.mechanism == Mechanism::KprobeFtrace)
        return {};
    const State& known = state(in);
    if (!known.analysis)
        return "no jump: " + known.failure;
    const std::optional<Place> place = known.analysis->place(site.address);
    if (!place)
        return "no jump: no instruction of a function begins here";
    if (!place->safe())
        return "no jump: " + std::string(regions::reason_text(place->reason));
    return place->by_kernel ? "a jump is safe here" : "no jump: the kernel's own rule refuses it";
}

std::string JumpVerdicts::objection(const Site& site, const CodeFile& in) {
    return site.mechanism == Mechanism::Djprobe       ? at_entry(site, in)
           : site.mechanism == Mechanism::ReturnJumps ? at_returns(site, in)
                                                      : std::string();
}

std::string JumpVerdicts::at_entry(const Site& site, const CodeFile& in) {
    const State& known = state(in);
    if (!known.analysis)
        return known.failure;
    const std::optional<Place> place = known.analysis->entry(site.address);
    if (!place)
        return "no instruction of a function is known there";
    if (place->safe() && known.linked &&
        arch::is_in_way_of_visits(place->address, known.linked->entry()))
        return arch::in_way_of_visits;
    return place->safe() ? std::string() : std::string(regions::reason_text(place->reason));
}

std::string JumpVerdicts::at_returns(const Site& site, const CodeFile& in) {
    const State& known = state(in);
    return known.analysis ? std::string(known.analysis->exits(site.address).objection())
                          : known.failure;
}

std::string JumpVerdicts::refusal(const Site& site, const CodeFile& in) {
    const State& known = state(in);
    if (!known.analysis)
        return "whether control may enter the bytes that a jump replaces is unknown: " +
               known.failure;
    const std::optional<Place> place = known.analysis->place(site.address);
    if (!place || place->safe())
        return {};
    const std::string reason(regions::reason_text(place->reason));
    if (place->by_kernel)
        return "the kernel would replace the breakpoint by a jump, although " + reason +
               " (djstap regions --unsafe)";
    // The kernel judges the instructions that it has there when the probe is registered, which may
    // be others than those of the file.
    return regions::is_entered(place->reason) ? "no jump may replace the breakpoint: " + reason
                                              : std::string();
}

std::string JumpVerdicts::replaced_bytes(const Site& site, const CodeFile& in) {
    const State& known = state(in);
    const auto place = known.analysis ? known.analysis->place(site.address) : std::nullopt;
    if (!is_planted(place))
        return {};
    const regions::ReplacedBytes replaced = known.analysis->replaced_bytes(*place);
    return replaced.bytes + replaced.known;
}

namespace {

CodeFile code_file(const ProbePlan& plan, const Site& site) {
    const ProbedImage& image = plan.images[site.image];
    return {image.kind, image.kind == ImageKind::Kernel ? std::string() : image.file};
}

} // namespace

void describe_jumps(ProbePlan& plan, Images& images) {
    JumpVerdicts verdicts(images);
    for (Site& site : plan.sites)
        if (site.image != no_index)
            site.jump = verdicts.of(site, code_file(plan, site));
}

bool check_jumps(ProbePlan& plan, Images& images, Diagnostics& diagnostics) {
    JumpVerdicts verdicts(images);
    std::set<std::pair<uint32_t, uint64_t>> reported;
    for (Site& site : plan.sites) {
        if (site.mechanism != Mechanism::KprobeJump)
            continue;
        const CodeFile in = code_file(plan, site);
        const std::string refusal = verdicts.refusal(site, in);
        if (refusal.empty()) {
            site.code = verdicts.replaced_bytes(site, in);
            continue;
        }
        if (!reported.emplace(site.image, site.address).second)
            continue;
        diagnostics
            .report(DiagnosticKind::CannotProbe, plan.variants[site.variant].probe->range,
                    {site.point, refusal})
            .hint("--mechanism=kprobe-int3 probes it by a breakpoint");
    }
    return reported.empty();
}

} // namespace djstap
