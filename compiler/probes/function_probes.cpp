// SPDX-License-Identifier: GPL-2.0-or-later
// kernel.function("name"), .call, .inline, .exported, .return: entries and returns of functions,
// and their inline instances.
#include "probes/families.h"

#include "diagnostics/suggest.h"
#include "image/glob.h"

#include <algorithm>

namespace djstap {

namespace {

// What a point matches: functions with code of their own, inline instances, or both.
enum class Wanted : uint8_t { All, Own, Inlined, Exported, Return };

std::string quoted_point(const ImageView& view, const FunctionInfo& function,
                         std::string_view suffix) {
    std::string where = function.is_syscall ? function.symbol : function.name;
    if (!function.file.empty())
        where +=
            "@" + function.file + (function.line > 0 ? ":" + std::to_string(function.line) : "");
    return view.prefix() + ".function(\"" + where + "\")" + std::string(suffix);
}

// "kernel 6.1.0", "module 'ext4' of kernel 6.1.0"
std::string describe(const std::vector<const ImageView*>& images) {
    const Image& first = images.front()->image();
    return images.size() == 1
               ? first.title()
               : std::to_string(images.size()) + " modules of " + first.kernel().title();
}

// xfs_file_open is probably in the module xfs; the longest prefix that is a module's name is used.
std::string module_hint(const FunctionPattern& pattern, Resolver& resolver) {
    if (has_wildcard(pattern.function))
        return {};
    for (size_t end = pattern.function.rfind('_'); end != std::string::npos && end > 0;
         end = pattern.function.rfind('_', end - 1)) {
        const std::string name = pattern.function.substr(0, end);
        auto module = resolver.images.module(name);
        if (module && !(*module)->info().functions(pattern, false).empty())
            return "it belongs to a module: module(\"" + name + "\").function(\"" +
                   pattern.function + "\")";
    }
    return {};
}

// Returns where a function that was sought in another file, or on another line, is; "": nowhere.
std::string where_it_is(FunctionPattern pattern, const std::vector<const ImageView*>& images) {
    if (has_wildcard(pattern.function) || pattern.file.empty())
        return {};
    pattern.file.clear();
    pattern.line_kind = FunctionPattern::LineKind::None;
    for (const ImageView* each : images)
        for (const FunctionInfo& function : each->info().functions(pattern, true))
            return function.file.empty()
                       ? "the source files of functions are known only from debug symbols, which "
                         "are missing"
                       : "it is declared at " + function.file + ":" + std::to_string(function.line);
    return {};
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
    auto& diagnostic = resolver.diagnostics.report(
        DiagnosticKind::NoFunction, component.argument_range, {component.string, describe(images)});
    std::string hint = where_it_is(pattern, images);
    if (hint.empty() && !has_wildcard(pattern.function))
        hint = did_you_mean(pattern.function, info.similar_functions(pattern.function));
    if (hint.empty() && !pattern.file.empty())
        hint = "the file was matched as " + pattern.file + "; omit it to search all files";
    if (hint.empty())
        hint = module_hint(pattern, resolver);
    diagnostic.hint(hint);
}

// The line in a function pattern is that of the declaration, as in listings. `List`: functions, or
// their inline instances.
template <class List> void keep_declared_there(const FunctionPattern& pattern, List& list) {
    if (pattern.line_kind == FunctionPattern::LineKind::Absolute)
        std::erase_if(list, [&](const auto& each) { return each.line != pattern.line; });
}

// Returns the pattern of the point's functions; nothing after reporting an error.
std::optional<FunctionPattern> pattern_of(const ast::ProbePoint& point, Resolver& resolver) {
    const ast::PointComponent& component = point.components[1];
    auto pattern = parse_function_pattern(component.string);
    if (!pattern) {
        resolver.diagnostics
            .report(DiagnosticKind::BadFunctionPattern, component.argument_range,
                    {pattern.failure().message})
            .hint(pattern.failure().hint);
        return std::nullopt;
    }
    using LineKind = FunctionPattern::LineKind;
    if (pattern->line_kind != LineKind::None && pattern->line_kind != LineKind::Absolute) {
        resolver.diagnostics
            .report(DiagnosticKind::BadFunctionPattern, component.argument_range,
                    {"a function probe accepts only the line of the function's declaration"})
            .hint("kernel.statement(\"" + component.string + "\") probes a line");
        return std::nullopt;
    }
    return *pattern;
}

std::string probe_as_well(ptrdiff_t count) {
    return "-D MAXKPROBES=" + std::to_string(count) +
           (count == 1 ? " probes it as well, with a breakpoint"
                       : " probes them as well, each with a breakpoint");
}

// A pattern that matches nearly everything matches thousands of functions without an fentry site,
// mostly inline functions that got code of their own: setting so many breakpoints takes minutes,
// and the machine is hardly usable with them.
void leave_out_kprobes(const ast::PointComponent& argument, Resolver& resolver,
                       std::vector<Candidate>& candidates) {
    auto is_kprobe = [](const Candidate& candidate) {
        return candidate.site.mechanism == Mechanism::Kprobe;
    };
    const auto kprobes = std::count_if(candidates.begin(), candidates.end(), is_kprobe);
    if (kprobes <= resolver.options.max_kprobes)
        return;
    std::erase_if(candidates, is_kprobe);
    resolver.diagnostics
        .report(
            DiagnosticKind::KprobesLeftOut, argument.argument_range,
            {argument.string, std::to_string(kprobes) +
                                  (kprobes == 1 ? " function that has" : " functions that have")})
        .hint(probe_as_well(kprobes));
}

// A return djprobe keeps the values from function entry in its frame on the kernel's stack.
constexpr size_t max_entry_values = 8;
// A trampoline searches for the function that called it.
constexpr size_t max_return_functions = 1000;

// Returns what rules out a return djprobe for any function; "": nothing.
std::string objection_of_probe(const ast::ProbePoint& point, const Resolver& resolver,
                               size_t functions) {
    if (find_component(point, "maxactive"))
        return ".maxactive requires it";
    if (functions > max_return_functions)
        return "the pattern matches more than " + std::to_string(max_return_functions) +
               " functions";
    if (!resolver.probe)
        return {};
    if (resolver.probe->effects.registers)
        return "its handler uses registers that a return djprobe does not preserve";
    const auto& values = resolver.probe->entry_values;
    if (std::any_of(values.begin(), values.end(),
                    [](const auto& value) { return value->type == program::Type::String; }))
        return "a string is saved at the entry";
    if (values.size() > max_entry_values)
        return "more than " + std::to_string(max_entry_values) + " values are saved at the entry";
    return {};
}

ReturnSafety safety_of(FunctionInfo& function, const std::string& objection,
                       const Resolver& resolver, const DebugInfo& info) {
    if (!objection.empty())
        return {ReturnSafety::Verdict::Unsafe, objection};
    if (!resolver.details && !function.is_syscall) // those are identified by their names
        info.add_details(function);
    return judge_return(function, info);
}

// Return djprobes of modules' functions use static calls (runtime/djprobe/direct.c).
bool has_static_calls(const Image& image) {
    return image.kernel().config("CONFIG_HAVE_STATIC_CALL") == "y";
}

struct Refusal {
    std::string name, why; // empty: nothing was refused
    bool never = false;    // as in MechanismChoice
};

// Adds the functions of one image as candidates.
void add_candidates(const ast::ProbePoint& point, const ImageView& view,
                    std::vector<FunctionInfo> functions, bool is_return, Resolver& resolver,
                    std::vector<Candidate>& out, Refusal& refusal) {
    std::string objection = is_return ? objection_of_probe(point, resolver, functions.size()) : "";
    if (is_return && view.image().kind() == ImageKind::Module && objection.empty() &&
        !has_static_calls(view.image()))
        objection = "without static calls a module's functions cannot be called directly";
    std::string suffix;
    for (size_t i = 2; i < point.components.size(); i++)
        if (point.components[i].name != "maxactive")
            suffix += "." + point.components[i].name;
    const ast::PointComponent* maxactive = find_component(point, "maxactive");
    for (FunctionInfo& function : functions) {
        MechanismChoice choice =
            is_return ? choose_for_return(view.image(), function.entry,
                                          safety_of(function, objection, resolver, view.info()),
                                          resolver.options.forced, function.symbol)
                      : choose_for_entry(view.image(), function.entry, resolver.options.forced,
                                         resolver.probe && resolver.probe->effects.registers,
                                         function.symbol);
        if (!choice.refusal.empty()) {
            refusal = {function.name, choice.refusal, choice.never};
            continue;
        }
        Candidate candidate;
        candidate.kind = is_return ? HandlerKind::Return : HandlerKind::Entry;
        candidate.image = &view;
        candidate.site.mechanism = choice.mechanism;
        candidate.site.reason = choice.reason;
        candidate.site.forced = resolver.options.forced.has_value();
        candidate.site.address = choice.address;
        candidate.site.fallback = choice.fallback;
        candidate.site.entry = function.entry;
        candidate.site.maxactive = maxactive ? static_cast<uint32_t>(maxactive->number) : 0;
        candidate.site.point = quoted_point(view, function, suffix);
        candidate.site.function = function.is_syscall ? function.symbol : function.name;
        candidate.function = std::make_unique<FunctionInfo>(std::move(function));
        out.push_back(std::move(candidate));
    }
}

constexpr size_t max_listed_places = 5000;

// Adds the places where the pattern's functions are inlined: a kprobe at the first instruction of
// each inline instance.
size_t add_inlined(const ImageView& view, const FunctionPattern& pattern, Resolver& resolver,
                   std::vector<Candidate>& out, Refusal& refusal) {
    // A listing names a function once; if there are very many inline instances, one of each is
    // sufficient.
    const bool one_of_each =
        resolver.probe == nullptr && view.info().inlined_count(pattern) > max_listed_places;
    std::vector<StatementAddress> places = view.info().inlined(pattern, one_of_each);
    keep_declared_there(pattern, places);
    for (const StatementAddress& place : places) {
        MechanismChoice choice =
            choose_for_instruction(view.image(), place.address, resolver.options.forced);
        if (!choice.refusal.empty()) {
            refusal = {place.function, choice.refusal, choice.never};
            continue;
        }
        auto function = std::make_unique<FunctionInfo>();
        function->name = place.function;
        function->symbol = place.symbol;
        function->entry = place.symbol_entry;
        function->file = place.file;
        function->line = place.line;
        Candidate candidate;
        candidate.kind = HandlerKind::Entry;
        candidate.image = &view;
        candidate.site.mechanism = choice.mechanism;
        candidate.site.reason = "inlined into " + place.symbol;
        candidate.site.forced = resolver.options.forced.has_value();
        candidate.site.address = choice.address;
        candidate.site.fallback = choice.fallback;
        candidate.site.entry = place.symbol_entry;
        candidate.site.point = quoted_point(view, *function, ".inline");
        candidate.site.function = place.function;
        candidate.scope_address = place.address;
        candidate.scope = place.scope;
        candidate.function = std::move(function);
        out.push_back(std::move(candidate));
    }
    return places.size();
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
    std::erase_if(functions, [&](const FunctionInfo& function) {
        return !view.image().symbol("__ksymtab_" + function.symbol);
    });
}

bool resolve_functions(const ast::ProbePoint& point, Resolver& resolver,
                       std::vector<Candidate>& out, Wanted wanted) {
    const ast::PointComponent& argument = point.components[1];
    auto pattern = pattern_of(point, resolver);
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
        if (any && functions.empty() && !has_wildcard(argument.string) && !point.optional) {
            resolver.diagnostics
                .report(DiagnosticKind::NotExported, argument.argument_range, {pattern->function})
                .hint("omit .exported to probe it anyway");
            return false;
        }
        found += functions.size();
        add_candidates(point, *each, std::move(functions), wanted == Wanted::Return, resolver, out,
                       refusal);
    }
    if (wanted == Wanted::All || wanted == Wanted::Inlined) {
        const bool too_many = too_many_inlined(argument, *pattern, *images, found > 0, resolver);
        if (too_many && found == 0)
            return false;
        Refusal of_inlined; // ignored if the function has code of its own
        for (const ImageView* each : *images)
            if (!too_many)
                found += add_inlined(*each, *pattern, resolver, out, of_inlined);
        if (out.empty() && refusal.name.empty())
            refusal = of_inlined;
    }
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
                      : "");
        return false;
    }
    return true;
}

bool resolve_function(const ast::ProbePoint& point, Resolver& resolver,
                      std::vector<Candidate>& out) {
    return resolve_functions(point, resolver, out, Wanted::All);
}

bool resolve_function_call(const ast::ProbePoint& point, Resolver& resolver,
                           std::vector<Candidate>& out) {
    return resolve_functions(point, resolver, out, Wanted::Own);
}

bool resolve_function_inline(const ast::ProbePoint& point, Resolver& resolver,
                             std::vector<Candidate>& out) {
    return resolve_functions(point, resolver, out, Wanted::Inlined);
}

bool resolve_function_exported(const ast::ProbePoint& point, Resolver& resolver,
                               std::vector<Candidate>& out) {
    return resolve_functions(point, resolver, out, Wanted::Exported);
}

bool resolve_function_return(const ast::ProbePoint& point, Resolver& resolver,
                             std::vector<Candidate>& out) {
    return resolve_functions(point, resolver, out, Wanted::Return);
}

} // namespace

const std::vector<ProbeForms> function_family{
    {"{kernel|module(STRING)}.function(STRING)", resolve_function, code_traits},
    {"{kernel|module(STRING)}.function(STRING).call", resolve_function_call, code_traits},
    {"{kernel|module(STRING)}.function(STRING).inline", resolve_function_inline, code_traits},
    {"{kernel|module(STRING)}.function(STRING).exported", resolve_function_exported, code_traits},
    {"{kernel|module(STRING)}.function(STRING).{return[.maxactive(NUMBER)]|call.return}",
     resolve_function_return, code_traits},
};

} // namespace djstap
