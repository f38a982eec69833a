// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/listing.h"

#include "driver/fallback.h"
#include "driver/passes.h"
#include "driver/script.h"

#include "diagnostics/suggest.h"
#include "documentation/variables.h"
#include "image/glob.h"
#include "semantics/alias_names.h"
#include "semantics/points.h"

#include <algorithm>

namespace djstap::driver {

namespace {

bool shows_mechanisms(const Invocation& invocation) {
    return invocation.options.list_variables || invocation.options.verbose() > 0;
}

void print_listing(Invocation& invocation, const ProbeListing& listing) {
    ListedPoint point;
    point.point = listing.point;
    if (listing.mechanism != Mechanism::None)
        point.mechanism = mechanism_name(listing.mechanism);
    point.reason = listing.reason + (listing.jump.empty() ? "" : "; " + listing.jump);
    point.variables = listing.variables;
    point.variables_wanted = invocation.options.list_variables;
    point.mechanism_wanted = shows_mechanisms(invocation);
    invocation.output().listed(point);
}

// Parses the script `probe PATTERN {}` for its only declaration.
std::optional<ast::File> parse_pattern(Invocation& invocation) {
    uint32_t id =
        invocation.sources.add("<probe>", "probe " + invocation.options.list_pattern + " {}");
    if (invocation.options.list_pattern.find_first_not_of(" \t\n") == std::string::npos) {
        invocation.diagnostics.report(DiagnosticKind::NotOnePoint, {})
            .hint("-l and -L take a probe point: 'vfs.*', 'kernel.function(\"vfs_*\")', or '**' "
                  "for all names");
        return std::nullopt;
    }
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

using Components = std::vector<ast::PointComponent>;

std::string dotted(const Components& components, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; i++)
        text += (text.empty() ? "" : ".") + components[i].name;
    return text;
}

bool has_argument(const ast::PointComponent& component) {
    return component.argument != ast::PointComponent::Argument::None;
}

// Returns whether a point is one of a family, if necessary through a tapset's aliases.
bool leads_to_family(Invocation& invocation, const Components& components, size_t aliases = 0) {
    constexpr size_t most_aliases = 10;
    ast::ProbePoint point;
    point.components = components;
    const std::string wanted = shape_of(point);
    const PointShapes shapes = probe_shapes();
    if (!shapes.matching(components).empty() ||
        std::any_of(shapes.all().begin(), shapes.all().end(),
                    [&](const PointShape& each) { return each.shape == wanted; }))
        return true;
    if (aliases == most_aliases)
        return false;
    for (size_t count = components.size(); count > 0; count--) {
        const std::string name = dotted(components, count);
        for (const ast::File* file : invocation.tapsets().files_defining_alias(name))
            for (const ast::Alias& alias : file->aliases) {
                const bool named = std::any_of(
                    alias.names.begin(), alias.names.end(),
                    [&](const Components& each) { return dotted(each, each.size()) == name; });
                for (size_t i = 0; named && i < alias.points.size(); i++) {
                    Components whole = alias.points[i].components;
                    whole.insert(whole.end(), components.begin() + static_cast<ptrdiff_t>(count),
                                 components.end());
                    if (leads_to_family(invocation, whole, aliases + 1))
                        return true;
                }
            }
    }
    return false;
}

// Returns the aliases that the first components name, with the others behind them: vfs.*.return.
std::vector<std::string> aliases_with_suffix(Invocation& invocation, const Components& components) {
    std::vector<std::string> found;
    for (size_t count = components.size() - 1; count > 0 && found.empty(); count--) {
        const Components suffix(components.begin() + static_cast<ptrdiff_t>(count),
                                components.end());
        if (std::any_of(components.begin(), components.begin() + static_cast<ptrdiff_t>(count),
                        has_argument) ||
            dotted(suffix, suffix.size()).find('*') != std::string::npos)
            continue;
        ast::ProbePoint behind;
        behind.components = suffix;
        const std::string pattern = dotted(components, count);
        for (const std::string& alias : invocation.tapsets().alias_names()) {
            if (!glob_match(pattern, alias))
                continue;
            Components whole;
            for (size_t begin = 0; begin < alias.size();) {
                const size_t end = std::min(alias.find('.', begin), alias.size());
                whole.emplace_back().name = alias.substr(begin, end - begin);
                begin = end + 1;
            }
            whole.insert(whole.end(), suffix.begin(), suffix.end());
            if (leads_to_family(invocation, whole))
                found.push_back(alias + "." + ast::to_string(behind));
        }
    }
    return found;
}

// Returns what a point names: a tapset's aliases, also with a suffix, and, for a pattern without
// arguments, the kinds of probe points.
std::vector<ProbeListing> named_points(Invocation& invocation, const ast::ProbePoint& point) {
    const Components& components = point.components;
    const bool arguments = std::any_of(components.begin(), components.end(), has_argument);
    const std::string pattern = dotted(components, components.size());
    std::vector<ProbeListing> out;
    AliasVariables variables(invocation.tapsets());
    auto add_alias = [&](const std::string& alias) {
        std::vector<std::string> names;
        if (invocation.options.list_variables)
            for (const AliasVariable& each : variables.of(alias)) {
                const std::string_view type = name_of(each.type);
                names.push_back(each.name + (type.empty() ? "" : ":" + std::string(type)));
            }
        out.push_back({alias, std::move(names), Mechanism::None, "defined by a tapset", ""});
    };
    for (const std::string& alias : invocation.tapsets().alias_names())
        if (!arguments && glob_match(pattern, alias))
            add_alias(alias);
    if (!arguments && pattern.find('*') != std::string::npos)
        for (const std::string& type : probe_types())
            if (glob_match(pattern, type))
                out.push_back({type, {}, Mechanism::None, "", ""});
    if (out.empty())
        for (const std::string& alias : aliases_with_suffix(invocation, components))
            add_alias(alias);
    auto before = [](const auto& a, const auto& b) { return a.point < b.point; };
    std::stable_sort(out.begin(), out.end(), before);
    auto same = [](const auto& a, const auto& b) { return a.point == b.point; };
    out.erase(std::unique(out.begin(), out.end(), same), out.end());
    return out;
}

// Reports a pattern whose first component is nearly that of points: syscal.*.
bool reports_unknown_beginning(Invocation& invocation, const ast::PointComponent& first,
                               const std::vector<std::string>& aliases, const PointShapes& shapes) {
    std::vector<std::string> names(shapes.roots().begin(), shapes.roots().end());
    for (const std::string& each : aliases)
        names.push_back(each.substr(0, each.find('.')));
    const std::string hint = did_you_mean(first.name, names);
    if (hint.empty() || first.name.find('*') != std::string::npos)
        return false;
    invocation.diagnostics.report(DiagnosticKind::UnknownProbeFamily, first.range, {first.name})
        .hint(hint);
    return true;
}

// Reports a point that no family of points has, and no tapset, if a tapset has similar names.
bool reports_unknown_alias(Invocation& invocation, const ast::ProbePoint& point) {
    const Components& components = point.components;
    const std::vector<std::string> aliases = invocation.tapsets().alias_names();
    const PointShapes shapes = probe_shapes();
    const std::string& first = components.front().name;
    const bool is_family =
        std::any_of(shapes.roots().begin(), shapes.roots().end(),
                    [&](const std::string& root) { return matches_component(first, root); });
    const std::string name = dotted(components, components.size());
    if (is_family) {
        const size_t good = semantics::beginning_of_alias(components, aliases, shapes);
        if (good)
            semantics::report_unknown_after(components, good, aliases, invocation.diagnostics);
        return good != 0;
    }
    if (name.find('*') != std::string::npos) {
        const std::string kin = first + ".";
        if (std::none_of(aliases.begin(), aliases.end(),
                         [&](const std::string& each) { return each.starts_with(kin); }))
            return reports_unknown_beginning(invocation, components.front(), aliases, shapes);
        invocation.diagnostics
            .report(DiagnosticKind::UnknownProbePoint,
                    components.front().range.to(components.back().range), {name})
            .hint("djstap -l '" + kin + "**' lists the aliases that begin with " + first);
        return true;
    }
    // An alias with a suffix that none of its points can have.
    for (size_t count = components.size() - 1; count > 0; count--) {
        if (std::find(aliases.begin(), aliases.end(), dotted(components, count)) == aliases.end())
            continue;
        std::vector<std::string> suffixes;
        for (const PointShape& each : shapes.all())
            suffixes.push_back(each.shape.substr(each.shape.rfind('.') + 1));
        std::erase_if(suffixes, [](const std::string& each) { return each.ends_with(')'); });
        const ast::PointComponent& wrong = components[count];
        invocation.diagnostics.report(DiagnosticKind::UnknownProbeFamily, wrong.range, {wrong.name})
            .hint(did_you_mean(wrong.name, suffixes));
        return true;
    }
    const std::string hint = did_you_mean(name, aliases);
    if (hint.empty())
        return false;
    invocation.diagnostics
        .report(DiagnosticKind::UnknownProbePoint,
                components.front().range.to(components.back().range), {name})
        .hint(hint);
    return true;
}

} // namespace

bool list_points(Invocation& invocation) {
    auto file = parse_pattern(invocation);
    if (!file)
        return false;
    size_t found = 0;
    bool good = true;
    ListingOptions wanted{invocation.options.list_variables ||
                              invocation.output().lists_mechanisms(),
                          shows_mechanisms(invocation), can_fall_back(invocation)};
    if (wanted.uprobes)
        for (const std::string& each : objections_to_jumps(invocation))
            wanted.objection += (wanted.objection.empty() ? "" : "; ") + each;
    for (const ast::ProbePoint& point : file->probes[0].points) {
        const size_t before = found;
        for (const ProbeListing& listing : named_points(invocation, point)) {
            print_listing(invocation, listing);
            found++;
        }
        if (found != before)
            continue;
        if (reports_unknown_alias(invocation, point)) {
            good = false;
            continue;
        }
        auto listings = list_probes(point, wanted, invocation.images, invocation.diagnostics);
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
    for (const std::string& name : invocation.tapsets().alias_names())
        invocation.output().line(name);
    return !invocation.diagnostics.has_errors();
}

bool print_functions(Invocation& invocation) {
    // Each overload on a line of its own, like SystemTap. Names that begin with __ are a file's
    // own.
    std::vector<std::string> names = invocation.tapsets().function_names();
    std::erase_if(names, [](const std::string& name) { return name.starts_with("__"); });
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
