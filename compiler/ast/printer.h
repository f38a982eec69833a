// SPDX-License-Identifier: GPL-2.0-or-later
// The pieces of print(): canonical text of single nodes.
#pragma once
#include "ast/ast.h"

#include <string>

namespace djstap::ast {

// A string as a literal that decodes to the same bytes, quotes included.
std::string quote(const std::string& value);
// How tightly an expression's outermost operator binds; an operand that binds less needs
// parentheses.
int precedence(const Expression& expression);
// Blanks for a level of indentation.
std::string indentation(int indent);
// " { … }" as it follows a head on the same line, without a newline at its end.
std::string print_block(const Block& block, int indent);
std::string_view name_of(StatOp op);

} // namespace djstap::ast
