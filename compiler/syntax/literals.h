// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers and strings as they are written → their values.
#pragma once
#include "syntax/lexing.h"

#include <cstdint>
#include <string>

namespace djstap::syntax {

// 42, 0x2a, 052. Values from 2^63 to 2^64-1 wrap to negative ones. Reports and yields 0 when there
// is no such number.
int64_t decode_number(const Lexeme& lexeme, Diagnostics& diagnostics);

// The text between the quotes with C's escapes decoded (octal, hexadecimal, and a backslash before
// the end of a line, which joins the lines). Warns of an unknown escape and drops its backslash.
std::string decode_string(const Lexeme& lexeme, Diagnostics& diagnostics);

} // namespace djstap::syntax
