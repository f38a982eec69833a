// SPDX-License-Identifier: GPL-2.0-or-later
// kernel.function("f").callee("g"), .callees, .callees(N): the functions that f calls, when they
// are called by it; the same in programs.
#include "probes/call_paths.h"
#include "probes/function_candidates.h"
#include "probes/function_patterns.h"
#include "probes/statement_candidates.h"

#include "debuginfo/pattern.h"
#include "diagnostics/suggest.h"
#include "image/glob.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>

namespace djstap {

namespace {

constexpr int64_t deepest_call = 20;

// What a point says about the callees.
struct WantedCallees {
    std::vector<FunctionPattern> names; // .callee("g").callee("h"); empty: any
    size_t first_depth = 1, last_depth = 1;
    bool is_return = false, only_called = false; // .return, .call
    const ast::PointComponent* component = nullptr;

    bool matches(const FunctionInfo& function, size_t depth) const {
        if (names.empty())
            return true;
        const FunctionPattern& name = names[depth - 1];
        const bool named =
            glob_match(name.function, function.name) || glob_match(name.function, function.symbol);
        return named && file_matches(name.file, function.file) &&
               (name.line_kind == FunctionPattern::LineKind::None || name.line == function.line);
    }
};

std::optional<WantedCallees> wanted_callees(const ast::ProbePoint& point, Resolver& resolver) {
    WantedCallees wanted;
    const auto* first = &code_component(point) + 1;
    for (const ast::PointComponent& component :
         std::span(first, std::to_address(point.components.end()))) {
        if (component.name == "callee") {
            auto pattern = function_pattern(component, resolver);
            if (!pattern)
                return std::nullopt;
            wanted.names.push_back(std::move(*pattern));
            wanted.first_depth = wanted.last_depth = wanted.names.size();
        } else if (component.argument == ast::PointComponent::Argument::Number) {
            if (component.number < 1 || component.number > deepest_call) {
                resolver.diagnostics.report(
                    DiagnosticKind::CannotProbe, component.argument_range,
                    {"callees", "the depth must be from 1 to " + std::to_string(deepest_call)});
                return std::nullopt;
            }
            wanted.last_depth = static_cast<size_t>(component.number);
        }
        wanted.is_return |= component.name == "return";
        wanted.only_called |= component.name == "call" || component.name == "return";
        if (component.name.starts_with("callee"))
            wanted.component = &component;
    }
    return wanted;
}

// The code of one function that the point names.
struct Root {
    CallerScope scope;
    std::string name; // "vfs_read@fs/read_write.c:450"
};

// The body of sys_NAME is a function that its wrapper calls, or which is inlined there.
void add_bodies(const DebugInfo& info, const CallerScope& wrapper, const std::string& name,
                std::vector<Root>& roots) {
    for (const CallSite& site : info.calls(wrapper).sites) {
        const bool inlined = site.kind == CallSite::Kind::Inlined;
        const std::string& callee = inlined ? site.inlined.function : site.callee.name;
        if (!callee.starts_with("__se_sys_") && !callee.starts_with("__do_sys_"))
            continue;
        const CallerScope body{inlined ? 0 : site.callee.entry, inlined ? site.inlined.scope : 0};
        roots.push_back({body, name});
        add_bodies(info, body, name, roots);
    }
}

void add_root(const DebugInfo& info, const FunctionInfo& function, std::vector<Root>& roots) {
    const CallerScope scope{function.entry, 0};
    const std::string name = name_and_place(function);
    roots.push_back({scope, name});
    if (function.is_syscall)
        add_bodies(info, scope, name, roots);
}

void add_root(const StatementAddress& inlined, std::vector<Root>& roots) {
    FunctionInfo function;
    function.name = inlined.function;
    function.file = inlined.file;
    function.line = inlined.line;
    roots.push_back({{0, inlined.scope}, name_and_place(function)});
}

std::vector<Root> roots_by_name(const ImageView& view, const FunctionPattern& pattern,
                                const Resolver& resolver) {
    auto declared_there = [&](const auto& each) {
        return pattern.line_kind == FunctionPattern::LineKind::None || each.line == pattern.line;
    };
    std::vector<Root> roots;
    for (const FunctionInfo& function : view.info().functions(pattern, false))
        if (declared_there(function))
            add_root(view.info(), function, roots);
    if (view.info().inlined_count(pattern) <= static_cast<size_t>(resolver.options.max_kprobes))
        for (const StatementAddress& inlined : view.info().inlined(pattern, nullptr))
            if (declared_there(inlined))
                add_root(inlined, roots);
    return roots;
}

std::vector<Root> roots_by_address(const ImageView& view, const ast::PointComponent& number) {
    std::vector<Root> roots;
    const uint64_t address = link_time_address(view.image(), number);
    if (auto inlined = view.info().inlined_at(address)) {
        add_root(*inlined, roots);
    } else if (auto symbol = view.image().symbol_at(address)) {
        FunctionPattern pattern;
        pattern.function = symbol->name;
        for (const FunctionInfo& function : view.info().functions(pattern, false))
            if (function.entry == symbol->address)
                add_root(view.info(), function, roots);
    }
    return roots;
}

// A jump to the callee leaves nothing on the stack that tells of its caller: the jump itself is
// probed. The registers and the stack are already those of the callee's entry.
void add_jump(const ImageView& view, CalledPlace& place, const Resolver& resolver,
              std::vector<Candidate>& out, Refusal& refusal) {
    MechanismChoice choice =
        choose_for_instruction(view.image(), place.address, resolver.options.forced);
    if (!choice.refusal.empty()) {
        refusal = {place.function.name, choice.refusal, choice.never, choice.hint};
        return;
    }
    const auto around = view.image().symbol_at(place.address);
    Candidate candidate = candidate_at(choice, view, around ? around->address : place.address,
                                       place.function.name, resolver);
    candidate.site.reason = "the jump with which its caller ends";
    candidate.function = std::make_unique<FunctionInfo>(std::move(place.function));
    out.push_back(std::move(candidate));
}

// Leaves out the callers that are gone. Returns whether others are left, or any will do.
bool keep_callers(const Image& image, Callers& callers) {
    for (CallerFrame& frame : callers.frames) {
        std::erase_if(frame.code,
                      [&](const CodeRange& range) { return is_gone(image, range.begin); });
        std::erase_if(frame.calls, [&](const CallerFrame::Call& call) {
            return is_gone(image, call.return_address);
        });
        if (frame.code.empty() && frame.calls.empty())
            return false;
    }
    return true;
}

void add_place(const ast::ProbePoint& point, const ImageView& view, const WantedCallees& wanted,
               CalledPlace& place, const Resolver& resolver, std::vector<Candidate>& out,
               Refusal& refusal) {
    if (!resolver.options.any_callers && !keep_callers(view.image(), place.callers)) {
        refusal = {code_component(point).string, gone, true, {}};
        return;
    }
    const size_t before = out.size();
    if (resolver.details && place.kind != CallSite::Kind::Inlined)
        view.info().add_details(place.function);
    if (place.kind == CallSite::Kind::Inlined)
        add_inlined(view, place.inlined, resolver, out, refusal);
    else if (place.kind == CallSite::Kind::Jump)
        add_jump(view, place, resolver, out, refusal);
    else
        add_functions(point, view, {std::move(place.function)}, wanted.is_return, resolver, out,
                      refusal);
    if (out.size() == before)
        return;
    Candidate& added = out.back();
    added.site.point = place.path;
    if (point.components.back().name == "return" || point.components.back().name == "call")
        added.site.point += "." + point.components.back().name;
    if (!resolver.options.any_callers)
        added.callers = std::move(place.callers);
}

bool has_one_frame(const CalledPlace& place) {
    return place.kind == CallSite::Kind::Call && place.callers.frames.size() == 1;
}

// Calls by several inline instances of a function are one place.
void merge(std::vector<CalledPlace>& places) {
    std::map<std::pair<uint64_t, std::string>, CalledPlace*> first;
    for (CalledPlace& place : places) {
        if (!has_one_frame(place))
            continue;
        auto [known, added] = first.try_emplace({place.function.entry, place.path}, &place);
        if (added)
            continue;
        auto& to = known->second->callers.frames.front().code;
        const auto& from = place.callers.frames.front().code;
        to.insert(to.end(), from.begin(), from.end());
        place.callers.frames.clear();
        place.function.entry = 0;
    }
    std::erase_if(places, [](const CalledPlace& place) {
        return place.kind == CallSite::Kind::Call && place.function.entry == 0;
    });
}

bool report_no_callee(const ast::ProbePoint& point, const WantedCallees& wanted,
                      std::vector<std::string> names, Resolver& resolver) {
    const ast::PointComponent* callee = find_component(point, "callee");
    const ast::PointComponent& named = callee ? *callee : *wanted.component;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::string hint =
        names.empty()
            ? "calls through pointers and of functions in other " +
                  std::string(point.components.front().name == "process" ? "files" : "modules") +
                  " are not known"
            : did_you_mean(wanted.names.empty() ? "" : wanted.names[0].function, names);
    if (hint.empty()) {
        hint = "it calls " + names.front();
        constexpr size_t enough = 8;
        for (size_t i = 1; i < names.size() && i < enough; i++)
            hint += ", " + names[i];
    }
    resolver.diagnostics
        .report(DiagnosticKind::NoCallee, named.argument_range,
                {code_component(point).string, callee ? callee->string : "*"})
        .hint(hint);
    return false;
}

bool resolve_callees(const ast::ProbePoint& point, Resolver& resolver,
                     std::vector<Candidate>& out) {
    const ast::PointComponent& caller = code_component(point);
    const bool by_address = caller.argument == ast::PointComponent::Argument::Number;
    auto pattern = by_address ? FunctionPattern() : function_pattern(caller, resolver);
    auto wanted = pattern ? wanted_callees(point, resolver) : std::nullopt;
    auto images = wanted ? find_images(point, resolver) : std::nullopt;
    if (!images)
        return false;
    Refusal refusal;
    size_t callers = 0, found = 0;
    std::vector<std::string> names;
    for (const ImageView* view : *images) {
        if (!check_dwarf(*view, point, resolver))
            return false;
        CallPaths paths(
            view->info(),
            [&](const FunctionInfo& function, size_t depth) {
                return wanted->matches(function, depth);
            },
            wanted->first_depth, wanted->last_depth);
        std::vector<CalledPlace> places;
        for (const Root& root : by_address ? roots_by_address(*view, caller)
                                           : roots_by_name(*view, *pattern, resolver)) {
            callers++;
            const size_t first = places.size();
            if (!paths.follow(root.scope, places)) {
                resolver.diagnostics
                    .report(DiagnosticKind::CannotProbe, caller.argument_range,
                            {caller.string, "there are more than " +
                                                std::to_string(CallPaths::most_places) +
                                                " ways in which callees are called"})
                    .hint("name fewer callers, or a lower depth");
                return false;
            }
            for (size_t i = first; i < places.size(); i++)
                places[i].path.insert(0, view->prefix() + ".function(\"" + root.name + "\")");
        }
        merge(places);
        std::erase_if(places, [&](const CalledPlace& place) {
            return (wanted->only_called && place.kind == CallSite::Kind::Inlined) ||
                   (wanted->is_return && place.kind != CallSite::Kind::Call);
        });
        found += places.size();
        for (CalledPlace& place : places)
            add_place(point, *view, *wanted, place, resolver, out, refusal);
        names.insert(names.end(), paths.names().begin(), paths.names().end());
    }
    const bool excused = point.optional || resolver.quiet || images->empty();
    if (callers == 0)
        return point.optional || images->empty() ||
               (resolver.quiet && has_wildcard(caller.string)) ||
               (by_address ? refuse_address(point, resolver, "no function is there",
                                            address_hint(images->front()->image()))
                           : report_no_function(caller, *pattern, *images, resolver));
    if (found == 0)
        return excused || report_no_callee(point, *wanted, std::move(names), resolver);
    if (!resolver.options.forced && found > 1)
        leave_out_kprobes(caller, resolver, out);
    if (!out.empty() || excused)
        return true;
    resolver.diagnostics.report(DiagnosticKind::CannotProbe, wanted->component->argument_range,
                                {refusal.name, refusal.why});
    return false;
}

} // namespace

const std::vector<ProbeForms> callee_family{
    {DJS_CODE ".function({STRING|NUMBER}).{callee(STRING)[.call|.return]|callees[(NUMBER)]}",
     resolve_callees, code_traits},
};

} // namespace djstap
