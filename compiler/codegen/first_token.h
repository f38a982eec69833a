// SPDX-License-Identifier: GPL-2.0-or-later
// How a message about a statement names its place: by the statement's first token.
#pragma once
#include "diagnostics/source.h"

#include <string>

namespace djstap::codegen {

// "keyword", "identifier 'n'", "operator '{'", "number '5'" or "string 'x'": what `range` begins
// with.
std::string first_token(const SourceManager& sources, SourceRange range);

} // namespace djstap::codegen
