// SPDX-License-Identifier: GPL-2.0-or-later
// Words → words: macros are expanded in one pass, then conditionals are decided and script
// arguments inserted in a second one, as the language has it.
#pragma once
#include "syntax/lexing.h"
#include "syntax/syntax.h"

#include <deque>
#include <span>

namespace djstap {

// @define NAME(parameters) %( body %)
struct Macro {
    std::string name;
    SourceRange range;            // of the name
    bool takes_arguments = false; // has parentheses, be they empty
    std::vector<std::string> parameters;
    syntax::Lexemes body;
};

namespace syntax {

// What words may be nested in: brackets, macros in macros, conditionals in conditionals.
constexpr size_t nesting_limit = 256;

// Expands macros. A use that is wrong is reported and becomes one word of type Bad.
class MacroExpander {
  public:
    MacroExpander(SourceManager& sources, const MacroTable& known, Diagnostics& diagnostics)
        : sources_(sources), known_(known), diagnostics_(diagnostics) {}

    // The file's words without its definitions and with every use of a macro replaced. A macro is
    // known from its definition on.
    Lexemes expand_file(const Lexemes& words);
    // Reads the definition that begins at words[at] and moves `at` behind it. False after
    // reporting.
    bool define(const Lexemes& words, size_t& at);
    MacroTable& defined() { return defined_; }
    // Set after reporting that macros expand to more than can be dealt with.
    bool too_large() const { return too_large_; }

  private:
    struct Frame; // one macro being expanded, with its arguments
    void expand(std::span<const Lexeme> words, const Frame* frame, Lexemes& out);
    bool expand_use(std::span<const Lexeme> words, size_t& at, const Macro& macro,
                    const Frame* frame, Lexemes& out);
    std::optional<std::vector<Lexemes>> read_arguments(std::span<const Lexeme> words, size_t& at,
                                                       const Macro& macro, const Frame* frame);
    const Macro* find(std::string_view name) const;
    bool bad_definition(const Lexemes& words, size_t at, const char* expected);

    SourceManager& sources_;
    const MacroTable& known_;
    MacroTable defined_;
    bool too_large_ = false;
    Diagnostics& diagnostics_;
};

// Decides %( conditionals and inserts $1, @1, $# and @#. Only what is kept is looked at, so that a
// branch may name arguments that were not given.
class Conditionals {
  public:
    Conditionals(const PreprocessorContext& context, Diagnostics& diagnostics)
        : context_(context), diagnostics_(diagnostics) {}

    // Appends what remains of `words`. False after reporting a conditional that cannot be decided.
    bool filter(std::span<const Lexeme> words, Lexemes& out, size_t depth = 0);

    // One %( at words[at], cut up: the words of its condition and of its branches; `at` moves
    // behind it.
    struct Parts {
        std::span<const Lexeme> condition, then_words, else_words;
    };
    std::optional<Parts> cut(std::span<const Lexeme> words, size_t& at);
    std::optional<bool> decide(std::span<const Lexeme> condition, SourceRange place,
                               size_t depth = 0);

  private:
    std::optional<bool> decide_comparison(std::span<const Lexeme> words, size_t& at,
                                          SourceRange place);
    std::optional<bool> compare_named(const Lexeme& name, const Lexeme& op, const Lexeme& value);
    bool compare_options(const Lexeme& left, const Lexeme& op, const Lexeme& right);
    std::optional<std::string> named_value(const Lexeme& name);
    bool insert_argument(const Lexeme& word, Lexemes& out);
    void unexpected(std::span<const Lexeme> words, size_t at, SourceRange place,
                    const char* expected);

    const PreprocessorContext& context_;
    Diagnostics& diagnostics_;
    std::deque<std::string> texts_; // of numbers that stand for $#
};

} // namespace syntax
} // namespace djstap
