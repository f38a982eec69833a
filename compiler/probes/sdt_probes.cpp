// SPDX-License-Identifier: GPL-2.0-or-later
// process("PATH").mark("NAME"), .provider("NAME").mark("NAME"): static probes of programs.
#include "probes/families.h"

#include "diagnostics/suggest.h"
#include "image/glob.h"

#include <algorithm>

namespace djstap {

namespace {

// C identifiers stand for names with dashes.
bool mark_matches(std::string pattern, std::string name) {
    auto with_dashes = [](std::string& text) {
        for (size_t at = 0; (at = text.find("__", at)) != std::string::npos; at++)
            text.replace(at, 2, "-");
    };
    if (glob_match(pattern, name))
        return true;
    with_dashes(pattern);
    with_dashes(name);
    return glob_match(pattern, name);
}

Candidate candidate_of_mark(const ImageView& view, const SdtMark& mark, bool with_provider) {
    const Image& image = view.image();
    const auto symbol = image.symbol_at(mark.address);
    Candidate candidate;
    candidate.kind = HandlerKind::Entry;
    candidate.image = &view;
    candidate.payload = ProgramPlace{0, mark.semaphore};
    candidate.site.mechanism = Mechanism::Uprobe;
    candidate.site.reason = mark.semaphore ? "a static probe with a semaphore" : "a static probe";
    candidate.site.address = mark.address;
    candidate.site.entry = symbol ? symbol->address : mark.address;
    candidate.site.function = symbol ? std::string(symbol->name) : "";
    candidate.site.point = view.prefix() +
                           (with_provider ? ".provider(\"" + mark.provider + "\")" : "") +
                           ".mark(\"" + mark.name + "\")";
    candidate.function = std::make_unique<FunctionInfo>();
    candidate.function->name = mark.name;
    candidate.function->entry = candidate.site.entry;
    candidate.scope_address = mark.address;
    candidate.mark = mark;
    return candidate;
}

bool resolve_sdt_mark(const ast::ProbePoint& point, Resolver& resolver,
                      std::vector<Candidate>& out) {
    const ast::PointComponent& name = point.components.back();
    const ast::PointComponent* provider = find_component(point, "provider");
    auto images = find_images(point, resolver);
    if (!images)
        return false;
    if (resolver.options.forced) {
        resolver.diagnostics.report(DiagnosticKind::CannotProbe, name.argument_range,
                                    {name.string, "marks of programs are probed by uprobes only"});
        return false;
    }
    std::vector<std::string> names;
    for (const ImageView* view : *images)
        for (const SdtMark& mark : sdt_marks(view->image())) {
            if (provider && !mark_matches(provider->string, mark.provider))
                continue;
            if (mark_matches(name.string, mark.name))
                out.push_back(candidate_of_mark(*view, mark, provider != nullptr));
            else if (std::find(names.begin(), names.end(), mark.name) == names.end())
                names.push_back(mark.name);
        }
    if (!out.empty() || point.optional || resolver.quiet || images->empty())
        return true;
    std::string hint = did_you_mean(name.string, names);
    if (hint.empty() && !names.empty()) {
        constexpr size_t most = 8;
        for (size_t i = 0; i < names.size() && i < most; i++)
            hint += (i ? ", " : "it has ") + names[i];
    }
    resolver.diagnostics
        .report(DiagnosticKind::NoMarker, name.argument_range,
                {name.string, images->front()->image().title()})
        .hint(hint.empty() ? "it has no such static probes" : hint);
    return false;
}

} // namespace

const std::vector<ProbeForms> sdt_family{
    {"process[({STRING|NUMBER})][.library(STRING)][.provider(STRING)].mark(STRING)",
     resolve_sdt_mark, code_traits},
};

} // namespace djstap
