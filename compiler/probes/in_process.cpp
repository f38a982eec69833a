// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/in_process.h"

#include "arch/arch.h"
#include "image/glob.h"

#include <algorithm>
#include <array>

namespace djstap {

bool is_function_of_program(const ast::ProbePoint& point) {
    // One process is known only when it runs; a label or a callee is no entry.
    constexpr std::array allowed{"process", "library",  "function", "call",
                                 "return",  "exported", "inline"};
    return point.components.front().name == "process" &&
           point.components.front().argument != ast::PointComponent::Argument::Number &&
           find_component(point, "function") &&
           std::all_of(point.components.begin(), point.components.end(), [&](const auto& each) {
               return std::find(allowed.begin(), allowed.end(), each.name) != allowed.end();
           });
}

bool UnreachedFunctions::is_named(const ast::ProbePoint& point) {
    return !point.optional && !point.one_of &&
           std::none_of(point.components.begin(), point.components.end(),
                        [](const auto& each) { return has_wildcard(each.string); });
}

void UnreachedFunctions::note(std::string sentence) {
    if (std::find(sentences_.begin(), sentences_.end(), sentence) == sentences_.end())
        sentences_.push_back(std::move(sentence));
}

void UnreachedFunctions::check(const ast::ProbePoint& point, const Candidate& candidate,
                               bool keeps_entry) {
    if (!candidate.image || !is_function_of_program(point) || !is_named(point))
        return;
    const std::string file = candidate.image->image().file();
    const CodeFile code{ImageKind::Program, file};
    const bool is_return = candidate.site.mechanism == Mechanism::ReturnJumps;
    std::string reason = verdicts_.objection(candidate.site, code);
    if (is_return && keeps_entry && reason.empty()) {
        Site entry;
        entry.mechanism = Mechanism::Djprobe;
        entry.address = candidate.site.address;
        reason = verdicts_.objection(entry, code);
        if (!reason.empty())
            reason = "its entry, of which the handler keeps something: " + reason;
    }
    if (!reason.empty())
        note((is_return ? "the return of '" : "'") + candidate.site.function + "' of '" + file +
             "' cannot be patched: " + reason);
}

std::string_view objection_to_jump(const Candidate& candidate) {
    if (candidate.image && is_go(candidate.image->image()))
        return "the program is written in Go, whose stacks are too small for handlers";
    return candidate.scope != 0 ? "it is an inline instance of a function" : "";
}

bool settle_in_process(const ast::ProbePoint& point, Resolver& resolver,
                       std::vector<Candidate>& candidates) {
    if (!resolver.options.in_process)
        return true;
    if (!is_function_of_program(point))
        return true; // begin, end, timers
    const ast::PointComponent& argument = code_component(point);
    const auto go = std::find_if(candidates.begin(), candidates.end(), [](const Candidate& each) {
        return each.image && is_go(each.image->image());
    });
    const bool notes = resolver.unreached && !point.optional && !point.one_of;
    if (go != candidates.end()) {
        const std::string reason(objection_to_jump(*go));
        if (notes)
            resolver.unreached->note("\"" + argument.string + "\": " + reason);
        else
            resolver.diagnostics
                .report(DiagnosticKind::CannotProbe, argument.argument_range,
                        {argument.string, reason})
                .hint("without --runtime=process, as root, uprobes reach it");
        return false;
    }
    const size_t found = candidates.size();
    std::erase_if(candidates, [](const Candidate& each) { return each.scope != 0; });
    for (Candidate& each : candidates)
        if (each.site.mechanism == Mechanism::Uprobe) {
            each.site.mechanism = Mechanism::Djprobe;
            each.site.reason = "a jump at the entry of a function";
        } else if (each.site.mechanism == Mechanism::Uretprobe) {
            each.site.mechanism = Mechanism::ReturnJumps;
            each.site.reason = "jumps at the returns of a function";
        }
    const size_t inlined = found - candidates.size();
    if (inlined == 0 || point.optional || resolver.quiet)
        return true;
    const std::string what =
        std::to_string(inlined) +
        (inlined == 1 ? " inline instance of a function" : " inline instances of functions");
    if (notes && (candidates.empty() || UnreachedFunctions::is_named(point))) {
        resolver.unreached->note("\"" + argument.string + "\": " + what + " cannot be patched");
        return !candidates.empty();
    }
    const char* hint = "without --runtime=process, as root, uprobes reach them";
    if (candidates.empty())
        resolver.diagnostics
            .report(DiagnosticKind::CannotProbe, argument.argument_range,
                    {argument.string,
                     std::string(inlined == 1 ? "there is" : "there are") + " only " + what +
                         ", and --runtime=process probes entries and returns of functions"})
            .hint(hint);
    else
        resolver.diagnostics
            .report(DiagnosticKind::InlinedLeftOut, argument.argument_range,
                    {argument.string, what})
            .hint(std::string(hint) + "; .call selects only the functions' own code");
    return !candidates.empty();
}

namespace {

// Returns a value in a register that a jump at a function's entry does not pass on to handlers;
// null if there is none.
const program::Expression* value_in_other_register(const AccessMap& accesses) {
    auto is_other = [](const Access& access) {
        if (access.base == Access::Base::Register)
            return !arch::is_seen_by_direct_call(access.reg);
        return access.base == Access::Base::Computed &&
               std::any_of(access.operations.begin(), access.operations.end(),
                           [](const LocationOperation& operation) {
                               return operation.kind == LocationOperation::Kind::Register &&
                                      !arch::is_seen_by_direct_call(operation.reg);
                           });
    };
    for (const auto& [node, access] : accesses)
        // A text has no value of its own, only parts.
        if ((!access.is_text && is_other(access.value)) ||
            std::any_of(access.parts.begin(), access.parts.end(), is_other))
            return node;
    return nullptr;
}

} // namespace

bool check_registers(const AccessMap& accesses, const ast::ProbePoint& point, Resolver& resolver) {
    const program::Expression* other =
        resolver.options.in_process ? value_in_other_register(accesses) : nullptr;
    if (!other)
        return true;
    constexpr const char* reason = "it is in a register that passes no argument";
    const std::string text(resolver.diagnostics.sources().text(other->range));
    if (resolver.unreached && !point.optional && !point.one_of) {
        resolver.unreached->note("'" + text + "' is not available to a jump: " + reason);
        return true;
    }
    resolver.diagnostics
        .report(DiagnosticKind::TargetNotAvailable, other->range, {text, "this probe", reason})
        .hint("without --runtime=process, as root, uprobes read it");
    return false;
}

} // namespace djstap
