// SPDX-License-Identifier: GPL-2.0-or-later
// Words and tokens as messages name them.
#pragma once
#include "syntax/lexing.h"
#include "syntax/token_list.h"

#include <string>

namespace djstap::syntax {

// "'while'", "'foo'", "the string "abc"", "end of file": what was found.
std::string describe(const Lexeme& word);
std::string describe(const Token& token);

// The text of a token type that always looks the same ("while", "->", "@cast"), or empty.
std::string token_text(size_t type);

// "an expression", "')'", "',' or ')'": what may stand where the parser is, in rule `rule`.
std::string describe_expected(const antlr4::misc::IntervalSet& expected, size_t rule);

} // namespace djstap::syntax
