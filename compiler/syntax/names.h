// SPDX-License-Identifier: GPL-2.0-or-later
// Describes words and tokens for messages.
#pragma once
#include "syntax/lexing.h"
#include "syntax/token_list.h"

#include <string>

namespace djstap::syntax {

// "'while'", "'foo'", "the string "abc"", "end of file": what was found.
std::string describe(const Lexeme& word);
std::string describe(const Token& token);

// Returns the text of a token type with a fixed spelling ("while", "->", "@cast"), or "".
std::string token_text(size_t type);

// "an expression", "')'", "',' or ')'": what the parser accepts at this point, in rule `rule`.
std::string describe_expected(const antlr4::misc::IntervalSet& expected, size_t rule);

} // namespace djstap::syntax
