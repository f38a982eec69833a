// SPDX-License-Identifier: GPL-2.0-or-later
#include "semantics/alias_names.h"

#include "diagnostics/suggest.h"
#include "semantics/names.h"

#include <algorithm>

namespace djstap::semantics {

bool has_star(const std::vector<ast::PointComponent>& components) {
    return std::any_of(components.begin(), components.end(),
                       [](const ast::PointComponent& component) {
                           return component.name.find('*') != std::string::npos;
                       });
}

size_t beginning_of_alias(const std::vector<ast::PointComponent>& components,
                          const std::vector<std::string>& aliases, const PointShapes& shapes) {
    if (components.size() < 2 || has_star(components))
        return 0;
    std::string name = components[0].name + "." + components[1].name;
    const auto& beginnings = shapes.beginnings();
    if (std::find(beginnings.begin(), beginnings.end(), name) != beginnings.end())
        return 0;
    const auto begins_one = [&] {
        return std::any_of(aliases.begin(), aliases.end(),
                           [&](const std::string& each) { return each.starts_with(name + "."); });
    };
    size_t count = 1;
    while (count < components.size() && begins_one()) {
        count++;
        if (count < components.size())
            name += "." + components[count].name;
    }
    return count < 2 ? 0 : count;
}

void report_unknown_after(const std::vector<ast::PointComponent>& components, size_t good,
                          const std::vector<std::string>& aliases, Diagnostics& diagnostics) {
    std::string beginning;
    for (size_t i = 0; i < good; i++)
        beginning += components[i].name + ".";
    std::vector<std::string> next;
    for (const std::string& alias : aliases)
        if (alias.starts_with(beginning)) {
            const std::string rest = alias.substr(beginning.size());
            next.push_back(rest.substr(0, rest.find('.')));
        }
    const std::string others = "djstap -l '" + beginning + "*' lists the names that follow";
    if (good == components.size()) {
        diagnostics
            .report(DiagnosticKind::UnknownProbePoint,
                    components.front().range.to(components.back().range), {dotted(components)})
            .hint(others);
        return;
    }
    const ast::PointComponent& wrong = components[good];
    const std::string similar = did_you_mean(wrong.name, next);
    diagnostics.report(DiagnosticKind::UnknownProbeFamily, wrong.range, {wrong.name})
        .hint(similar.empty() ? others : similar);
}

} // namespace djstap::semantics
