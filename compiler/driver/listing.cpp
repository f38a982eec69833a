// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/listing.h"

#include "driver/passes.h"
#include "driver/script.h"

#include <algorithm>

namespace djstap::driver {

namespace {

// Returns whether `name` matches `pattern`, in which * stands for any string.
bool fits(std::string_view pattern, std::string_view name) {
    size_t star = pattern.find('*');
    if (star == std::string_view::npos)
        return pattern == name;
    if (!name.starts_with(pattern.substr(0, star)))
        return false;
    std::string_view rest =
        pattern.substr(pattern.find_first_not_of('*', star) == std::string_view::npos
                           ? pattern.size()
                           : pattern.find_first_not_of('*', star));
    for (size_t at = star; at <= name.size(); at++) {
        if (fits(rest, name.substr(at)))
            return true;
        if (rest.empty())
            return true;
    }
    return false;
}

void print_listing(Invocation& invocation, const ProbeListing& listing) {
    ListedPoint point;
    point.point = listing.point;
    if (listing.mechanism != Mechanism::None)
        point.mechanism = mechanism_name(listing.mechanism);
    point.reason = listing.reason;
    point.variables = listing.variables;
    point.variables_wanted = invocation.options.list_variables;
    point.mechanism_wanted = point.variables_wanted || invocation.options.verbose() > 0;
    invocation.output().listed(point);
}

// Parses the script `probe PATTERN {}` for its only declaration.
std::optional<ast::File> parse_pattern(Invocation& invocation) {
    uint32_t id =
        invocation.sources.add("<probe>", "probe " + invocation.options.list_pattern + " {}");
    auto file = parse_file(invocation.sources, id, invocation.preprocessor(),
                           invocation.tapsets().macros(), invocation.diagnostics);
    if (!file)
        return std::nullopt;
    bool one = file->probes.size() == 1 && file->aliases.empty() && file->functions.empty() &&
               file->globals.empty() && file->embedded.empty();
    if (!one) {
        invocation.diagnostics.report(DiagnosticKind::NotOnePoint, {id, 6, 6, 0});
        return std::nullopt;
    }
    return file;
}

std::string dotted(const ast::ProbePoint& point) {
    std::string text;
    for (const ast::PointComponent& component : point.components)
        text += (text.empty() ? "" : ".") + component.name;
    return text;
}

// Returns what a point without arguments names: a tapset's aliases and, for a pattern, the kinds of
// probe points.
std::vector<ProbeListing> named_points(Invocation& invocation, const ast::ProbePoint& point) {
    if (std::any_of(point.components.begin(), point.components.end(), [](const auto& each) {
            return each.argument != ast::PointComponent::Argument::None;
        }))
        return {};
    const std::string pattern = dotted(point);
    std::vector<ProbeListing> out;
    for (const std::string& alias : invocation.tapsets().alias_names())
        if (fits(pattern, alias))
            out.push_back({alias, {}, Mechanism::None, "defined by a tapset"});
    if (pattern.find('*') != std::string::npos)
        for (const std::string& type : probe_types())
            if (fits(pattern, type))
                out.push_back({type, {}, Mechanism::None, ""});
    auto before = [](const auto& a, const auto& b) { return a.point < b.point; };
    std::stable_sort(out.begin(), out.end(), before);
    auto same = [](const auto& a, const auto& b) { return a.point == b.point; };
    out.erase(std::unique(out.begin(), out.end(), same), out.end());
    return out;
}

} // namespace

bool list_points(Invocation& invocation) {
    auto file = parse_pattern(invocation);
    if (!file)
        return false;
    size_t found = 0;
    bool good = true;
    for (const ast::ProbePoint& point : file->probes[0].points) {
        const size_t before = found;
        for (const ProbeListing& listing : named_points(invocation, point)) {
            print_listing(invocation, listing);
            found++;
        }
        if (found != before)
            continue;
        auto listings = list_probes(
            point, invocation.options.list_variables || invocation.output().lists_mechanisms(),
            invocation.images, invocation.diagnostics);
        if (!listings) {
            good = false;
            continue;
        }
        for (const ProbeListing& listing : *listings)
            print_listing(invocation, listing);
        found += listings->size();
    }
    if (good && found == 0)
        invocation.diagnostics.report(DiagnosticKind::NothingListed, {},
                                      {invocation.options.list_pattern});
    return good && found != 0;
}

bool print_probe_types(Invocation& invocation) {
    for (const std::string& type : probe_types())
        invocation.output().line(type);
    return true;
}

bool print_aliases(Invocation& invocation) {
    std::vector<std::string> names = invocation.tapsets().alias_names();
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
        invocation.output().line(name);
    return !invocation.diagnostics.has_errors();
}

bool print_functions(Invocation& invocation) {
    // Each overload on a line of its own, like SystemTap.
    std::vector<std::string> names = invocation.tapsets().function_names();
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    auto type = [](ast::TypeName name) {
        return name == ast::TypeName::Long     ? ":long"
               : name == ast::TypeName::String ? ":string"
                                               : "";
    };
    for (const std::string& name : names) {
        for (const ast::File* file : invocation.tapsets().files_defining_function(name)) {
            for (const ast::Function& function : file->functions) {
                if (function.name != name || function.is_private)
                    continue;
                std::string text = name + type(function.return_type) + " (";
                for (size_t i = 0; i < function.parameters.size(); i++)
                    text += (i ? ", " : "") + function.parameters[i].name +
                            type(function.parameters[i].type);
                invocation.output().line(text + ")");
            }
        }
    }
    return !invocation.diagnostics.has_errors();
}

} // namespace djstap::driver
