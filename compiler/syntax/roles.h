// SPDX-License-Identifier: GPL-2.0-or-later
// Words → tokens: each word gets the role its neighbours give it (grammar/DjstapLexer.g4 lists
// them), strings and numbers get their values, adjacent strings become one, and nesting is bounded.
#pragma once
#include "syntax/lexing.h"
#include "syntax/token_list.h"

#include <functional>

namespace djstap::syntax {

// The names of all macros known in the file, with their @; asked only to find what was meant.
using MacroNames = std::function<std::vector<std::string>()>;

// The tokens of `words`, ended by EOF at byte `end` of `file`. A word that cannot be one is
// reported and becomes Bad. False after reporting that the file is nested too deeply.
bool assign_roles(const Lexemes& words, uint32_t file, uint32_t end, const MacroNames& macro_names,
                  TokenList& out, Diagnostics& diagnostics);

} // namespace djstap::syntax
