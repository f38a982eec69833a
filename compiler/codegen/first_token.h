// SPDX-License-Identifier: GPL-2.0-or-later
// The name of a statement's place in messages: its first token.
#pragma once
#include "diagnostics/source.h"

#include <string>

namespace djstap::codegen {

// Returns "keyword", "identifier 'n'", "operator '{'", "number '5'" or "string 'x'": the token at
// the beginning of `range`.
std::string first_token(const SourceManager& sources, SourceRange range);

} // namespace djstap::codegen
