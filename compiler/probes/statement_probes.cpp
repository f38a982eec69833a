// SPDX-License-Identifier: GPL-2.0-or-later
// kernel.statement("func@file:line"), .nearest, kernel.statement(ADDRESS): any
// instruction that begins a source line.
#include "probes/statement_candidates.h"

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
    const ast::PointComponent& component = code_component(point);
    if (!check_dwarf(view, point, resolver))
        return false;
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
    for (const StatementAddress& statement : result->addresses)
        add_statement(view, statement,
                      view.prefix() + ".statement(\"" + statement.function + "@" + statement.file +
                          ":" + std::to_string(statement.line) + "\")",
                      resolver, out, refusal);
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
    const ast::PointComponent& component = code_component(point);
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

// kernel.statement(ADDRESS): the statement that begins there.
bool resolve_statement_address(const ast::ProbePoint& point, Resolver& resolver,
                               std::vector<Candidate>& out) {
    auto images = find_images(point, resolver);
    if (!images)
        return false;
    for (const ImageView* view : *images) {
        if (!check_dwarf(*view, point, resolver))
            return false;
        const uint64_t address = link_time_address(view->image(), code_component(point));
        auto statement = view->info().statement_at(address);
        std::string refusal;
        if (statement)
            add_statement(*view, *statement,
                          view->prefix() + ".statement(" +
                              address_text(static_cast<uint64_t>(code_component(point).number)) +
                              ")",
                          resolver, out, refusal);
        else
            refusal = statement.failure().message;
        if (refusal.empty() || point.optional)
            continue;
        const std::string hint = statement ? "" : statement.failure().hint;
        return refuse_address(point, resolver, refusal,
                              statement || !hint.empty() ? hint : address_hint(view->image()));
    }
    return true;
}

} // namespace

const std::vector<ProbeForms> statement_family{
    {DJS_CODE ".statement(STRING)[.nearest]", resolve_statement, code_traits},
    {DJS_CODE ".statement(NUMBER)", resolve_statement_address, code_traits},
};

} // namespace djstap
