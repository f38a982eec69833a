#include "driver/listing.h"

#include "driver/passes.h"
#include "driver/script.h"

#include <algorithm>

namespace djstap::driver {

namespace {

// Does `name` fit `pattern`, in which * stands for any text?
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

void print_listing(RunState& state, const ProbeListing& listing) {
    ListedPoint point;
    point.point = listing.point;
    if (listing.mechanism != Mechanism::None)
        point.mechanism = mechanism_name(listing.mechanism);
    point.reason = listing.reason;
    point.variables = listing.variables;
    point.variables_wanted = state.options.list_variables;
    point.mechanism_wanted = point.variables_wanted || state.options.verbose() > 0;
    state.output().listed(point);
}

// The script `probe PATTERN {}`, for its one declaration.
std::optional<ast::File> parse_pattern(RunState& state) {
    uint32_t id = state.sources.add("<probe>", "probe " + state.options.list_pattern + " {}");
    auto file = parse_file(state.sources, id, state.preprocessor(), state.tapsets().macros(),
                           state.diagnostics);
    if (!file)
        return std::nullopt;
    bool one = file->probes.size() == 1 && file->aliases.empty() && file->functions.empty() &&
               file->globals.empty() && file->embedded.empty();
    if (!one) {
        state.diagnostics.report(DiagnosticKind::NotOnePoint, {id, 6, 6, 0});
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

// What a point without arguments names by itself: a tapset's aliases and, for a pattern, the kinds
// of probe points.
std::vector<ProbeListing> named_points(RunState& state, const ast::ProbePoint& point) {
    if (std::any_of(point.components.begin(), point.components.end(), [](const auto& each) {
            return each.argument != ast::PointComponent::Argument::None;
        }))
        return {};
    const std::string pattern = dotted(point);
    std::vector<ProbeListing> out;
    for (const std::string& alias : state.tapsets().alias_names())
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

bool list_points(RunState& state) {
    auto file = parse_pattern(state);
    if (!file)
        return false;
    size_t found = 0;
    bool good = true;
    for (const ast::ProbePoint& point : file->probes[0].points) {
        const size_t before = found;
        for (const ProbeListing& listing : named_points(state, point)) {
            print_listing(state, listing);
            found++;
        }
        if (found != before)
            continue;
        auto listings =
            list_probes(point, state.options.list_variables || state.output().lists_mechanisms(),
                        state.kernel, state.diagnostics);
        if (!listings) {
            good = false;
            continue;
        }
        for (const ProbeListing& listing : *listings)
            print_listing(state, listing);
        found += listings->size();
    }
    if (good && found == 0)
        state.diagnostics.report(DiagnosticKind::NothingListed, {}, {state.options.list_pattern});
    return good && found != 0;
}

bool print_probe_types(RunState& state) {
    for (const std::string& type : probe_types())
        state.output().line(type);
    return true;
}

bool print_aliases(RunState& state) {
    std::vector<std::string> names = state.tapsets().alias_names();
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
        state.output().line(name);
    return !state.diagnostics.has_errors();
}

bool print_functions(RunState& state) {
    // Every overload in its own line, as SystemTap lists them.
    std::vector<std::string> names = state.tapsets().function_names();
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    auto type = [](ast::TypeName name) {
        return name == ast::TypeName::Long     ? ":long"
               : name == ast::TypeName::String ? ":string"
                                               : "";
    };
    for (const std::string& name : names) {
        for (const ast::File* file : state.tapsets().files_defining_function(name)) {
            for (const ast::Function& function : file->functions) {
                if (function.name != name || function.is_private)
                    continue;
                std::string text = name + type(function.return_type) + " (";
                for (size_t i = 0; i < function.parameters.size(); i++)
                    text += (i ? ", " : "") + function.parameters[i].name +
                            type(function.parameters[i].type);
                state.output().line(text + ")");
            }
        }
    }
    return !state.diagnostics.has_errors();
}

} // namespace djstap::driver
