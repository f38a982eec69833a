// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/statement_candidates.h"

namespace djstap {

void add_statement(const ImageView& view, const StatementAddress& statement, std::string name,
                   const Resolver& resolver, std::vector<Candidate>& out, std::string& refusal) {
    // A statement at a function's entry is equivalent to a function probe: it uses the cheap
    // mechanism.
    const bool at_entry = statement.address == statement.symbol_entry && !statement.inlined;
    MechanismChoice choice =
        at_entry ? choose_for_entry(view.image(), statement.address, resolver.options.forced,
                                    resolver.needs_all_registers(), statement.symbol)
                 : choose_for_instruction(view.image(), statement.address, resolver.options.forced);
    if (!choice.refusal.empty()) {
        refusal = choice.refusal;
        return;
    }
    Candidate candidate =
        candidate_at(choice, view, statement.symbol_entry, statement.function, resolver);
    candidate.site.point = std::move(name);
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

bool check_dwarf(const ImageView& view, const ast::ProbePoint& point, Resolver& resolver) {
    if (view.info().has_dwarf())
        return true;
    std::string hint = view.image().kind() == ImageKind::Kernel
                           ? "install the kernel's debug symbols (on Debian: linux-image-" +
                                 view.image().kernel().release() + "-dbg)"
                       : view.image().kind() == ImageKind::Program
                           ? "compile the program with -g, or install its debug symbols"
                           : "build the module with debug information, or install its debug file";
    for (const std::string& reason : view.info().refused())
        hint += "; " + reason;
    resolver.diagnostics
        .report(DiagnosticKind::StatementNeedsDwarf, point.range,
                {std::string(view.info().source())})
        .hint(hint);
    return false;
}

} // namespace djstap
