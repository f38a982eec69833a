// SPDX-License-Identifier: GPL-2.0-or-later
// Converts numbers and strings in source form to their values.
#pragma once
#include "syntax/lexing.h"

#include <cstdint>
#include <string>

namespace djstap::syntax {

// Decodes 42, 0x2a, 052. Values from 2^63 to 2^64-1 wrap to negative ones. Reports and returns 0 if
// the number is invalid.
int64_t decode_number(const Lexeme& lexeme, Diagnostics& diagnostics);

// Returns the text between the quotes with C's escapes decoded (octal, hexadecimal, and a backslash
// before the end of a line, which joins the lines). Warns about an unknown escape and drops its
// backslash.
std::string decode_string(const Lexeme& lexeme, Diagnostics& diagnostics);

} // namespace djstap::syntax
