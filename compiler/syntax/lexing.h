// SPDX-License-Identifier: GPL-2.0-or-later
// Text → words, as the lexer's grammar has them. No meaning yet: macros, conditionals and script
// arguments are the preprocessor's.
#pragma once
#include "diagnostics/diagnostic.h"

#include <string_view>
#include <vector>

namespace djstap::syntax {

// One word. `text` lies in the SourceManager's file or in the script's argument.
struct Lexeme {
    uint16_t type = 0;    // DjstapLexer's
    bool literal = false; // a string whose text is the value itself (@1): nothing to unquote
    SourceRange range;
    std::string_view text;
};
using Lexemes = std::vector<Lexeme>;

// Appends the words of `text`, which begins at `place` (its file and first byte). Where `fixed` is
// set, every word's range is `place` itself: for text that is inserted there. Yields false after
// reporting what makes the rest unreadable: an unterminated comment or embedded C, or bytes that
// are not text.
bool lex(std::string_view text, SourceRange place, bool fixed, Lexemes& out,
         Diagnostics& diagnostics);

} // namespace djstap::syntax
