// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/fallback.h"

#include "arch/injection.h"
#include "driver/machine.h"
#include "injection/process_facts.h"

#include <algorithm>
#include <cstdio>

namespace djstap::driver {

namespace {

constexpr size_t most_reasons = 3; // that are told without -v

} // namespace

bool can_fall_back(const Invocation& invocation) {
    const Options& options = invocation.options;
    if (!options.in_process)
        return false;
    const Result<KernelFiles> files = find_kernel(options.kernel);
    const std::string missing =
        files ? missing_parts(*files, options).text : files.failure().message;
    if (!missing.empty() && options.verbose() > 0)
        fprintf(stderr, "djstap: uprobes cannot take the place of jumps: %s\n", missing.c_str());
    return missing.empty();
}

std::vector<std::string> objections_to_jumps(const Invocation& invocation) {
    std::vector<std::string> reasons;
    if (!arch::has_stub_instructions())
        reasons.emplace_back("this processor or kernel does not let programs read the base of "
                             "their threads' memory (FSGSBASE)");
    if (const pid_t process = invocation.options.traced_pid)
        if (auto reason = injection::objection_to(process); !reason.empty())
            reasons.push_back("process " + std::to_string(process) + ": " + reason);
    return reasons;
}

void fall_back(Invocation& invocation, uint32_t source, std::vector<std::string> reasons,
               std::string hint) {
    Options next = invocation.options;
    next.in_process = next.user_space = false;
    Options::Fallback& why = next.fallback.emplace();
    why.reasons = std::move(reasons);
    why.hint = std::move(hint);
    // Standard input cannot be read once more.
    if (!next.expression && next.script_file == "-" && next.example.empty())
        why.script = invocation.sources.file(source).text;
    invocation.next = std::move(next);
}

void tell_of_fallback(Invocation& invocation) {
    const Options& options = invocation.options;
    if (!options.fallback)
        return;
    const std::vector<std::string>& reasons = options.fallback->reasons;
    const size_t shown =
        options.verbose() > 0 ? reasons.size() : std::min(reasons.size(), most_reasons);
    std::string text;
    for (size_t i = 0; i < shown; i++)
        text += (i ? "; " : "") + reasons[i];
    if (shown < reasons.size())
        text += "; and " + std::to_string(reasons.size() - shown) + " more reasons (-v)";
    invocation.diagnostics.report(DiagnosticKind::FallsBack, {}, {text})
        .hint(options.fallback->hint);
}

} // namespace djstap::driver
