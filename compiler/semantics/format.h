// SPDX-License-Identifier: GPL-2.0-or-later
// Converts format strings of printf to checked pieces.
#pragma once
#include "diagnostics/diagnostic.h"
#include "semantics/program.h"

#include <optional>
#include <string>
#include <vector>

namespace djstap::semantics {

// Returns the pieces of `format`; a last piece without a conversion holds the text after the last
// conversion, if any. Reports errors at `range` and returns nothing.
std::optional<std::vector<program::FormatPiece>>
parse_format(const std::string& format, SourceRange range, Diagnostics& diagnostics);

// Returns the conversion as written, for messages: "%-5d".
std::string conversion_text(const program::FormatPiece& piece);

// Appends `text` to a format: to the literal of its last piece, if that has no conversion.
void append_literal(std::vector<program::FormatPiece>& pieces, const std::string& text);

} // namespace djstap::semantics
