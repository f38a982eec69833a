// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/editor.h"

#include "driver/complete.h"
#include "driver/passes.h"
#include "image/glob.h"

#include <algorithm>
#include <utility>

namespace djstap::driver {

namespace {

// The name of a point's component or of an alias at a word: "vfs.read" where the cursor is in
// "read".
std::string dotted_name_at(const std::string& text, lsp::Text::Word word) {
    size_t begin = word.begin;
    while (begin > 1 && text[begin - 1] == '.') {
        size_t component = begin - 1;
        // An argument belongs to the component before it.
        if (text[component - 1] == ')')
            component = std::min(text.rfind('(', component - 1), component);
        size_t start = component;
        while (start > 0 && (std::isalnum(static_cast<unsigned char>(text[start - 1])) ||
                             text[start - 1] == '_'))
            start--;
        if (start == component)
            break;
        begin = start;
    }
    return plain_name(text.substr(begin, word.end - begin));
}

// The part of the script that a range means: the use of a macro, for what its text is to blame.
std::optional<SourceRange> range_in(const SourceManager& sources, SourceRange range,
                                    uint32_t script) {
    while (range.expansion != 0)
        range = sources.expansion(range.expansion).use;
    return range.file == script ? std::optional(range) : std::nullopt;
}

std::string with_hint(const Diagnostic& diagnostic) {
    return diagnostic.hint_text.empty() ? diagnostic.message
                                        : diagnostic.message + "\nhint: " + diagnostic.hint_text;
}

std::string markdown(const Documentation& name) {
    std::string text = "```\n";
    for (const std::string& signature : name.signatures)
        text += signature + "\n";
    if (name.signatures.empty())
        text += name.name + "\n";
    text += "```\n";
    if (!name.text.empty())
        text += "\n" + name.text + "\n";
    for (const Documentation::Variable& variable : name.variables) {
        text += "\n- `" + variable.name + "`";
        if (!variable.type.empty())
            text += ": " + variable.type;
        if (!variable.text.empty())
            text += ", " + variable.text;
    }
    return text;
}

} // namespace

Editor::Editor(Options options) : options_(std::move(options)) {
    options_.action = Action::Compile;
    options_.only_shows = true;
    options_.last_pass = 2;
    options_.script_file.clear();
    options_.command.clear();
}

Editor::~Editor() = default;

std::vector<EditorMessage> Editor::check(const std::string& script) const {
    Options options = options_;
    options.expression = script;
    Invocation invocation(std::move(options));
    std::optional<ParsedScript> parsed = parse(invocation, Nothing());
    if (parsed && !invocation.diagnostics.has_errors())
        if (auto analyzed = analyze(invocation, *std::move(parsed)))
            resolve(invocation, *std::move(analyzed));
    const uint32_t id = 1; // the script is the first text that is added
    std::vector<EditorMessage> out;
    for (const Diagnostic& diagnostic : invocation.diagnostics.all()) {
        EditorMessage message;
        message.is_error = info(diagnostic.kind).severity == Severity::Error;
        message.tag = info(diagnostic.kind).tag;
        message.text = with_hint(diagnostic);
        if (auto range = range_in(invocation.sources, diagnostic.range, id)) {
            message.begin = range->begin;
            message.end = range->end;
        } else if (diagnostic.range.valid()) {
            message.text = invocation.sources.where(diagnostic.range) + ": " + message.text;
        }
        for (const DiagnosticNote& note : diagnostic.notes)
            if (auto range = range_in(invocation.sources, note.range, id))
                message.notes.push_back({range->begin, range->end, note.message});
        out.push_back(std::move(message));
    }
    return out;
}

const std::vector<Documentation>& Editor::documented() {
    if (!documented_) {
        Invocation invocation(options_);
        auto all = document_library(invocation.tapsets(), invocation.sources);
        for (Documentation& each : document_language(probe_types()))
            all.push_back(std::move(each));
        documented_ = std::make_unique<std::vector<Documentation>>(std::move(all));
    }
    return *documented_;
}

const Documentation* Editor::documentation(const std::string& name) {
    const auto& all = documented();
    const auto found = std::ranges::find(all, name, &Documentation::name);
    return found == all.end() ? nullptr : &*found;
}

// Its type is what completion says about it.
std::string Editor::target_variable(const lsp::Text& script, lsp::Text::Word word) const {
    const std::string name = script.text().substr(word.begin, word.end - word.begin);
    Invocation invocation(options_);
    const std::string_view before = std::string_view(script.text()).substr(0, word.end);
    for (const CompletedName& each : completed_names(invocation, before).names)
        if (each.text == name)
            return "```\n" + name + (each.what.empty() ? "" : ": " + each.what) + "\n```\n";
    return "";
}

std::string Editor::describe(const lsp::Text& script, size_t offset) {
    const lsp::Text::Word word = script.word(offset);
    const std::string name = script.text().substr(word.begin, word.end - word.begin);
    if (name.empty())
        return "";
    if (name.starts_with('$'))
        return target_variable(script, word);
    if (const Documentation* known = documentation(dotted_name_at(script.text(), word)))
        return markdown(*known);
    const Documentation* known = documentation(name);
    return known ? markdown(*known) : "";
}

std::optional<Definition> Editor::define(const lsp::Text& script, size_t offset) {
    const lsp::Text::Word word = script.word(offset);
    const std::string name = script.text().substr(word.begin, word.end - word.begin);
    if (name.empty())
        return std::nullopt;
    Options options = options_;
    Invocation invocation(std::move(options));
    const uint32_t id = invocation.sources.add("<script>", script.text());
    if (auto file = parse_file(invocation.sources, id, invocation.preprocessor(),
                               invocation.tapsets().macros(), invocation.diagnostics)) {
        for (const ast::Function& each : file->functions)
            if (each.name == name)
                return Definition{.begin = each.range.begin, .end = each.range.end};
        for (const ast::Global& each : file->globals)
            if (each.name == name)
                return Definition{.begin = each.range.begin, .end = each.range.end};
    }
    const Documentation* known = documentation(dotted_name_at(script.text(), word));
    if (!known)
        known = documentation(name);
    if (!known || known->file.empty())
        return std::nullopt;
    return Definition{.file = known->file, .line = known->line};
}

} // namespace djstap::driver
