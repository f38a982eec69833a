// SPDX-License-Identifier: GPL-2.0-or-later
// Splits text into words according to the lexer's grammar. Words have no meaning yet: the
// preprocessor handles macros, conditionals and script arguments.
#pragma once
#include "diagnostics/diagnostic.h"

#include <string_view>
#include <vector>

namespace djstap::syntax {

// One word. `text` points into the SourceManager's file or the script's argument.
struct Lexeme {
    uint16_t type = 0; // DjstapLexer's
    // a string whose text is the value itself (@1): there is nothing to unquote
    bool literal = false;
    SourceRange range;
    std::string_view text;
};
using Lexemes = std::vector<Lexeme>;

// Appends the words of `text`, which begins at `place` (its file and first byte). If `fixed` is
// set, the range of every word is `place` itself: for text that is inserted there. Returns false
// after reporting what makes the rest unreadable: an unterminated comment or embedded C, or bytes
// that are not text.
bool lex(std::string_view text, SourceRange place, bool fixed, Lexemes& out,
         Diagnostics& diagnostics);

} // namespace djstap::syntax
