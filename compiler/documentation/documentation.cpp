// SPDX-License-Identifier: GPL-2.0-or-later
#include "documentation/documentation.h"

#include "documentation/comments.h"
#include "documentation/variables.h"
#include "syntax/preprocessor.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace djstap {

using documentation::Comments;
using documentation::Entry;
using documentation::Item;

std::string first_sentence(const std::string& text) {
    const std::string paragraph = text.substr(0, text.find("\n"));
    for (size_t at = 0; at < paragraph.size(); at++) {
        const bool ends = paragraph[at] == '.' || paragraph[at] == '?';
        if (ends && (at + 1 == paragraph.size() || paragraph[at + 1] == ' '))
            return paragraph.substr(0, at + 1);
    }
    return paragraph;
}

std::string plain_name(std::string_view name) {
    std::string out;
    size_t depth = 0;
    bool quoted = false;
    for (size_t at = 0; at < name.size(); at++) {
        const char c = name[at];
        if (depth > 0 && c == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        if (c == '(')
            depth++;
        else if (c == ')' && depth > 0)
            depth--;
        else if (depth == 0 && c != ' ')
            out += c;
    }
    return out;
}

namespace {

// Returns whether a name of a comment, in which * stands for any characters, is this one.
bool matches(std::string_view pattern, std::string_view name) {
    const size_t star = pattern.find('*');
    if (star == std::string_view::npos)
        return pattern == name;
    if (!name.starts_with(pattern.substr(0, star)))
        return false;
    const std::string_view rest = pattern.substr(star + 1);
    for (size_t at = star; at <= name.size(); at++)
        if (matches(rest, name.substr(at)))
            return true;
    return false;
}

class FileReader {
  public:
    FileReader(const SourceManager& sources, uint32_t source)
        : sources_(sources), source_(source) {}

    void define(const std::string& name) { names_.insert(name); }
    // Reads the comments once all names are defined.
    void read() {
        comments_ =
            documentation::read_comments(sources_.file(source_).text, [&](const std::string& name) {
                return name.find('*') == std::string::npos
                           ? names_.contains(name)
                           : std::ranges::any_of(names_, [&](const std::string& each) {
                                 return matches(name, each);
                             });
            });
    }

    Documentation documentation_of(DocumentedKind kind, const std::string& name,
                                   SourceRange place) const {
        Documentation out;
        out.kind = kind;
        out.name = name;
        out.file = sources_.file(source_).name;
        out.line = sources_.position(place).line;
        out.subject = first_sentence(comments_.text);
        const std::vector<const Entry*> own = entries_of(name, kind, out.line);
        for (const Entry* entry : own) {
            std::string text = entry->text;
            // Each overload has a text of its own.
            for (const Entry::Head& head : entry->heads)
                if (own.size() > 1 && head.name == name && !head.arguments.empty())
                    text = head.name + head.arguments + ": " + text;
            out.text += (out.text.empty() ? "" : "\n\n") + text;
        }
        if (own.empty())
            out.text = above(out.line).text;
        out.summary = first_sentence(own.empty() ? out.text : own.front()->text);
        return out;
    }
    // Returns what the comments tell of a variable of an alias, also that of the file.
    std::string text_of(const std::string& name, const std::string& variable, uint32_t line) const {
        std::vector<const std::vector<Item>*> lists;
        for (const bool exact : {true, false})
            for (const Entry* entry : entries_of(name, DocumentedKind::Alias, line, exact))
                lists.push_back(&entry->items);
        const Entry near = lists.empty() ? above(line) : Entry();
        lists.push_back(&near.items);
        lists.push_back(&comments_.items);
        for (const std::vector<Item>* items : lists)
            for (const Item& item : *items)
                if (std::ranges::find(item.names, variable) != item.names.end())
                    return item.text;
        return "";
    }
    // Returns all that comments describe below the name of a function or a macro.
    std::vector<Item> items_of(const Documentation& name) const {
        std::vector<Item> out;
        const std::vector<const Entry*> own = entries_of(name.name, name.kind, name.line);
        for (const Entry* entry : own)
            out.insert(out.end(), entry->items.begin(), entry->items.end());
        return own.empty() ? above(name.line).items : out;
    }

  private:
    // Returns the entries that name it, or those whose patterns match it.
    std::vector<const Entry*> entries_of(const std::string& name, DocumentedKind kind,
                                         uint32_t line, bool exact) const {
        std::vector<const Entry*> found;
        for (const Entry& entry : comments_.entries) {
            const bool named = std::ranges::any_of(entry.heads, [&](const Entry::Head& head) {
                return matches(head.name, name) && (head.name == name) == exact;
            });
            if (!named)
                continue;
            // Each definition of an alias has its own comment, which precedes it; those of a
            // function's overloads belong together.
            if (kind == DocumentedKind::Alias && exact && !found.empty() && entry.line <= line)
                found.clear();
            if (kind != DocumentedKind::Alias || !exact || found.empty())
                found.push_back(&entry);
        }
        return found;
    }
    std::vector<const Entry*> entries_of(const std::string& name, DocumentedKind kind,
                                         uint32_t line) const {
        const std::vector<const Entry*> exact = entries_of(name, kind, line, true);
        return exact.empty() ? entries_of(name, kind, line, false) : exact;
    }
    Entry above(uint32_t line) const {
        return documentation::comment_above(sources_.file(source_).text, line);
    }

    const SourceManager& sources_;
    uint32_t source_;
    std::set<std::string> names_;
    Comments comments_;
};

std::string signature_of(const ast::Function& function, ast::TypeName result) {
    const auto typed = [](const std::string& name, ast::TypeName type) {
        return type == ast::TypeName::None ? name : name + ":" + std::string(name_of(type));
    };
    std::string text = typed(function.name, result) + " (";
    for (const ast::Parameter& parameter : function.parameters)
        text += (&parameter == function.parameters.data() ? "" : ", ") +
                typed(parameter.name, parameter.type);
    return text + ")";
}

// Adds what a comment describes below the name of a function or a macro.
void add_parameters(const FileReader& reader, Documentation& out) {
    for (const Item& item : reader.items_of(out))
        for (const std::string& name : item.names)
            out.variables.push_back({name, "", item.text});
}

// A sentence begins with a capital letter, unless its first word is a name; "a" is the article.
void capitalize(std::string& text, const std::vector<std::string>& names) {
    const std::string word = text.substr(0, text.find_first_of(" ,:"));
    const bool is_word = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
        return std::isalpha(c) || c == '\'' || c == '-';
    });
    if (is_word && (word == "a" || std::ranges::find(names, word) == names.end()))
        text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
}

void capitalize(Documentation& documentation, const std::vector<std::string>& names) {
    capitalize(documentation.text, names);
    capitalize(documentation.summary, names);
}

class LibraryReader {
  public:
    LibraryReader(Library& library, const SourceManager& sources)
        : library_(library), sources_(sources), variables_(library) {}

    std::vector<Documentation> read() {
        const std::vector<const ast::File*> files = library_.all_files();
        for (const ast::File* file : files)
            readers_.emplace(file, read_comments(*file));
        for (const ast::File* file : files) {
            add_functions(*file);
            add_globals(*file);
            for (const ast::Alias& alias : file->aliases)
                for (const auto& name : alias.names)
                    add_alias(*file, alias, dotted_name(name));
        }
        add_macros();
        return std::move(out_);
    }

  private:
    FileReader read_comments(const ast::File& file) const {
        FileReader reader(sources_, file.source);
        for (const ast::Function& function : file.functions)
            reader.define(function.name);
        for (const ast::Alias& alias : file.aliases)
            for (const auto& name : alias.names)
                reader.define(dotted_name(name));
        for (const ast::Global& global : file.globals)
            reader.define(global.name);
        reader.read();
        return reader;
    }

    void add_functions(const ast::File& file) {
        const FileReader& reader = readers_.at(&file);
        std::map<std::string, size_t> known; // overloads are documented together
        for (const ast::Function& function : file.functions) {
            if (function.is_private)
                continue;
            const auto [found, added] = known.try_emplace(function.name, out_.size());
            if (added) {
                out_.push_back(reader.documentation_of(DocumentedKind::Function, function.name,
                                                       function.range));
                add_parameters(reader, out_.back());
            }
            Documentation& documentation = out_[found->second];
            std::vector<std::string> parameters;
            for (const ast::Parameter& parameter : function.parameters)
                parameters.push_back(parameter.name);
            capitalize(documentation, parameters);
            documentation.signatures.push_back(
                signature_of(function, variables_.result_of(file, function)));
            for (Documentation::Variable& variable : documentation.variables)
                for (const ast::Parameter& parameter : function.parameters)
                    if (parameter.name == variable.name)
                        variable.type = name_of(parameter.type);
        }
    }

    void add_globals(const ast::File& file) {
        for (const ast::Global& global : file.globals) {
            if (global.is_private)
                continue;
            Documentation& out = out_.emplace_back(readers_.at(&file).documentation_of(
                DocumentedKind::Global, global.name, global.range));
            capitalize(out, {});
            const std::string initial =
                global.initial ? " = " + std::string(sources_.text(global.initial->range)) : "";
            out.signatures.push_back("global " + global.name + (global.wrap ? "%" : "") +
                                     (global.size ? "[" + std::to_string(*global.size) + "]" : "") +
                                     initial);
        }
    }

    void add_alias(const ast::File& file, const ast::Alias& alias, const std::string& name) {
        const FileReader& reader = readers_.at(&file);
        Documentation& out =
            out_.emplace_back(reader.documentation_of(DocumentedKind::Alias, name, alias.range));
        capitalize(out, {});
        out.signatures.push_back("probe " + name);
        for (const ast::ProbePoint& point : alias.points)
            out.points.push_back(ast::to_string(point));
        for (const AliasVariable& variable : variables_.of(file, alias)) {
            std::string text = reader.text_of(name, variable.name, out.line);
            if (text.empty() && variable.origin != &alias) {
                const uint32_t line = sources_.position(variable.origin->range).line;
                for (const auto& each : variable.origin->names)
                    if (text.empty())
                        text = readers_.at(variable.file)
                                   .text_of(dotted_name(each), variable.name, line);
            }
            out.variables.push_back({variable.name, std::string(name_of(variable.type)), text});
        }
    }

    void add_macros() {
        std::map<uint32_t, FileReader> readers;
        for (const auto& [name, macro] : library_.macros())
            readers.try_emplace(macro->range.file, sources_, macro->range.file)
                .first->second.define("@" + macro->name);
        for (auto& [source, reader] : readers)
            reader.read();
        for (const auto& [name, macro] : library_.macros()) {
            const FileReader& reader = readers.at(macro->range.file);
            Documentation& out = out_.emplace_back(
                reader.documentation_of(DocumentedKind::Macro, "@" + macro->name, macro->range));
            capitalize(out, macro->parameters);
            std::string signature = out.name;
            for (const std::string& parameter : macro->parameters)
                signature += (&parameter == macro->parameters.data() ? "(" : ", ") + parameter;
            out.signatures.push_back(signature + (macro->parameters.empty() ? "" : ")"));
            add_parameters(reader, out);
        }
    }

    Library& library_;
    const SourceManager& sources_;
    AliasVariables variables_;
    std::map<const ast::File*, FileReader> readers_;
    std::vector<Documentation> out_;
};

} // namespace

std::vector<Documentation> document_library(Library& library, const SourceManager& sources) {
    return LibraryReader(library, sources).read();
}

} // namespace djstap
