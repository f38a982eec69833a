// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/arch.h"
#include "probes/body_resolver.h"
#include "probes/families.h"
#include "probes/former_names.h"
#include "probes/in_process.h"
#include "probes/jump_safety.h"
#include "probes/meanings.h"
#include "probes/point_order.h"
#include "probes/target_values.h"
#include "probes/trampolines.h"
#include "semantics/walk.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace djstap {

namespace {

using program::ExpressionKind;
using program::StatementKind;

bool has_target_values(program::Probe& probe) {
    bool found = false;
    auto look = [&](program::Expression& node) { found |= is_typed(node); };
    const auto look_into = [&](program::Expression& value) {
        look(value);
        program::walk_expressions(value, look);
    };
    program::walk_expressions(*probe.body, look);
    if (probe.condition)
        look_into(*probe.condition);
    for (auto& value : probe.entry_values)
        look_into(*value);
    return found;
}

void report(Diagnostics& diagnostics, const AccessError& error) {
    diagnostics.report(error.kind, error.range, {error.first, error.second, error.third})
        .hint(error.hint);
}

class ProbeResolver {
  public:
    ProbeResolver(const program::Program& program, Images& images, const ProbeOptions& options,
                  Diagnostics& diagnostics)
        : program_(program), resolver_{images, options, diagnostics}, diagnostics_(diagnostics),
          unreached_(images, plan_.unreached),
          reads_arguments_(std::any_of(program.functions.begin(), program.functions.end(),
                                       [](const auto& function) { return function->arguments; })) {}

    std::optional<ProbePlan> run() {
        size_t errors = diagnostics_.error_count();
        if (resolver_.options.notes_unreached)
            resolver_.unreached = &unreached_;
        resolver_.counters = perf_counters(program_, diagnostics_);
        for (const Turn& turn : in_order_of_points(program_)) {
            Outcome& outcome = outcomes_[turn.probe];
            if (turn.point < turn.probe->points.size())
                resolve_point(*turn.probe, turn.point, outcome);
            else if (!outcome.stopped && !outcome.any && !outcome.failed && !outcome.optional)
                diagnostics_.report(DiagnosticKind::ProbeWithoutSite, turn.probe->range);
        }
        resolve_functions();
        for (Pattern& each : patterns_)
            each.meanings.check(diagnostics_);
        if (diagnostics_.error_count() > errors)
            return std::nullopt;
        choose_trampolines(plan_);
        return std::move(plan_);
    }

  private:
    // A library's alias may lead to points to which this point's suffix does not apply: these do
    // not exist.
    bool is_passed_over(const program::Probe& probe, size_t point) const {
        return probe.points[point]->optional && point < probe.alias_names.size() &&
               !probe.alias_names[point].empty();
    }

    // What became of the meanings of a point with * in its components' names.
    struct Pattern {
        const ast::ProbePoint* point = nullptr;
        Meanings meanings;
    };

    Meanings& meanings_with(const ast::ProbePoint& meaning) {
        auto known = std::find_if(patterns_.begin(), patterns_.end(), [&](const Pattern& each) {
            return each.point == meaning.one_of;
        });
        if (known == patterns_.end())
            known = patterns_.insert(known, Pattern{meaning.one_of, {}});
        return known->meanings;
    }

    // Of the points of a part of a probe.
    struct Outcome {
        bool any = false, failed = false, optional = false;
        bool stopped = false; // by an error that further points would have, too
    };

    void resolve_point(program::Probe& probe, size_t i, Outcome& outcome) {
        if (outcome.stopped)
            return;
        resolver_.details = has_target_values(probe);
        resolver_.probe = &probe;
        const ast::ProbePoint& point = *probe.points[i];
        if (sufficient_.makes_superfluous(probe, i)) {
            outcome.any = true;
            return;
        }
        const size_t messages = diagnostics_.all().size();
        const ProbeForms* forms = find_forms(point, resolver_);
        if (!forms && is_passed_over(probe, i)) {
            diagnostics_.take_back(messages);
            outcome.optional = true;
            return;
        }
        std::vector<Candidate> candidates;
        if (!forms || !check_kernel(point, forms->traits) || !check_maxactive(point) ||
            !resolve_by_any_name(point, *forms, resolver_, candidates) ||
            !settle_in_process(point, resolver_, candidates)) {
            if (point.one_of)
                meanings_with(point).leave_out(diagnostics_, messages);
            outcome.failed = true;
            return;
        }
        if (point.one_of && !candidates.empty())
            meanings_with(point).note_existing();
        outcome.optional |= point.optional || (forms->traits & PointIsNeverHit);
        const bool aliased = i < probe.alias_names.size() && !probe.alias_names[i].empty();
        const std::string written = aliased ? probe.alias_names[i].front() : ast::to_string(point);
        bool placed = false;
        std::vector<AccessError> missing;
        size_t left_out = 0;
        for (Candidate& candidate : candidates) {
            note_process(point, resolver_, candidate);
            note_code(candidate);
            candidate.site.name = aliased ? written : candidate.site.point;
            candidate.site.written = written;
            const bool is_inlined = candidate.scope != 0;
            if (resolver_.unreached)
                unreached_.check(point, candidate, !probe.entry_values.empty());
            const bool here = place(probe, candidate, i, is_inlined ? &missing : nullptr);
            placed |= here;
            left_out += is_inlined && !here;
            if (here || is_inlined)
                continue;
            // the same error would be found at every site
            if (!point.optional) {
                outcome.stopped = true;
                return;
            }
            placed = false;
            break; // something in the body is unavailable: the optional point is skipped
        }
        if (left_out > 0 && !tell_of_inlined(point, missing, left_out, placed)) {
            outcome.stopped = true;
            return;
        }
        outcome.any |= placed;
        if (placed)
            sufficient_.note_found(probe, i);
    }

    // A family whose resolution opens nothing of a kernel would not notice that there is none.
    bool check_kernel(const ast::ProbePoint& point, uint32_t traits) {
        return (traits & PointNeedsNoKernel) || !resolver_.images.refused() ||
               (resolver_.options.in_process && is_function_of_program(point)) ||
               need_kernel(point, resolver_);
    }

    bool check_maxactive(const ast::ProbePoint& point) {
        const ast::PointComponent* maxactive = find_component(point, "maxactive");
        if (!maxactive || (maxactive->number >= 0 && maxactive->number <= UINT16_MAX))
            return true;
        diagnostics_.report(DiagnosticKind::CannotProbe, maxactive->argument_range,
                            {"maxactive", "it must be from 0 to 65535"});
        return false;
    }

    // Returns how many earlier points of the probe have this place, too: its body runs once for
    // each.
    size_t repetition(const program::Probe& probe, const ImageView* image, const Site& site,
                      size_t point) {
        if (site.address == 0)
            return 0;
        auto& points = points_at_[{probe.index, image, site.address}];
        if (points.empty() || points.back() != point)
            points.push_back(point);
        return points.size() - 1;
    }

    // Each inline instance was optimized separately: one that lacks a variable is skipped if there
    // are places that have all. Returns false after reporting an error.
    bool tell_of_inlined(const ast::ProbePoint& point, const std::vector<AccessError>& missing,
                         size_t left_out, bool placed) {
        // already reported
        if (missing.empty())
            return false;
        if (point.optional)
            return true;
        if (placed)
            diagnostics_
                .report(DiagnosticKind::InlineInstancesLeftOut, missing.front().range,
                        {missing.front().first, std::to_string(left_out)})
                .hint(".call selects only the functions' own code");
        else
            report(diagnostics_, missing.front());
        return placed;
    }

    // `missing`, if not null, receives what is unavailable instead of a report.
    bool place(program::Probe& probe, Candidate& candidate, size_t point,
               std::vector<AccessError>* missing) {
        const DebugInfo* info = nullptr;
        if (resolver_.details) {
            const ast::ProbePoint& where = *probe.points[point];
            info = candidate.image ? need_types(*candidate.image, where, resolver_)
                                   : need_kernel_types(where, resolver_);
            if (!info)
                return false;
        }
        Variant variant;
        variant.probe = &probe;
        variant.kind = candidate.kind;
        variant.payload = candidate.payload;
        variant.callers = candidate.callers;
        if (!variant.callers.frames.empty())
            variant.callers.image = image_number(candidate.image->image());
        variant.syscall = reads_arguments_ && candidate.function && candidate.function->is_syscall;
        variant.faults_again =
            probe.effects.can_fail && arch::handles_faults(candidate.site.function);
        VariableScope scope = make_scope(info, candidate);
        scope.counters = &resolver_.counters;
        know_images(scope);
        scope.scope_of = [&](const program::Probe* origin) {
            return origin == &probe ? &scope : foreign_scope(origin);
        };
        BodyResolver body(scope, variant.accesses, variant.defined,
                          resolver_.options.skip_bad_variables, &probe.entry_values);
        body.statement(*probe.body);
        if (probe.condition)
            body.expression(*probe.condition);
        for (const AccessError& each : body.former())
            report(diagnostics_, each);
        if (missing)
            missing->insert(missing->end(), body.errors().begin(), body.errors().end());
        else if (!probe.points[point]->optional)
            for (const AccessError& error : body.errors())
                report(diagnostics_, error);
        if (!body.errors().empty())
            return false;
        if (variant.kind != HandlerKind::Return &&
            !check_registers(variant.accesses, *probe.points[point], resolver_))
            return false;
        const uint32_t here = candidate.image ? image_number(candidate.image->image()) : no_index;
        if (!check_programs(variant.accesses, here))
            return false;

        uint32_t number = find_or_add(std::move(variant),
                                      repetition(probe, candidate.image, candidate.site, point));
        plan_.variants[number].mechanisms |= 1u << static_cast<unsigned>(candidate.site.mechanism);
        candidate.site.variant = number;
        if (candidate.function) {
            plan_.functions.push_back(std::move(candidate.function));
            candidate.site.info = plan_.functions.back().get();
        }
        // A pattern may match one site twice (an alias of a symbol): it is used once.
        candidate.site.image = here;
        if (candidate.site.address != 0 &&
            !seen_.insert({number, candidate.site.image, candidate.site.address}).second)
            return true;
        plan_.sites.push_back(std::move(candidate.site));
        return true;
    }

    uint32_t image_number(const Image& image) {
        auto known =
            std::find_if(plan_.images.begin(), plan_.images.end(), [&](const ProbedImage& each) {
                return each.kind == image.kind() && each.name == image.name();
            });
        if (known == plan_.images.end())
            known = plan_.images.insert(known, ProbedImage::of(image));
        return static_cast<uint32_t>(known - plan_.images.begin());
    }

    Result<const DebugInfo*> kernel_info() {
        auto kernel = resolver_.images.kernel_view();
        if (!kernel)
            return kernel.failure();
        return (*kernel)->debuginfo();
    }

    void know_images(VariableScope& scope) {
        scope.info_of_module = [this](const std::string& name) { return info_of_module(name); };
        scope.number_of = [this](const Image& image) { return image_number(image); };
        scope.header_failures = &header_failures_;
    }

    // Returns the scope at the first place of another probe, where a value got its type; or that of
    // functions.
    const VariableScope* foreign_scope(const program::Probe* probe) {
        if (auto known = foreign_.find(probe); known != foreign_.end())
            return known->second ? &known->second->scope : nullptr;
        auto& made = foreign_[probe];
        auto info = kernel_info();
        if (!info)
            return nullptr;
        auto foreign = std::make_unique<Foreign>();
        if (probe) {
            Diagnostics ignored(diagnostics_.sources()); // the probe itself is resolved, too
            Resolver resolver{resolver_.images, resolver_.options, ignored, true, true,
                              nullptr,          resolver_.counters};
            std::vector<Candidate> candidates;
            for (const ast::ProbePoint* point : probe->points) {
                const ProbeForms* forms = find_forms(*point, resolver);
                if (forms && resolve_by_any_name(*point, *forms, resolver, candidates) &&
                    !candidates.empty())
                    break;
            }
            if (candidates.empty())
                return nullptr;
            foreign->candidate = std::move(candidates.front());
            const ImageView* image = foreign->candidate.image;
            foreign->scope = make_scope(image ? *image->debuginfo() : *info, foreign->candidate);
        }
        if (!foreign->scope.info)
            foreign->scope.info = *info;
        know_images(foreign->scope);
        const VariableScope* own = &foreign->scope;
        foreign->scope.scope_of = [this, own, probe](const program::Probe* origin) {
            return origin == probe ? own : foreign_scope(origin);
        };
        made = std::move(foreign);
        return own;
    }

    // The address of a program's variable is known where a process is in the program. `here`: the
    // image of the probe.
    bool check_programs(const AccessMap& accesses, uint32_t here) {
        const program::Expression* foreign = value_of_other_program(plan_, accesses, here);
        if (foreign)
            diagnostics_.report(DiagnosticKind::TargetNotAvailable, foreign->range,
                                {std::string(diagnostics_.sources().text(foreign->range)),
                                 here == no_index ? "this function or probe" : "this probe",
                                 "it is a variable of a program that the probe is not in"});
        return !foreign;
    }

    // "kernel", the name or path of a module, the path of a program, or headers.
    const DebugInfo* info_of_module(const std::string& name) {
        if (name.find('<') != std::string::npos) {
            auto headers = resolver_.images.headers(name);
            if (headers)
                return &(*headers)->info();
            header_failures_[name] = headers.failure().message;
            return nullptr;
        }
        if (name.empty() || name == "kernel" || name == "vmlinux") {
            auto info = kernel_info();
            return info ? *info : nullptr;
        }
        auto found =
            names_program(name) ? resolver_.images.program(name) : resolver_.images.module(name);
        return found ? &(*found)->info() : nullptr;
    }

    uint32_t find_or_add(Variant variant, size_t repetition) {
        std::string key = std::to_string(variant.probe->index) + "/" + std::to_string(repetition) +
                          "/" + std::to_string(static_cast<int>(variant.kind));
        for (const uint64_t argument : mechanism_arguments(variant.payload))
            key += "," + std::to_string(argument);
        key += mechanism_program(variant.payload);
        if (variant.faults_again)
            key += "/faults again";
        if (variant.syscall)
            key += "/system call";
        key += fingerprint(variant.callers);
        // Ordered by the nodes' addresses: this is stable within a run, which is sufficient for a
        // key.
        std::map<const program::Expression*, std::string> parts;
        for (const auto& [node, access] : variant.accesses)
            parts[node] = fingerprint(access);
        for (const auto& [node, value] : variant.defined)
            parts[node] = value ? "1" : "0";
        for (const auto& [node, part] : parts)
            key += "/" + part;
        auto [entry, added] =
            variant_numbers_.emplace(key, static_cast<uint32_t>(plan_.variants.size()));
        if (added)
            plan_.variants.push_back(std::move(variant));
        return entry->second;
    }

    void resolve_functions() {
        for (const auto& function : program_.functions) {
            if (!function->body)
                continue;
            const program::TargetValue *first = nullptr, *typed = nullptr;
            program::walk_expressions(*function->body, [&](program::Expression& node) {
                if (node.kind == ExpressionKind::TargetValue && !first)
                    first = &program::as<program::TargetValue>(node);
                if (is_typed(node) && !typed)
                    typed = &program::as<program::TargetValue>(node);
            });
            if (!first)
                continue;
            VariableScope scope;
            scope.counters = &resolver_.counters;
            if (typed) {
                auto info = kernel_info();
                if (!info) {
                    diagnostics_
                        .report(DiagnosticKind::NoDebugInfo, typed->range, {info.failure().message})
                        .hint(info.failure().hint);
                    return;
                }
                scope.info = *info;
            }
            know_images(scope);
            scope.scope_of = [&](const program::Probe* origin) {
                return origin ? foreign_scope(origin) : &scope;
            };
            BodyResolver body(scope, plan_.function_accesses, plan_.function_defined,
                              resolver_.options.skip_bad_variables);
            body.statement(*function->body);
            for (const AccessError& error : body.errors())
                report(diagnostics_, error);
        }
        check_programs(plan_.function_accesses, no_index);
    }

    const program::Program& program_;
    Resolver resolver_;
    Diagnostics& diagnostics_;
    ProbePlan plan_;
    UnreachedFunctions unreached_;
    struct Foreign {
        Candidate candidate;
        VariableScope scope;
    };
    std::map<const program::Probe*, std::unique_ptr<Foreign>> foreign_;
    std::map<std::string, std::string> header_failures_; // by the names of headers
    std::map<std::string, uint32_t> variant_numbers_;
    bool reads_arguments_; // a function reads arguments by their numbers
    std::vector<Pattern> patterns_;
    std::map<const program::Probe*, Outcome> outcomes_;
    SufficientPoints sufficient_;
    std::set<std::tuple<uint32_t, uint32_t, uint64_t>> seen_; // variant, image, address
    // The numbers of the points with which a probe's place was found, by the probe's index, image
    // and address.
    std::map<std::tuple<uint32_t, const ImageView*, uint64_t>, std::vector<size_t>> points_at_;
};

} // namespace

std::optional<ProbePlan> resolve_probes(const program::Program& program, Images& images,
                                        const ProbeOptions& options, Diagnostics& diagnostics) {
    auto plan = ProbeResolver(program, images, options, diagnostics).run();
    if (plan && options.forced == Mechanism::KprobeJump && !check_jumps(*plan, images, diagnostics))
        return std::nullopt;
    if (plan && options.jumps)
        describe_jumps(*plan, images);
    return plan;
}

} // namespace djstap
