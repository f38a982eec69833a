// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnostics/diagnostic.h"

#include "diagnostics/plain_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace djstap {

namespace {

constexpr size_t shown_columns = 160;

// Returns the line of `range` and a line with carets below it. A long line is reduced to a window
// around the carets.
std::string excerpt(SourceRange range, const SourceManager& sources) {
    LineColumn at = sources.position(range);
    std::string line(sources.line(range.file, at.line));
    size_t column = std::min<size_t>(at.column - 1, line.size());
    size_t width = std::max<size_t>(1, range.end > range.begin ? range.end - range.begin : 1);
    width = std::min(width, std::max<size_t>(1, line.size() - column));
    if (line.size() > shown_columns) {
        size_t first = column > shown_columns / 2 ? column - shown_columns / 2 : 0;
        line = line.substr(first, shown_columns);
        column -= first;
        width = std::min(width, std::max<size_t>(1, line.size() - column));
    }
    std::string caret;
    for (size_t i = 0; i < column; i++)
        caret += line[i] == '\t' ? '\t' : ' ';
    for (char& c : line)
        if (controls_terminal(c))
            c = '?';
    return "    " + line + "\n    " + caret + "^" + std::string(width - 1, '~') + "\n";
}

void append_place(std::string& out, SourceRange range, const SourceManager& sources) {
    if (range.valid())
        out += excerpt(range, sources);
    // Lists each macro use that led here, innermost first.
    while (range.valid() && range.expansion != 0) {
        const MacroExpansion& expansion = sources.expansion(range.expansion);
        out += sources.where(expansion.use) + ": note: in the expansion of macro '" +
               expansion.macro + "'\n";
        out += excerpt(expansion.use, sources);
        range = expansion.use;
    }
}

nlohmann::json place(SourceRange range, const SourceManager& sources) {
    if (!range.valid())
        return nullptr;
    LineColumn at = sources.position(range);
    return {{"file", sources.file(range.file).name},
            {"line", at.line},
            {"column", at.column},
            {"length", range.end - range.begin}};
}

} // namespace

std::string render(const Diagnostic& d, const SourceManager& sources,
                   const RenderOptions& options) {
    bool error = info(d.kind).severity == Severity::Error;
    const char* start = !options.color ? "" : error ? "\033[1;31m" : "\033[1;35m";
    const char* end = options.color ? "\033[0m" : "";
    std::string out = sources.where(d.range) + ": " + start + (error ? "error" : "warning") + end +
                      ": " + without_controls(d.message) + " [" + std::string(info(d.kind).tag) +
                      "]\n";
    append_place(out, d.range, sources);
    if (!d.hint_text.empty())
        out += "    hint: " + without_controls(d.hint_text) + "\n";
    for (const DiagnosticNote& note : d.notes) {
        out += sources.where(note.range) + ": note: " + without_controls(note.message) + "\n";
        append_place(out, note.range, sources);
    }
    return out;
}

std::string render_all(const Diagnostics& diagnostics, const RenderOptions& options) {
    std::string out;
    for (const Diagnostic& d : diagnostics.all())
        if (options.warnings || info(d.kind).severity == Severity::Error)
            out += render(d, diagnostics.sources(), options);
    return out;
}

std::string render_json(const Diagnostic& d, const SourceManager& sources) {
    nlohmann::json out = {
        {"severity", info(d.kind).severity == Severity::Error ? "error" : "warning"},
        {"kind", info(d.kind).tag},
        {"message", d.message},
        {"place", place(d.range, sources)}};
    if (!d.hint_text.empty())
        out["hint"] = d.hint_text;
    for (const DiagnosticNote& note : d.notes)
        out["notes"].push_back({{"message", note.message}, {"place", place(note.range, sources)}});
    return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::span<const DiagnosticStyle> diagnostic_styles() {
    static constexpr DiagnosticStyle styles[] = {
        {"text", render},
        {"json", [](const Diagnostic& d, const SourceManager& sources, const RenderOptions&) {
             return render_json(d, sources) + "\n";
         }}};
    return styles;
}

} // namespace djstap
