// SPDX-License-Identifier: GPL-2.0-or-later
// Converts words to tokens: each word gets its role from its neighbours (grammar/DjstapLexer.g4
// lists the roles), strings and numbers are decoded, adjacent strings are joined, and nesting is
// limited.
#pragma once
#include "syntax/lexing.h"
#include "syntax/token_list.h"

#include <functional>

namespace djstap::syntax {

// The names of all macros known in the file, with their @; called only to suggest a spelling.
using MacroNames = std::function<std::vector<std::string>()>;

// Appends the tokens of `words`, followed by EOF at byte `end` of `file`. A word that cannot be a
// token is reported and becomes Bad. Returns false after reporting that the file is nested too
// deeply.
bool assign_roles(const Lexemes& words, uint32_t file, uint32_t end, const MacroNames& macro_names,
                  TokenList& out, Diagnostics& diagnostics);

} // namespace djstap::syntax
