// SPDX-License-Identifier: GPL-2.0-or-later
// process("PATH").plt, .plt("NAME"), .return: calls of functions in other files, at the stubs in a
// program's procedure linkage table.
#include "probes/families.h"

#include "diagnostics/suggest.h"
#include "image/glob.h"
#include "image/libraries.h"

namespace djstap {

namespace {

Candidate candidate_of_stub(const ImageView& view, const LinkageStub& stub, bool is_return,
                            Mechanism mechanism) {
    Candidate candidate;
    candidate.kind = is_return ? HandlerKind::Return : HandlerKind::Entry;
    candidate.image = &view;
    candidate.site.mechanism = mechanism;
    candidate.site.reason = "a stub of the procedure linkage table";
    candidate.site.address = candidate.site.entry = stub.address;
    candidate.site.function = stub.name;
    candidate.site.point =
        view.prefix() + ".plt(\"" + stub.name + "\")" + (is_return ? ".return" : "");
    candidate.function = std::make_unique<FunctionInfo>();
    candidate.function->name = candidate.function->symbol = stub.name;
    candidate.function->entry = stub.address;
    candidate.stub = stub.name;
    return candidate;
}

bool resolve_plt(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out) {
    const ast::PointComponent& plt = *find_component(point, "plt");
    const bool has_name = plt.argument == ast::PointComponent::Argument::String;
    const std::string pattern = has_name ? plt.string : "*";
    auto images = find_images(point, resolver);
    if (!images)
        return false;
    const SourceRange where = has_name ? plt.argument_range : plt.range;
    const bool is_return = find_component(point, "return");
    std::string refusal;
    std::vector<std::string> names;
    for (const ImageView* view : *images)
        for (const LinkageStub& stub : linkage_stubs(view->image())) {
            names.push_back(stub.name);
            if (!glob_match(pattern, stub.name))
                continue;
            const MechanismChoice choice =
                is_return
                    ? choose_for_return(view->image(), stub.address, {}, resolver.options.forced)
                    : choose_for_entry(view->image(), stub.address, resolver.options.forced, false);
            refusal = choice.refusal;
            if (refusal.empty())
                out.push_back(candidate_of_stub(*view, stub, is_return, choice.mechanism));
        }
    if (!out.empty() || point.optional || resolver.quiet || images->empty())
        return true;
    if (!refusal.empty()) {
        resolver.diagnostics.report(DiagnosticKind::CannotProbe, where, {pattern, refusal});
        return false;
    }
    resolver.diagnostics
        .report(DiagnosticKind::NoFunction, where, {pattern, images->front()->image().title()})
        .hint(names.empty() ? "it calls no function of another file through such a stub"
                            : did_you_mean(pattern, names));
    return false;
}

} // namespace

const std::vector<ProbeForms> plt_family{
    {"process[({STRING|NUMBER})][.library(STRING)].plt[(STRING)][.return]", resolve_plt,
     code_traits},
};

} // namespace djstap
