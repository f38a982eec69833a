// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/parts.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace djstap::module {

namespace {

constexpr std::string_view prefix = "djs-", objects_suffix = "-objects";

const std::string* source_text(const std::vector<SourceFile>& sources, std::string_view name) {
    auto found = std::find_if(sources.begin(), sources.end(),
                              [&](const SourceFile& file) { return file.name == name; });
    return found == sources.end() ? nullptr : &found->text;
}

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Returns whether what follows a symbol's name is its definition: not that of a type, nor a
// declaration.
bool begins_definition(std::string_view rest) {
    if (rest.starts_with(" =") || rest.starts_with("[") || rest.starts_with(";"))
        return true;
    if (!rest.starts_with("("))
        return false;
    size_t at = 0;
    for (int depth = 0; at < rest.size(); at++) {
        depth += rest[at] == '(';
        depth -= rest[at] == ')';
        if (!depth)
            break;
    }
    at = rest.find_first_not_of(" \n\t", at + 1);
    return at != std::string_view::npos && rest[at] == '{';
}

// Returns whether a source defines a global symbol. Definitions begin in the first column, where
// statements and static names do not stand.
bool defines_symbol(std::string_view text, std::string_view symbol) {
    for (size_t at = 0; (at = text.find(symbol, at)) != std::string_view::npos;
         at += symbol.size()) {
        const std::string_view rest = text.substr(at + symbol.size());
        if ((at && is_word(text[at - 1])) || !begins_definition(rest))
            continue;
        const size_t end = text.substr(0, at).rfind('\n');
        const size_t begin = end == std::string_view::npos ? 0 : end + 1;
        const std::string_view before = text.substr(begin, at - begin);
        if (std::isalpha(static_cast<unsigned char>(text[begin])) &&
            !before.starts_with("static") && !before.starts_with("extern") && before != "struct " &&
            before != "union " && before != "enum ")
            return true;
    }
    return false;
}

} // namespace

Parts::Parts(const std::vector<SourceFile>& sources) : sources_(sources) {
    const std::string* kbuild = source_text(sources, "Kbuild");
    std::istringstream lines(kbuild ? *kbuild : "");
    bool continued = false;
    for (std::string line; std::getline(lines, line);) {
        const bool continues = line.ends_with('\\');
        if (continues)
            line.pop_back(); // it may follow a word directly
        std::istringstream words(line);
        std::string word;
        if (!continued) {
            std::string operation;
            words >> word >> operation;
            if (operation != ":=" || !word.starts_with(prefix))
                continue;
            word.erase(0, prefix.size());
            const size_t dot = std::min(word.find('.'), word.size());
            variables_.push_back(
                {word.substr(0, dot), word.substr(std::min(dot + 1, word.size())), {}});
            if (dot == word.size() && word.ends_with(objects_suffix))
                kinds_.push_back(word);
        }
        continued = continues;
        while (words >> word)
            variables_.back().words.push_back(word);
    }
    if (const Words* names = find("parts", ""))
        all_.insert(names->begin(), names->end());
}

const Parts::Words* Parts::find(std::string_view name, std::string_view part) const {
    for (const Variable& variable : variables_)
        if (variable.name == name && variable.part == part)
            return &variable.words;
    return nullptr;
}

bool Parts::defines(const std::string& part, const std::string& symbol) const {
    for (const std::string& kind : kinds_)
        if (const Words* objects = find(kind, part))
            for (std::string name : *objects) {
                name.back() = 'c';
                const std::string* text = source_text(sources_, name);
                if (text && defines_symbol(*text, symbol))
                    return true;
            }
    return false;
}

PartNames Parts::providing(const std::set<std::string>& symbols) const {
    PartNames found;
    std::vector<std::string> rest;
    for (const std::string& part : all_)
        if (std::any_of(symbols.begin(), symbols.end(),
                        [&](const std::string& symbol) { return defines(part, symbol); }))
            rest.push_back(part);
    while (!rest.empty()) {
        const std::string part = rest.back();
        rest.pop_back();
        if (!found.insert(part).second)
            continue;
        if (const Words* needed = find("needs", part))
            rest.insert(rest.end(), needed->begin(), needed->end());
    }
    return found;
}

std::vector<Unit> Parts::units(const PartNames& parts, bool common,
                               const std::string& suffix) const {
    std::vector<Unit> units;
    for (const std::string& kind : kinds_) {
        const std::string name = kind.substr(0, kind.size() - objects_suffix.size());
        Unit unit{{"djs_" + name + suffix + ".c", {}}, name == "cold"};
        const auto add = [&](const Words* objects) {
            for (std::string object : objects ? *objects : Words()) {
                object.back() = 'c';
                unit.source.text.append("#include \"").append(object).append("\"\n");
            }
        };
        if (common)
            add(find(kind, ""));
        for (const std::string& part : parts)
            add(find(kind, part));
        if (!unit.source.text.empty())
            units.push_back(std::move(unit));
    }
    return units;
}

std::set<std::string> Parts::replaced(const PartNames& present) const {
    std::set<std::string> symbols;
    for (const std::string& part : all_)
        if (const Words* absent = present.contains(part) ? nullptr : find("absent", part))
            symbols.insert(absent->begin(), absent->end());
    return symbols;
}

std::string stand_ins(const std::set<std::string>& symbols) {
    std::string text;
    for (const std::string& symbol : symbols)
        if (symbol.starts_with("djs_ops_"))
            text += "extern const unsigned long " + symbol + "[16];\nconst unsigned long " +
                    symbol + "[16] = {0};\n";
        else
            text += "long " + symbol + "(void);\nlong " + symbol + "(void) { return 0; }\n";
    return text;
}

std::vector<Unit> divide_sources(const std::vector<SourceFile>& sources) {
    const Parts parts(sources);
    std::vector<Unit> units = parts.units(parts.all(), true, "");
    if (units.empty())
        for (SourceFile& source : combine_sources(sources, 1))
            units.push_back({std::move(source)});
    return units;
}

} // namespace djstap::module
