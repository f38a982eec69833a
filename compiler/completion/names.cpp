// SPDX-License-Identifier: GPL-2.0-or-later
#include "completion/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

namespace djstap {

namespace {

constexpr std::array<std::string_view, 4> declarations{"function", "global", "private", "probe"};

bool begins_declaration(std::string_view word) {
    return std::find(declarations.begin(), declarations.end(), word) != declarations.end();
}

// "kernel.function(STRING)." of `kernel.function("vfs_read").`
std::string shape_of_text(std::string_view text) {
    std::string shape;
    for (size_t i = 0; i < text.size(); i++) {
        if (std::isspace(static_cast<unsigned char>(text[i])))
            continue;
        if (text[i] == '"') {
            for (i++; i < text.size() && text[i] != '"'; i++)
                i += text[i] == '\\';
            shape += "STRING";
        } else if (shape.ends_with('(') && text[i] != ')') {
            while (i + 1 < text.size() && text[i + 1] != ')')
                i++;
            shape += "NUMBER";
        } else {
            shape += text[i];
        }
    }
    return shape;
}

// The next component of a dotted name or shape, at `begin`.
std::string_view component_at(std::string_view name, size_t begin) {
    return name.substr(begin, name.find('.', begin) - begin);
}

std::string typed_form(std::string_view component) {
    const size_t bracket = component.find('(');
    std::string text(component.substr(0, bracket));
    if (component.ends_with("(STRING)"))
        text += "(\"";
    else if (bracket != std::string_view::npos)
        text += "(";
    return text;
}

void sort_names(std::vector<CompletedName>& names) {
    auto before = [](const auto& a, const auto& b) { return a.text < b.text; };
    std::stable_sort(names.begin(), names.end(), before);
    auto same = [](const auto& a, const auto& b) { return a.text == b.text; };
    names.erase(std::unique(names.begin(), names.end(), same), names.end());
}

} // namespace

std::vector<CompletedName> completed_components(const std::string& before, std::string_view typed,
                                                const PointShapes& shapes,
                                                const std::vector<std::string>& aliases) {
    std::vector<CompletedName> out;
    const std::string shape_before = shape_of_text(before);
    for (const PointShape& each : shapes.all()) {
        if (!each.shape.starts_with(shape_before) || (each.traits & PointIsNotSupported))
            continue;
        const std::string_view component = component_at(each.shape, shape_before.size());
        if (component.starts_with(typed) && !component.empty())
            out.push_back({typed_form(component), "probe point"});
    }
    // Aliases with many kin are shown by their first component.
    for (const std::string& alias : aliases) {
        if (!alias.starts_with(before))
            continue;
        const std::string_view component = component_at(alias, before.size());
        if (!component.starts_with(typed) || component.starts_with("__"))
            continue;
        const bool is_whole = before.size() + component.size() == alias.size();
        out.push_back({std::string(component), is_whole ? "alias" : "aliases"});
    }
    sort_names(out);
    // Where a name or a number can follow, a name is what can be completed.
    std::erase_if(out, [&](const CompletedName& each) {
        return std::any_of(out.begin(), out.end(), [&](const CompletedName& other) {
            return other.text == each.text + '"';
        });
    });
    return out;
}

std::vector<CompletedName> completed_declarations(std::string_view typed) {
    std::vector<CompletedName> out;
    for (const std::string_view word : declarations)
        if (word.starts_with(typed))
            out.push_back({std::string(word) + " ", "declaration"});
    return out;
}

std::vector<CompletedName> completed_words(std::string_view typed,
                                           const std::vector<Documentation>& language,
                                           const std::vector<std::string>& functions,
                                           const std::vector<std::string>& declared) {
    std::vector<CompletedName> out;
    auto add = [&](const std::string& text, std::string_view what) {
        if (text.starts_with(typed))
            out.push_back({text, std::string(what)});
    };
    for (const std::string& name : declared)
        add(name, "of this script");
    for (const Documentation& word : language) {
        const bool in_handler =
            (word.kind == DocumentedKind::Statement && !begins_declaration(word.name)) ||
            (word.kind == DocumentedKind::Operator && word.name != "@define");
        const bool has_arguments =
            std::any_of(word.signatures.begin(), word.signatures.end(),
                        [&](const auto& each) { return each.starts_with(word.name + "("); });
        if (in_handler)
            add(word.name + (has_arguments ? "(" : ""), name_of(word.kind));
    }
    for (const std::string& name : functions)
        if (!name.starts_with("__") || typed.starts_with("__"))
            add(name + "(", "function");
    sort_names(out);
    return out;
}

std::string completed_argument(std::string_view listed, std::string_view before,
                               std::string_view typed) {
    const size_t component = std::count(before.begin(), before.end(), '.');
    size_t begin = 0;
    bool quoted = false;
    size_t dots = 0;
    for (; begin < listed.size() && (dots < component || listed[begin] != '"'); begin++) {
        quoted ^= listed[begin] == '"';
        dots += listed[begin] == '.' && !quoted;
    }
    if (begin >= listed.size())
        return "";
    std::string_view inside = listed.substr(begin + 1);
    inside = inside.substr(0, inside.find('"'));
    // A tracepoint may be typed without its system.
    if (const size_t system = inside.find(':');
        before.ends_with("trace(") && typed.find(':') == std::string_view::npos &&
        system != std::string_view::npos && !inside.starts_with(typed))
        inside.remove_prefix(system + 1);
    return std::string(
        typed.find('@') == std::string_view::npos ? inside.substr(0, inside.find('@')) : inside);
}

} // namespace djstap
