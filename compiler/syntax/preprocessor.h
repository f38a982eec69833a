// SPDX-License-Identifier: GPL-2.0-or-later
// Transforms words: the first pass expands macros, the second one evaluates conditionals and
// inserts script arguments, as the language requires.
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
    bool takes_arguments = false; // has parentheses, even if empty
    std::vector<std::string> parameters;
    syntax::Lexemes body;
};

namespace syntax {

// The deepest nesting of words: brackets, macros in macros, conditionals in conditionals.
constexpr size_t nesting_limit = 256;

// Expands macros. An invalid use is reported and becomes one word of type Bad.
class MacroExpander {
  public:
    MacroExpander(SourceManager& sources, const MacroTable& known, Diagnostics& diagnostics)
        : sources_(sources), known_(known), diagnostics_(diagnostics) {}

    // Returns the file's words without definitions and with every macro use replaced. A macro is
    // known from its definition on.
    Lexemes expand_file(const Lexemes& words);
    // Reads the definition at words[at] and moves `at` behind it. Returns false after reporting an
    // error.
    bool define(const Lexemes& words, size_t& at);
    MacroTable& defined() { return defined_; }
    // Set after reporting that macros expand to too much.
    bool too_large() const { return too_large_; }

  private:
    struct Frame; // one active macro expansion, with its arguments
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

// Evaluates %( conditionals and inserts $1, @1, $# and @#. Only the words that are kept are
// examined, so a branch may name arguments that were not given.
class Conditionals {
  public:
    Conditionals(const PreprocessorContext& context, Diagnostics& diagnostics)
        : context_(context), diagnostics_(diagnostics) {}

    // Appends the remaining `words`. Returns false after reporting a conditional that cannot be
    // evaluated.
    bool filter(std::span<const Lexeme> words, Lexemes& out, size_t depth = 0);

    // The parts of the %( at words[at]: its condition and its branches; cut() moves `at` behind it.
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
    std::deque<std::string> texts_; // of numbers that replace $#
};

} // namespace syntax
} // namespace djstap
