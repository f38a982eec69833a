// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/in_process.h"

#include <algorithm>

namespace djstap {

bool is_entry_of_program(const ast::ProbePoint& point) {
    return point.components.front().name == "process" && find_component(point, "function") &&
           !find_component(point, "return");
}

bool settle_in_process(const ast::ProbePoint& point, Resolver& resolver,
                       std::vector<Candidate>& candidates) {
    if (!resolver.options.in_process)
        return true;
    const size_t found = candidates.size();
    std::erase_if(candidates, [](const Candidate& each) { return each.scope != 0; });
    for (Candidate& each : candidates)
        if (each.site.mechanism == Mechanism::Uprobe) {
            each.site.mechanism = Mechanism::Djprobe;
            each.site.reason = "a jump at the entry of a function";
        }
    const size_t inlined = found - candidates.size();
    if (inlined == 0 || point.optional || resolver.quiet)
        return true;
    const std::string what =
        std::to_string(inlined) +
        (inlined == 1 ? " inline instance of a function" : " inline instances of functions");
    const char* hint = "without --runtime=process, as root, uprobes reach them";
    const ast::PointComponent& argument = code_component(point);
    if (candidates.empty())
        resolver.diagnostics
            .report(DiagnosticKind::CannotProbe, argument.argument_range,
                    {argument.string, "there are only " + what +
                                          ", and --runtime=process probes entries of functions"})
            .hint(hint);
    else
        resolver.diagnostics
            .report(DiagnosticKind::InlinedLeftOut, argument.argument_range,
                    {argument.string, what})
            .hint(std::string(hint) + "; .call selects only the functions' own code");
    return !candidates.empty();
}

} // namespace djstap
