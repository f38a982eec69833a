// SPDX-License-Identifier: GPL-2.0-or-later
// What a name means: functions, aliases, macros and globals of the library, as their doc comments
// tell, and the words of the language. tapsets/README.md describes the comments.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

class Library;
class SourceManager;

enum class DocumentedKind : uint8_t {
    Function,
    Alias,
    Macro,
    Global,
    ProbePoint,
    Statement,
    Operator
};

// "function", "probe point"
constexpr std::string_view name_of(DocumentedKind kind) {
    constexpr std::string_view names[] = {"function",    "alias",     "macro",   "global",
                                          "probe point", "statement", "operator"};
    return names[static_cast<size_t>(kind)];
}

struct Documentation {
    DocumentedKind kind{};
    std::string name;                    // "errno_str", "vfs.read", "@choose_defined"
    std::vector<std::string> signatures; // as they are written; each overload of a function
    std::string text;                    // paragraphs, separated by an empty line; may be empty
    std::string summary;                 // its first sentence
    struct Variable {
        std::string name;
        std::string type; // "long", "string"; empty: unknown
        std::string text; // may be empty
    };
    std::vector<Variable> variables; // of an alias; of functions and macros what is described
    std::vector<std::string> points; // that an alias stands for; forms of a probe point
    std::string file;                // that defines it; empty: the language does
    uint32_t line = 0;
    std::string subject; // what its file is about; may be empty
};

// Returns what the library defines, in the order of its files, with the names that begin with "__".
// Parses every file.
std::vector<Documentation> document_library(Library& library, const SourceManager& sources);

// Returns the language's own words; `points` are the forms of its probe points: "timer.s(NUMBER)".
std::vector<Documentation> document_language(const std::vector<std::string>& points);

// Returns the first sentence of a text.
std::string first_sentence(const std::string& text);

// Returns a name as the documentation has it: without arguments, as in kernel.function("vfs_read").
std::string plain_name(std::string_view name);

} // namespace djstap
