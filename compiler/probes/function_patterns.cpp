// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/function_patterns.h"

#include "diagnostics/suggest.h"
#include "image/glob.h"

namespace djstap {

namespace {

// "kernel 6.1.0", "module 'ext4' of kernel 6.1.0"
std::string describe(const std::vector<const ImageView*>& images) {
    const Image& first = images.front()->image();
    return images.size() == 1 ? first.title()
           : first.kind() == ImageKind::Program
               ? std::to_string(images.size()) + " programs"
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

} // namespace

std::optional<FunctionPattern> function_pattern(const ast::PointComponent& component,
                                                Resolver& resolver) {
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

bool report_no_function(const ast::PointComponent& component, const FunctionPattern& pattern,
                        const std::vector<const ImageView*>& images, Resolver& resolver) {
    const DebugInfo& info = images.front()->info();
    auto& diagnostic = resolver.diagnostics.report(
        DiagnosticKind::NoFunction, component.argument_range, {component.string, describe(images)});
    std::string hint = where_it_is(pattern, images);
    if (hint.empty() && !has_wildcard(pattern.function))
        hint = did_you_mean(pattern.function, info.similar_functions(pattern.function));
    if (hint.empty() && !pattern.file.empty())
        hint = "the file was matched as " + pattern.file + "; omit it to search all files";
    if (hint.empty() && images.front()->image().kind() != ImageKind::Program)
        hint = module_hint(pattern, resolver);
    else if (hint.empty() && !info.has_dwarf())
        hint = "without debug information only the functions are known that the file has symbols "
               "of: compile it with -g, or install its debug symbols";
    diagnostic.hint(hint);
    return false;
}

} // namespace djstap
