// SPDX-License-Identifier: GPL-2.0-or-later
// kernel.function("name"), .call, .inline, .exported, .return: entries and returns of functions,
// and their inline instances.
#include "probes/function_candidates.h"
#include "probes/function_patterns.h"
#include "probes/wrappers.h"

#include "image/glob.h"

#include <algorithm>
#include <set>

namespace djstap {

namespace {

// What a point matches: functions with code of their own, inline instances, or both.
enum class Wanted : uint8_t { All, Own, Inlined, Exported, Return };

// The line in a function pattern is that of the declaration, as in listings. `List`: functions, or
// their inline instances.
template <class List> void keep_declared_there(const FunctionPattern& pattern, List& list) {
    if (pattern.line_kind == FunctionPattern::LineKind::Absolute)
        std::erase_if(list, [&](const auto& each) { return each.line != pattern.line; });
}

void report_no_match(const ast::PointComponent& component, const FunctionPattern& pattern,
                     const std::vector<const ImageView*>& images, Wanted wanted,
                     Resolver& resolver) {
    const DebugInfo& info = images.front()->info();
    if (wanted == Wanted::Inlined && !info.functions(pattern, false).empty()) {
        resolver.diagnostics
            .report(DiagnosticKind::NotInlined, component.argument_range, {pattern.function})
            .hint("omit .inline to probe its own code");
        return;
    }
    if (info.only_inlined(pattern.function)) {
        const std::string suffix = wanted == Wanted::Return     ? "return"
                                   : wanted == Wanted::Exported ? "exported"
                                                                : "call";
        resolver.diagnostics
            .report(DiagnosticKind::FunctionOnlyInlined, component.argument_range,
                    {pattern.function, suffix})
            .hint("omit ." + suffix + " to probe each of its inline instances");
        return;
    }
    report_no_function(component, pattern, images, resolver);
}

constexpr size_t max_listed_places = 5000;

// Adds the places where the pattern's functions are inlined: a kprobe at the first instruction of
// each inline instance.
size_t add_all_inlined(const ImageView& view, const FunctionPattern& pattern,
                       const Resolver& resolver, std::vector<Candidate>& out, Refusal& refusal) {
    // A listing names a function once; if there are very many inline instances, one of each that
    // can be probed is sufficient.
    const bool one_of_each =
        resolver.probe == nullptr && view.info().inlined_count(pattern) > max_listed_places;
    const auto can_be_probed = [&](const StatementAddress& place) {
        return choose_for_instruction(view.image(), place.address, resolver.options.forced)
            .refusal.empty();
    };
    std::vector<StatementAddress> places =
        view.info().inlined(pattern, one_of_each ? DebugInfo::PlaceFilter(can_be_probed) : nullptr);
    keep_declared_there(pattern, places);
    for (const StatementAddress& place : places)
        add_inlined(view, place, resolver, out, refusal);
    return places.size();
}

// Adds the returns of the functions into which the compiler inlined the named one, if each of these
// returns what it returns. Returns how many there are.
size_t add_returns_of_wrappers(const ast::ProbePoint& point, const ImageView& view,
                               const FunctionPattern& pattern, Resolver& resolver,
                               std::vector<Candidate>& out, Refusal& refusal) {
    std::set<std::string> symbols;
    for (const StatementAddress& place : view.info().inlined(pattern, nullptr)) {
        if (!is_wrapper(place.symbol, pattern.function))
            return 0; // the others' returns would be a part of what is asked for
        symbols.insert(place.symbol);
    }
    size_t found = 0;
    std::string names;
    for (const std::string& symbol : symbols) {
        FunctionPattern of_wrapper;
        of_wrapper.function = symbol;
        std::vector<FunctionInfo> functions = view.info().functions(of_wrapper, resolver.details);
        found += functions.size();
        add_functions(point, view, std::move(functions), true, resolver, out, refusal);
        names += (names.empty() ? "" : ", ") + symbol;
    }
    if (found > 0)
        resolver.diagnostics.report(DiagnosticKind::ReturnOfWrapper,
                                    code_component(point).argument_range,
                                    {pattern.function, names});
    return found;
}

// Setting so many breakpoints takes long; a pattern skips them, and for a single function they must
// be requested explicitly.
bool too_many_inlined(const ast::PointComponent& argument, const FunctionPattern& pattern,
                      const std::vector<const ImageView*>& images, bool own_found,
                      Resolver& resolver) {
    size_t count = 0;
    for (const ImageView* each : images)
        count += each->info().inlined_count(pattern);
    if (resolver.probe == nullptr || count <= static_cast<size_t>(resolver.options.max_kprobes))
        return false;
    const std::string hint = probe_as_well(static_cast<ptrdiff_t>(count));
    if (own_found)
        resolver.diagnostics
            .report(DiagnosticKind::InlinedLeftOut, argument.argument_range,
                    {argument.string,
                     std::to_string(count) + (count == 1 ? " inline instance of a function"
                                                         : " inline instances of functions")})
            .hint(hint + "; .call selects only the functions' own code");
    else
        resolver.diagnostics
            .report(DiagnosticKind::CannotProbe, argument.argument_range,
                    {argument.string, "it is inlined at " + std::to_string(count) +
                                          (count == 1 ? " place" : " places") +
                                          ", more than MAXKPROBES"})
            .hint(hint);
    return true;
}

void keep_exported(const ImageView& view, std::vector<FunctionInfo>& functions) {
    if (view.image().kind() == ImageKind::Program) {
        std::erase_if(functions, [](const FunctionInfo& function) { return !function.external; });
        return;
    }
    std::erase_if(functions, [&](const FunctionInfo& function) {
        return !view.image().symbol("__ksymtab_" + function.symbol);
    });
}

bool resolve_functions(const ast::ProbePoint& point, Resolver& resolver,
                       std::vector<Candidate>& out, Wanted wanted) {
    const ast::PointComponent& argument = code_component(point);
    auto pattern = function_pattern(argument, resolver);
    auto images = pattern ? find_images(point, resolver) : std::nullopt;
    if (!images)
        return false;
    Refusal refusal;
    size_t found = 0;
    for (const ImageView* each : *images) {
        if (wanted == Wanted::Inlined)
            break;
        std::vector<FunctionInfo> functions = each->info().functions(*pattern, resolver.details);
        keep_declared_there(*pattern, functions);
        const bool any = !functions.empty();
        if (wanted == Wanted::Exported)
            keep_exported(*each, functions);
        if (any && functions.empty() && !has_wildcard(argument.string) && !point.optional &&
            !resolver.quiet) {
            resolver.diagnostics
                .report(DiagnosticKind::NotExported, argument.argument_range, {pattern->function})
                .hint("omit .exported to probe it anyway");
            return false;
        }
        found += functions.size();
        add_functions(point, *each, std::move(functions), wanted == Wanted::Return, resolver, out,
                      refusal);
    }
    if (wanted == Wanted::All || wanted == Wanted::Inlined) {
        const bool too_many = too_many_inlined(argument, *pattern, *images, found > 0, resolver);
        if (too_many && found == 0)
            return false;
        Refusal of_inlined; // ignored if the function has code of its own
        for (const ImageView* each : *images)
            if (!too_many)
                found += add_all_inlined(*each, *pattern, resolver, out, of_inlined);
        if (out.empty() && refusal.name.empty())
            refusal = of_inlined;
    }
    if (found == 0 && wanted == Wanted::Return && resolver.probe != nullptr && !resolver.quiet &&
        pattern->file.empty() && !has_wildcard(argument.string))
        for (const ImageView* each : *images)
            found += add_returns_of_wrappers(point, *each, *pattern, resolver, out, refusal);
    if (found == 0) {
        if (point.optional || resolver.quiet || images->empty())
            return true;
        report_no_match(argument, *pattern, *images, wanted, resolver);
        return false;
    }
    bool many = has_wildcard(argument.string) || images->size() > 1;
    if (many && !resolver.options.forced && wanted != Wanted::Inlined)
        leave_out_kprobes(argument, resolver, out);
    // A pattern skips what cannot be probed; for a named function this is an error.
    if (!refusal.name.empty() && (!many || out.empty()) && !point.optional && !resolver.quiet) {
        resolver.diagnostics
            .report(DiagnosticKind::CannotProbe, argument.argument_range,
                    {refusal.name, refusal.why})
            .hint(resolver.options.forced && !refusal.never
                      ? "omit --mechanism to let djstap choose"
                      : refusal.hint);
        return false;
    }
    return true;
}

// kernel.function(ADDRESS): the innermost function that contains it, inlined or not.
bool resolve_by_address(const ast::ProbePoint& point, Resolver& resolver,
                        std::vector<Candidate>& out, Wanted wanted) {
    const ast::PointComponent& argument = code_component(point);
    auto images = find_images(point, resolver);
    if (!images)
        return false;
    Refusal refusal;
    for (const ImageView* view : *images) {
        const uint64_t address = link_time_address(view->image(), argument);
        std::optional<StatementAddress> inlined;
        if (wanted == Wanted::All || wanted == Wanted::Inlined)
            inlined = view->info().inlined_at(address);
        if (inlined) {
            add_inlined(*view, *inlined, resolver, out, refusal);
            continue;
        }
        const auto symbol = view->image().symbol_at(address);
        if (!symbol || wanted == Wanted::Inlined)
            continue;
        FunctionPattern pattern;
        pattern.function = symbol->name;
        auto functions = view->info().functions(pattern, resolver.details);
        std::erase_if(functions,
                      [&](const FunctionInfo& each) { return each.entry != symbol->address; });
        if (wanted == Wanted::Exported)
            keep_exported(*view, functions);
        add_functions(point, *view, std::move(functions), wanted == Wanted::Return, resolver, out,
                      refusal);
    }
    if (!out.empty() || point.optional || resolver.quiet || images->empty())
        return true;
    return refuse_address(point, resolver,
                          !refusal.why.empty()         ? refusal.why
                          : wanted == Wanted::Inlined  ? "no inline instance of a function is there"
                          : wanted == Wanted::Exported ? "no exported function is there"
                                                       : "no function is there",
                          refusal.why.empty() ? address_hint(images->front()->image()) : "");
}

// Each form for a function's name has one for an address in it.
template <Wanted wanted>
bool resolve(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out) {
    using Argument = ast::PointComponent::Argument;
    return code_component(point).argument == Argument::Number
               ? resolve_by_address(point, resolver, out, wanted)
               : resolve_functions(point, resolver, out, wanted);
}

} // namespace

const std::vector<ProbeForms> function_family{
    {DJS_CODE ".function({STRING|NUMBER})", resolve<Wanted::All>, code_traits},
    {DJS_CODE ".function({STRING|NUMBER}).call", resolve<Wanted::Own>, code_traits},
    {DJS_CODE ".function({STRING|NUMBER}).inline", resolve<Wanted::Inlined>, code_traits},
    {DJS_CODE ".function({STRING|NUMBER}).exported", resolve<Wanted::Exported>, code_traits},
    {DJS_CODE ".function({STRING|NUMBER}).{return[.maxactive(NUMBER)]|call.return}",
     resolve<Wanted::Return>, code_traits},
};

} // namespace djstap
