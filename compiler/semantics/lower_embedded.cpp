// SPDX-License-Identifier: GPL-2.0-or-later
// C code as a statement or an expression: the globals and parameters that it names.
#include "semantics/lower.h"

#include "diagnostics/suggest.h"

#include <algorithm>
#include <cctype>

namespace djstap::semantics {

using program::Type;

Value Lowering::embedded(const ast::EmbeddedC& node) {
    auto to = make<program::EmbeddedC>(node.range);
    to->code = node.code;
    to->globals = embedded_globals(node.code, *body_->file, node.range);
    to->parameters = embedded_parameters(node.code, node.range);
    const bool text = node.code.find("/* string */") != std::string::npos;
    return known(std::move(to), text ? Type::String : Type::Long);
}

program::StatementPtr Lowering::embedded(const ast::EmbeddedStatement& node) {
    auto to = make<program::EmbeddedStatement>(node.range);
    to->code = node.code;
    to->globals = embedded_globals(node.code, *body_->file, node.range);
    to->parameters = embedded_parameters(node.code, node.range);
    return to;
}

// Returns the parameters of the function around the code that it names: STAP_ARG_x.
std::vector<program::EmbeddedParameter> Lowering::embedded_parameters(const std::string& code,
                                                                      SourceRange range) {
    std::vector<program::EmbeddedParameter> found;
    if (!body_->function)
        return found;
    constexpr std::string_view prefix = "STAP_ARG_";
    const auto in_name = [&](size_t at) {
        return at < code.size() &&
               (code[at] == '_' || std::isalnum(static_cast<unsigned char>(code[at])));
    };
    for (size_t at = code.find(prefix); at != std::string::npos; at = code.find(prefix, at)) {
        const bool begins = at == 0 || !in_name(at - 1);
        const size_t first = at += prefix.size();
        while (in_name(at))
            at++;
        const std::string name = code.substr(first, at - first);
        const auto& parameters = body_->function->declaration->parameters;
        const bool is_parameter = std::any_of(parameters.begin(), parameters.end(),
                                              [&](const auto& each) { return each.name == name; });
        if (!begins || !is_parameter ||
            std::any_of(found.begin(), found.end(),
                        [&](const auto& each) { return each.name == name; }))
            continue;
        ast::Identifier identifier(range);
        identifier.name = name;
        found.push_back({name, expression(identifier).node});
    }
    return found;
}

// Returns the globals that /* pragma:read:x */ and /* pragma:write:x */ name.
std::vector<program::EmbeddedGlobal>
Lowering::embedded_globals(const std::string& code, const ast::File& file, SourceRange range) {
    std::vector<program::EmbeddedGlobal> found;
    auto note = [&](const std::string& marker, bool writes) {
        for (size_t at = code.find(marker); at != std::string::npos; at = code.find(marker, at)) {
            at += marker.size();
            const std::string name = code.substr(at, code.find(" */", at) - at);
            GlobalState* global = names_.global(name, file);
            if (!global) {
                diagnostics_
                    .report(DiagnosticKind::EmbeddedGlobal, range, {name, "not a global variable"})
                    .hint(did_you_mean(name, names_.global_names(file)));
                continue;
            }
            auto known = std::find_if(found.begin(), found.end(), [&](const auto& each) {
                return each.global == global->node.get();
            });
            if (known == found.end())
                known = found.insert(found.end(), {global->node.get(), false, false, range});
            (writes ? known->writes : known->reads) = true;
        }
    };
    note("/* pragma:read:", false);
    note("/* pragma:write:", true);
    return found;
}

} // namespace djstap::semantics
