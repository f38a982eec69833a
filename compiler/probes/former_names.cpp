// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/former_names.h"

#include <algorithm>
#include <array>

namespace djstap {

namespace {

struct FormerName {
    std::string_view component, former, current; // of the point: "function", "trace"
};
constexpr auto former_names = std::to_array<FormerName>({
#define FORMER_FUNCTION(former, current) {"function", former, current},
#define FORMER_TRACEPOINT(former, current) {"trace", former, current},
#define FORMER_VARIABLE(function, former, variable, member)
#include "probes/former_names.def"
#undef FORMER_FUNCTION
#undef FORMER_TRACEPOINT
#undef FORMER_VARIABLE
});

struct VariableRow {
    std::string_view function, former, variable, member;
};
constexpr auto former_variables = std::to_array<VariableRow>({
#define FORMER_FUNCTION(former, current)
#define FORMER_TRACEPOINT(former, current)
#define FORMER_VARIABLE(function, former, variable, member) {function, former, variable, member},
#include "probes/former_names.def"
#undef FORMER_FUNCTION
#undef FORMER_TRACEPOINT
#undef FORMER_VARIABLE
});

bool is_in_kernel(const ast::ProbePoint& point) {
    const std::string& first = point.components.front().name;
    return first == "kernel" || first == "module" || first == "kprobe";
}

} // namespace

bool resolve_by_any_name(const ast::ProbePoint& point, const ProbeForms& forms, Resolver& resolver,
                         std::vector<Candidate>& out) {
    const size_t messages = resolver.diagnostics.all().size();
    const bool resolved = forms.resolve(point, resolver, out);
    if (!out.empty() || point.optional || !is_in_kernel(point))
        return resolved;
    for (size_t i = 0; i < point.components.size(); i++) {
        const ast::PointComponent& component = point.components[i];
        const auto* const known =
            std::find_if(former_names.begin(), former_names.end(), [&](const FormerName& each) {
                return each.component == component.name && each.former == component.string;
            });
        if (known == former_names.end())
            continue;
        ast::ProbePoint current;
        current.range = point.range;
        current.components = point.components;
        current.components[i].string = known->current;
        std::vector<Diagnostic> failure = resolver.diagnostics.take_back(messages);
        if (forms.resolve(current, resolver, out) && !out.empty()) {
            resolver.diagnostics.report(DiagnosticKind::FormerName, component.argument_range,
                                        {component.string, std::string(known->current)});
            return true;
        }
        resolver.diagnostics.take_back(messages);
        resolver.diagnostics.restore(std::move(failure));
        return resolved;
    }
    return resolved;
}

std::optional<FormerVariable> former_variable(std::string_view function, std::string_view name) {
    for (const VariableRow& each : former_variables)
        if (each.function == function && each.former == name)
            return FormerVariable{std::string(each.variable), std::string(each.member)};
    return std::nullopt;
}

} // namespace djstap
