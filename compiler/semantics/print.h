// SPDX-License-Identifier: GPL-2.0-or-later
// Prints the typed program as text, for -p2, -v and tests. The text is not meant to be parsed.
#pragma once
#include "semantics/program.h"

#include <string>

namespace djstap::program {

// Globals with their types and storage, functions, probes with their locals and effects, bodies.
std::string print(const Program& program);
// Prints one expression; `locals` are those of its body.
std::string print(const Expression& node, const std::vector<Local>& locals);
// Returns a string as a literal: quoted, with escapes.
std::string text_literal(const std::string& text);
// "long", "string", "stats", "void".
const char* type_text(Type type);

} // namespace djstap::program
