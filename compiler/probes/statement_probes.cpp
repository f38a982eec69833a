// SPDX-License-Identifier: GPL-2.0-or-later
// kernel.statement("func@file:line"), .nearest: any instruction that begins a source line.
#include "probes/families.h"

namespace djstap {

namespace {

std::string join(const std::vector<uint32_t>& lines) {
    std::string out;
    for (uint32_t line : lines)
        out += (out.empty() ? "" : ", ") + std::to_string(line);
    return out;
}

bool resolve_in(const ImageView& view, const ast::ProbePoint& point, const FunctionPattern& pattern,
                Resolver& resolver, std::vector<Candidate>& out) {
    const ast::PointComponent& component = point.components[1];
    if (!view.info().has_dwarf()) {
        resolver.diagnostics
            .report(DiagnosticKind::StatementNeedsDwarf, point.range,
                    {std::string(view.info().source())})
            .hint(view.image().kind() == ImageKind::Kernel
                      ? "install the kernel's debug symbols (on Debian: linux-image-" +
                            view.image().kernel().release() + "-dbg)"
                      : "build the module with debug information");
        return false;
    }
    bool nearest = find_component(point, "nearest") != nullptr;
    auto result = view.info().statements(pattern, nearest);
    if (!result) {
        if (point.optional || resolver.quiet)
            return true;
        resolver.diagnostics
            .report(DiagnosticKind::NoStatement, component.argument_range,
                    {result.failure().message})
            .hint(result.failure().hint);
        return false;
    }
    if (result->addresses.empty()) {
        if (point.optional || resolver.quiet)
            return true;
        auto& diagnostic =
            resolver.diagnostics.report(DiagnosticKind::NoStatement, component.argument_range,
                                        {"no instruction belongs to " + component.string});
        if (!result->nearest_lines.empty())
            diagnostic.hint("nearby lines that have one: " + join(result->nearest_lines) +
                            "; or append .nearest");
        return false;
    }
    std::string refusal; // empty: nothing was refused
    const size_t before = out.size();
    for (const StatementAddress& statement : result->addresses) {
        // A statement at a function's entry is equivalent to a function probe: it uses the cheap
        // mechanism.
        bool at_entry = statement.address == statement.symbol_entry && !statement.inlined;
        MechanismChoice choice =
            at_entry
                ? choose_for_entry(view.image(), statement.address, resolver.options.forced)
                : choose_for_instruction(view.image(), statement.address, resolver.options.forced);
        if (!choice.refusal.empty()) {
            refusal = choice.refusal;
            continue;
        }
        Candidate candidate;
        candidate.kind = HandlerKind::Entry;
        candidate.image = &view;
        candidate.site.mechanism = choice.mechanism;
        candidate.site.reason = choice.reason;
        candidate.site.forced = resolver.options.forced.has_value();
        candidate.site.address = choice.address;
        candidate.site.fallback = choice.fallback;
        candidate.site.entry = statement.symbol_entry;
        candidate.site.function = statement.function;
        candidate.site.point = view.prefix() + ".statement(\"" + statement.function + "@" +
                               statement.file + ":" + std::to_string(statement.line) + "\")";
        candidate.scope_address = statement.address;
        auto function = std::make_unique<FunctionInfo>();
        function->name = statement.function;
        function->symbol = statement.symbol;
        function->entry = statement.symbol_entry;
        function->file = statement.file;
        function->line = statement.line;
        candidate.function = std::move(function);
        out.push_back(std::move(candidate));
    }
    // Several lines skip what cannot be probed, like patterns of functions.
    if (out.size() == before && !refusal.empty() && !point.optional && !resolver.quiet) {
        resolver.diagnostics.report(DiagnosticKind::CannotProbe, component.argument_range,
                                    {component.string, refusal});
        return false;
    }
    return true;
}

bool resolve_statement(const ast::ProbePoint& point, Resolver& resolver,
                       std::vector<Candidate>& out) {
    const ast::PointComponent& component = point.components[1];
    auto pattern = parse_function_pattern(component.string);
    if (!pattern) {
        resolver.diagnostics
            .report(DiagnosticKind::BadFunctionPattern, component.argument_range,
                    {pattern.failure().message})
            .hint(pattern.failure().hint);
        return false;
    }
    auto images = find_images(point, resolver);
    if (!images)
        return false;
    for (const ImageView* each : *images)
        if (!resolve_in(*each, point, *pattern, resolver, out))
            return false;
    return true;
}

} // namespace

const std::vector<ProbeForms> statement_family{
    {"{kernel|module(STRING)}.statement(STRING)[.nearest]", resolve_statement, code_traits},
};

} // namespace djstap
