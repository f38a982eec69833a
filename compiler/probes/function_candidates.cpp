// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/function_candidates.h"

#include <algorithm>

namespace djstap {

namespace {

std::string quoted_point(const ImageView& view, const FunctionInfo& function,
                         std::string_view suffix) {
    return view.prefix() + ".function(\"" + name_and_place(function) + "\")" + std::string(suffix);
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
    if (resolver.probe->effects.registers || resolver.probe->effects.argument_registers)
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

} // namespace

std::string name_and_place(const FunctionInfo& function) {
    std::string where = function.is_syscall ? function.symbol : function.name;
    if (!function.file.empty())
        where +=
            "@" + function.file + (function.line > 0 ? ":" + std::to_string(function.line) : "");
    return where;
}

void add_functions(const ast::ProbePoint& point, const ImageView& view,
                   std::vector<FunctionInfo> functions, bool is_return, const Resolver& resolver,
                   std::vector<Candidate>& out, Refusal& refusal) {
    std::string objection = is_return ? objection_of_probe(point, resolver, functions.size()) : "";
    if (is_return && view.image().kind() == ImageKind::Module && objection.empty() &&
        !has_static_calls(view.image()))
        objection = "without static calls a module's functions cannot be called directly";
    const std::string suffix = suffix_of(point);
    const ast::PointComponent* maxactive = find_component(point, "maxactive");
    for (FunctionInfo& function : functions) {
        MechanismChoice choice =
            is_return ? choose_for_return(view.image(), function.entry,
                                          safety_of(function, objection, resolver, view.info()),
                                          resolver.options.forced, function.symbol)
                      : choose_for_entry(view.image(), function.entry, resolver.options.forced,
                                         resolver.needs_all_registers(), function.symbol);
        if (!choice.refusal.empty()) {
            refusal = {function.name, choice.refusal, choice.never, choice.hint};
            continue;
        }
        Candidate candidate =
            candidate_at(choice, view, function.entry,
                         function.is_syscall ? function.symbol : function.name, resolver);
        candidate.kind = is_return ? HandlerKind::Return : HandlerKind::Entry;
        candidate.site.maxactive = maxactive ? static_cast<uint32_t>(maxactive->number) : 0;
        candidate.site.point = quoted_point(view, function, suffix);
        candidate.function = std::make_unique<FunctionInfo>(std::move(function));
        out.push_back(std::move(candidate));
    }
}

void add_inlined(const ImageView& view, const StatementAddress& place, const Resolver& resolver,
                 std::vector<Candidate>& out, Refusal& refusal) {
    MechanismChoice choice =
        choose_for_instruction(view.image(), place.address, resolver.options.forced);
    if (!choice.refusal.empty()) {
        refusal = {place.function, choice.refusal, choice.never, choice.hint};
        return;
    }
    auto function = std::make_unique<FunctionInfo>();
    function->name = place.function;
    function->symbol = place.symbol;
    function->entry = place.symbol_entry;
    function->file = place.file;
    function->line = place.line;
    Candidate candidate = candidate_at(choice, view, place.symbol_entry, place.function, resolver);
    candidate.site.reason = "inlined into " + place.symbol;
    candidate.site.point = quoted_point(view, *function, ".inline");
    candidate.scope_address = place.address;
    candidate.scope = place.scope;
    candidate.function = std::move(function);
    out.push_back(std::move(candidate));
}

std::string probe_as_well(ptrdiff_t count) {
    return "-D MAXKPROBES=" + std::to_string(count) +
           (count == 1 ? " probes it as well, with a breakpoint"
                       : " probes them as well, each with a breakpoint");
}

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

} // namespace djstap
