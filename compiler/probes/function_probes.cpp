// kernel.function("name"), .call, .return: entries and returns of functions.
#include "probes/families.h"

#include "diagnostics/suggest.h"
#include "target/glob.h"

#include <algorithm>

namespace djstap {

namespace {

std::string quoted_point(const CodeView& code, const FunctionInfo& function,
                         std::string_view suffix) {
    std::string where = function.is_syscall ? function.symbol : function.name;
    if (!function.file.empty())
        where +=
            "@" + function.file + (function.line > 0 ? ":" + std::to_string(function.line) : "");
    return code.prefix + ".function(\"" + where + "\")" + std::string(suffix);
}

// "kernel 6.1.0", "module 'ext4' of kernel 6.1.0"
std::string describe(const std::vector<CodeView>& code, const Resolver& resolver) {
    std::string kernel = "kernel " + (*resolver.kernel.target())->release();
    if (!code.front().module)
        return kernel;
    return code.size() == 1 ? "module '" + code.front().module->name + "' of " + kernel
                            : std::to_string(code.size()) + " modules of " + kernel;
}

void report_no_match(const ast::PointComponent& component, const FunctionPattern& pattern,
                     const std::vector<CodeView>& code, Resolver& resolver) {
    const DebugInfo& info = *code.front().info;
    if (info.only_inlined(pattern.function)) {
        resolver.diagnostics
            .report(DiagnosticKind::FunctionOnlyInlined, component.argument_range,
                    {pattern.function})
            .hint("probe one of its lines with kernel.statement, or a function that calls it");
        return;
    }
    auto& diagnostic =
        resolver.diagnostics.report(DiagnosticKind::NoFunction, component.argument_range,
                                    {component.string, describe(code, resolver)});
    std::string hint;
    if (!has_wildcard(pattern.function))
        hint = did_you_mean(pattern.function, info.similar_functions(pattern.function));
    if (hint.empty() && !pattern.file.empty())
        hint = "the file is matched as " + pattern.file + "; leave it out to look everywhere";
    diagnostic.hint(hint);
}

// The pattern of the point's functions; nothing after an error was reported.
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
    if (pattern->line_kind != FunctionPattern::LineKind::None) {
        resolver.diagnostics
            .report(DiagnosticKind::BadFunctionPattern, component.argument_range,
                    {"a function probe has no line number"})
            .hint("kernel.statement(\"" + component.string + "\") probes a line");
        return std::nullopt;
    }
    return *pattern;
}

// A pattern that fits nearly everything fits thousands of functions with no fentry site, mostly
// inline ones that got code of their own: so many breakpoints take minutes to set, and the machine
// is of little use with them.
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
        .report(DiagnosticKind::KprobesLeftOut, argument.argument_range,
                {argument.string, std::to_string(kprobes)})
        .hint("-D MAXKPROBES=" + std::to_string(kprobes) +
              " probes them too, each by a breakpoint");
}

// A return djprobe keeps the values of the entry in its frame on the kernel's stack.
constexpr size_t most_entry_values = 8;
// A target searches for the function it was called from.
constexpr size_t most_return_functions = 1000;

// What speaks against a return djprobe whatever the function is; empty: nothing.
std::string objection_of_probe(const ast::ProbePoint& point, const Resolver& resolver,
                               size_t functions) {
    if (find_component(point, "maxactive"))
        return ".maxactive asks for it";
    if (functions > most_return_functions)
        return "the pattern fits more than " + std::to_string(most_return_functions) + " functions";
    if (!resolver.probe)
        return {};
    if (resolver.probe->effects.registers)
        return "its handler uses registers that a return djprobe does not keep";
    const auto& values = resolver.probe->entry_values;
    if (std::any_of(values.begin(), values.end(),
                    [](const auto& value) { return value->type == program::Type::String; }))
        return "a text is kept from the entry";
    if (values.size() > most_entry_values)
        return "more than " + std::to_string(most_entry_values) + " values are kept from the entry";
    return {};
}

ReturnSafety safety_of(FunctionInfo& function, const std::string& objection,
                       const Resolver& resolver, const DebugInfo& info) {
    if (!objection.empty())
        return {ReturnSafety::Verdict::Unsafe, objection};
    if (!resolver.details && !function.is_syscall) // those are told by their names
        info.add_details(function);
    return judge_return(function, info);
}

struct Refusal {
    std::string name, why; // empty: nothing was refused
};

// The functions of one body of code as candidates.
void add_candidates(const ast::ProbePoint& point, const CodeView& code,
                    std::vector<FunctionInfo> functions, bool is_return, Resolver& resolver,
                    std::vector<Candidate>& out, Refusal& refusal) {
    std::string objection = is_return ? objection_of_probe(point, resolver, functions.size()) : "";
    if (code.module && objection.empty())
        objection = "a module's functions have no fixed address to call";
    std::string suffix;
    for (size_t i = 2; i < point.components.size(); i++)
        if (point.components[i].name != "maxactive")
            suffix += "." + point.components[i].name;
    const ast::PointComponent* maxactive = find_component(point, "maxactive");
    for (FunctionInfo& function : functions) {
        MechanismChoice choice =
            is_return ? choose_for_return(*code.target, function.entry,
                                          safety_of(function, objection, resolver, *code.info),
                                          resolver.options.forced)
                      : choose_for_entry(*code.target, function.entry, resolver.options.forced,
                                         resolver.probe && resolver.probe->effects.registers);
        if (!choice.refusal.empty()) {
            refusal = {function.name, choice.refusal};
            continue;
        }
        Candidate candidate;
        candidate.kind = is_return ? HandlerKind::Return : HandlerKind::Entry;
        candidate.module = code.module;
        candidate.site.mechanism = choice.mechanism;
        candidate.site.reason = choice.reason;
        candidate.site.forced = resolver.options.forced.has_value();
        candidate.site.address = choice.address;
        candidate.site.fallback = choice.fallback;
        candidate.site.entry = function.entry;
        candidate.site.maxactive =
            maxactive ? static_cast<uint32_t>(std::clamp<int64_t>(maxactive->number, 0, 65535)) : 0;
        candidate.site.point = quoted_point(code, function, suffix);
        candidate.site.function = function.is_syscall ? function.symbol : function.name;
        candidate.function = std::make_unique<FunctionInfo>(std::move(function));
        out.push_back(std::move(candidate));
    }
}

bool resolve_functions(const ast::ProbePoint& point, Resolver& resolver,
                       std::vector<Candidate>& out, bool is_return) {
    const ast::PointComponent& argument = point.components[1];
    auto pattern = pattern_of(point, resolver);
    auto code = pattern ? find_code(point, resolver) : std::nullopt;
    if (!code)
        return false;
    Refusal refusal;
    size_t found = 0;
    for (const CodeView& each : *code) {
        std::vector<FunctionInfo> functions = each.info->functions(*pattern, resolver.details);
        found += functions.size();
        add_candidates(point, each, std::move(functions), is_return, resolver, out, refusal);
    }
    if (found == 0) {
        if (point.optional || resolver.quiet || code->empty())
            return true;
        report_no_match(argument, *pattern, *code, resolver);
        return false;
    }
    bool many = has_wildcard(argument.string) || code->size() > 1;
    if (many && !resolver.options.forced)
        leave_out_kprobes(argument, resolver, out);
    // A pattern leaves out what cannot be probed; one that was named is an error.
    if (!refusal.name.empty() && (!many || out.empty()) && !point.optional && !resolver.quiet) {
        resolver.diagnostics
            .report(DiagnosticKind::CannotProbe, argument.argument_range,
                    {refusal.name, refusal.why})
            .hint(resolver.options.forced ? "leave out --mechanism to let djstap choose" : "");
        return false;
    }
    return true;
}

} // namespace

bool resolve_function(const ast::ProbePoint& point, Resolver& resolver,
                      std::vector<Candidate>& out) {
    return resolve_functions(point, resolver, out, false);
}

bool resolve_function_return(const ast::ProbePoint& point, Resolver& resolver,
                             std::vector<Candidate>& out) {
    return resolve_functions(point, resolver, out, true);
}

} // namespace djstap
