// SPDX-License-Identifier: GPL-2.0-or-later
// kernel.function("name").label("label"): the statement behind a label of a function.
#include "probes/function_patterns.h"
#include "probes/statement_candidates.h"

#include "diagnostics/suggest.h"
#include "image/glob.h"

#include <algorithm>

namespace djstap {

namespace {

std::string point_of(const ImageView& view, const LabelAddress& label) {
    std::string where = label.at.function;
    if (!label.at.file.empty())
        where += "@" + label.at.file + ":" + std::to_string(label.at.line);
    return view.prefix() + ".function(\"" + where + "\").label(\"" + label.label + "\")";
}

bool report_no_label(const ast::ProbePoint& point, const FunctionPattern& pattern,
                     const std::vector<const ImageView*>& images, Resolver& resolver) {
    const ast::PointComponent& label = point.components.back();
    std::vector<std::string> names;
    for (const ImageView* view : images)
        for (const LabelAddress& each : view->info().labels(pattern, "*"))
            if (std::find(names.begin(), names.end(), each.label) == names.end())
                names.push_back(each.label);
    std::string hint = names.empty() ? "it has no labels that the compiler kept"
                                     : did_you_mean(label.string, names);
    if (hint.empty()) {
        hint = "it has " + names.front();
        for (size_t i = 1; i < names.size() && i < 8; i++)
            hint += ", " + names[i];
    }
    resolver.diagnostics
        .report(DiagnosticKind::NoLabel, label.argument_range,
                {code_component(point).string, label.string})
        .hint(hint);
    return false;
}

bool resolve_label(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out) {
    const ast::PointComponent& label = point.components.back();
    auto pattern = function_pattern(code_component(point), resolver);
    auto images = pattern ? find_images(point, resolver) : std::nullopt;
    if (!images)
        return false;
    std::string refusal;
    bool known = false;
    for (const ImageView* view : *images) {
        if (!check_dwarf(*view, point, resolver))
            return false;
        for (const LabelAddress& each : view->info().labels(*pattern, label.string))
            add_statement(*view, each.at, point_of(*view, each), resolver, out, refusal);
        known |= !view->info().functions(*pattern, false).empty() ||
                 view->info().inlined_count(*pattern) > 0;
    }
    if (!out.empty() || point.optional || images->empty())
        return true;
    if (!known && !(resolver.quiet && has_wildcard(code_component(point).string)))
        return report_no_function(code_component(point), *pattern, *images, resolver);
    if (resolver.quiet)
        return true;
    if (refusal.empty())
        return report_no_label(point, *pattern, *images, resolver);
    resolver.diagnostics.report(DiagnosticKind::CannotProbe, label.argument_range,
                                {label.string, refusal});
    return false;
}

} // namespace

const std::vector<ProbeForms> label_family{
    {DJS_CODE ".function(STRING).label(STRING)", resolve_label, code_traits},
};

} // namespace djstap
